"""chrF against its definition written out, on texts of all lengths."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.metrics.chrf import chrf

texts = st.text(st.sampled_from("abcA. \n\t"), max_size=40)


def written_out(completion: str, target: str) -> float:
    completion, target = ("".join(text.split()) for text in (completion, target))
    precisions, recalls = [], []
    for order in range(1, 7):
        written, wanted = (
            Counter(text[i : i + order] for i in range(len(text) - order + 1)) for text in (completion, target)
        )
        if written and wanted:
            shared = (written & wanted).total()
            precisions.append(shared / written.total())
            recalls.append(shared / wanted.total())
    if not sum(precisions):
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 5 * precision * recall / (4 * precision + recall)


@given(texts, texts)
def test_chrf_is_f2_of_character_n_grams(completion: str, target: str) -> None:
    assert chrf(completion, target) == pytest.approx(written_out(completion, target))


def test_white_space_does_not_count_and_case_does() -> None:
    assert chrf("return  x\n", "return x") == pytest.approx(1)
    assert chrf("Return x", "return x") < 1
