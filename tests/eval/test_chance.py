"""The level of chance against the slow way: every other target in place of a blank's own."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from repoformer.code.records import Blank
from repoformer.eval.chance import chance_level
from repoformer.metrics.text import edit_similarity


@pytest.fixture
def few(blanks: list[Blank]) -> list[Blank]:
    """Not more than are drawn, so that the expectation is the mean over all others."""
    assert len(blanks) > 3
    return blanks[:15]


def test_it_is_the_mean_over_other_targets_of_the_kind_cut_to_as_many_lines(few: list[Blank]) -> None:
    scores = []
    for one in few:
        others = [other.target.split("\n") for other in few if other.id != one.id and other.kind == one.kind]
        if others:
            lines = one.target.count("\n") + 1
            scores.append(fmean(edit_similarity("\n".join(other[:lines]), one.target) for other in others))
    assert chance_level(few, seed=0)["all"] == pytest.approx(fmean(scores))


def test_a_blank_without_another_of_its_sort_has_none(few: list[Blank]) -> None:
    assert chance_level(few[:1], seed=0) == {"all": None, few[0].kind: None}


def test_neither_order_nor_completions_matter(few: list[Blank]) -> None:
    many = [replace(one, id=f"{one.id}-{copy}") for one in few for copy in range(5)]
    assert chance_level(many, seed=0) == pytest.approx(chance_level(many[::-1], seed=0))
