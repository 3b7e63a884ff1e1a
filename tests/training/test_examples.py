"""Examples as they are shown: the share without right context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from repoformer.training.examples import without_right_context


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
