"""Text metrics against definitions written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from repoformer.metrics.text import edit_similarity, exact_match, fuzz_ratio

texts = st.text(alphabet="ab \n\té", max_size=12)


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (left != right))
    return row[-1]


@given(texts, texts)
def test_edit_similarity_is_one_minus_levenshtein_over_the_longer(a: str, b: str) -> None:
    a_, b_ = a.strip(), b.strip()
    expected = 1 - levenshtein(a_, b_) / max(len(a_), len(b_)) if a_ or b_ else 1.0
    assert edit_similarity(a, b) == pytest.approx(expected, abs=1e-12)


def test_two_empty_texts_are_equal() -> None:
    assert edit_similarity(" \n", "") == 1
    assert fuzz_ratio(" \n", "") == 1


def test_a_text_and_none_have_nothing_in_common() -> None:
    assert edit_similarity("x", "") == 0


@given(texts, texts)
def test_fuzz_ratio_is_rapidfuzz_and_never_below_edit_similarity(a: str, b: str) -> None:
    assert fuzz_ratio(a, b) == fuzz.ratio(a.strip(), b.strip()) / 100
    assert fuzz_ratio(a, b) >= edit_similarity(a, b) - 1e-12


def test_fuzz_ratio_is_another_metric() -> None:
    assert (edit_similarity("abcd", "axcd"), fuzz_ratio("abcd", "axcd")) == (0.75, 0.75)
    assert (edit_similarity("abcd", "bcde"), fuzz_ratio("abcd", "bcde")) == (0.5, 0.75)


@pytest.mark.parametrize(
    ("completion", "target", "equal"),
    [
        ("    x = 1", "x = 1  ", True),
        ("x = 1\n\n\ny = 2\n", "x = 1\ny = 2", True),
        ("x = 1\r\ny = 2\r", "x = 1\ny = 2", True),
        ("x = 1\ny = 2", "x = 1", False),
        ("x=1", "x = 1", False),
        ("x = 'a'", 'x = "a"', False),
        ("x = 1 y = 2", "x = 1\ny = 2", False),
        ("", " \n", True),
    ],
)
def test_exact_match_is_line_stripped_equality(completion: str, target: str, equal: bool) -> None:
    assert exact_match(completion, target) is equal
