"""Examples as they are shown: the share without right context."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repoformer.errors import UserError
from repoformer.training.examples import check_threshold, without_right_context


def test_about_that_share_loses_its_right_context_and_nothing_else(make_examples: Any) -> None:
    examples = [replace(one, right=(50, 51)) for one in make_examples(1000)]
    shown = [without_right_context(one, 0.3, seed=0) for one in examples]
    assert sum(not one.right for one in shown) == pytest.approx(300, abs=60)
    assert [replace(one, right=(50, 51)) for one in shown] == examples
    assert {one.right for one in shown} == {(), (50, 51)}


def test_which_ones_follows_from_seed_and_example_alone(make_examples: Any) -> None:
    examples = [replace(one, right=(50, 51)) for one in make_examples(200)]

    def chosen(order: list[Any], seed: int) -> set[str]:
        return {one.id for one in order if not without_right_context(one, 0.5, seed).right}

    assert chosen(examples, 0) == chosen(examples[::-1], 0)
    assert chosen(examples, 0) != chosen(examples, 1)


@pytest.mark.parametrize(("share", "left"), [(0.0, 20), (1.0, 0)])
def test_none_and_all(make_examples: Any, share: float, left: int) -> None:
    examples = [replace(one, right=(50,)) for one in make_examples(20)]
    assert sum(bool(without_right_context(one, share, 0).right) for one in examples) == left


def test_a_threshold_in_nats_may_exceed_one_and_one_in_edit_similarity_may_not(tmp_path: Path) -> None:
    data = tmp_path / "assemble"
    for by, threshold in (("likelihood", 2.5), ("likelihood", -3.0), ("edit_similarity", 1.0)):
        (tmp_path / "data-card.json").write_text(json.dumps({"recipe": {"label": {"by": by}}}))
        check_threshold(threshold, data)
    with pytest.raises(UserError, match=r"label_threshold 2.5: gains in .* are in edit similarity"):
        check_threshold(2.5, data)
    with pytest.raises(UserError, match="edit similarity"):
        check_threshold(-1.5, tmp_path / "without a card" / "assemble")
