"""One step is the same step however it is cut into micro-batches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from repoformer.training.step import learning_rate


def test_the_learning_rate_rises_then_falls(make_recipe: Any) -> None:
    recipe = make_recipe(learning_rate=1.0, warmup_steps=4)
    rates = [learning_rate(step, 10, recipe) for step in range(1, 11)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    falls = [before - after for before, after in pairwise(rates[3:])]
    assert falls == pytest.approx([1 / 7] * 6), "linear, and zero one step after the last"
    assert rates[-1] == pytest.approx(1 / 7)


def test_without_warm_up_it_starts_at_the_peak(make_recipe: Any) -> None:
    assert learning_rate(1, 4, make_recipe(learning_rate=1.0, warmup_steps=0)) == 1.0
