"""The split is a partition of the drawn repositories that moves as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from repoformer.config import parse_recipe
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.split import split


def recipe(
    seed: int = 0, keep: int = 0, validation: float = 0.2, test: float = 0.3, named: Sequence[str] = ()
) -> DataRecipe:
    values: dict[str, Any] = {
        "out": "o",
        "seed": seed,
        "sources": [{"kind": "installed"}],
        "licences": ["MIT"],
        "filter": {"repositories": keep},
        "split": {"validation": validation, "test": test, "test_repositories": list(named)},
    }
    return parse_recipe(DataRecipe, values, "recipe")


SHARES = st.tuples(st.floats(0.01, 0.98), st.floats(0.01, 0.98)).filter(lambda shares: sum(shares) < 0.99)
NAMES = st.sets(st.text("abcdef", min_size=1, max_size=5), min_size=3, max_size=40)


@given(NAMES, SHARES, st.integers(0, 5))
def test_every_repository_is_on_one_side_and_no_side_is_empty(
    names: set[str], shares: tuple[float, float], seed: int
) -> None:
    sides = split(names, recipe(seed, 0, *shares))
    assert sorted(name for side in sides.values() for name in side) == sorted(names)
    assert all(sides.values())


@given(NAMES, st.integers(3, 40))
def test_at_most_as_many_repositories_as_asked_for(names: set[str], keep: int) -> None:
    kept = [name for side in split(names, recipe(keep=keep)).values() for name in side]
    assert len(kept) == min(keep, len(names))


@given(NAMES, st.randoms())
def test_the_order_of_collection_does_not_matter(names: set[str], rng: Any) -> None:
    shuffled = sorted(names)
    rng.shuffle(shuffled)
    assert split(shuffled, recipe()) == split(names, recipe())


def test_shares_are_of_repositories() -> None:
    sides = split([f"r{number}" for number in range(20)], recipe())
    assert {side: len(names) for side, names in sides.items()} == {"train": 10, "validation": 4, "test": 6}


@given(NAMES, st.integers(1, 4), st.randoms())
def test_named_repositories_are_the_test_side(names: set[str], count: int, rng: Any) -> None:
    named = rng.sample(sorted(names), min(count, len(names) - 2))
    sides = split(names, recipe(named=named))
    assert sides["test"] == sorted(named)
    assert all(sides.values())


def test_a_validation_share_is_of_what_is_not_named_for_testing() -> None:
    names = [f"r{number}" for number in range(30)]
    sides = split(names, recipe(named=names[:20]))
    assert {side: len(found) for side, found in sides.items()} == {"train": 8, "validation": 2, "test": 20}


def test_the_seed_draws_anew() -> None:
    names = [f"r{number}" for number in range(20)]
    assert split(names, recipe(0)) != split(names, recipe(1))
