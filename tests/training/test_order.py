"""Data order: every example once an epoch, from seed and step alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.errors import UserError
from repoformer.training.order import DataOrder, deal

sizes = st.integers(1, 40)


@given(sizes, st.integers(1, 10), st.integers(1, 4))
def test_whole_epochs_show_every_example_equally_often(examples: int, batch: int, epochs: int) -> None:
    if examples * epochs < batch:
        return
    order = DataOrder(examples, batch, epochs, seed=0)
    seen = Counter(place for step in range(order.steps) for place in order.batch(step))
    assert seen.total() + order.left_over == examples * epochs
    assert order.left_over < batch
    assert all(epochs - 1 <= seen[place] <= epochs or order.left_over >= examples for place in range(examples))


@given(sizes, st.integers(0, 30))
def test_a_batch_depends_on_seed_and_step_alone(examples: int, step: int) -> None:
    asked_in_order = DataOrder(examples, 1, 40, seed=3)
    batches = [asked_in_order.batch(one) for one in range(step + 1)]
    assert DataOrder(examples, 1, 40, seed=3).batch(step) == batches[step]


def test_epochs_and_seeds_differ() -> None:
    order = DataOrder(20, 20, 2, seed=0)
    assert order.batch(0) != order.batch(1)
    assert order.batch(0) != DataOrder(20, 20, 2, seed=1).batch(0)


def test_a_batch_may_span_two_epochs() -> None:
    order = DataOrder(6, 4, 2, seed=0)
    assert (order.steps, order.left_over) == (3, 0)
    first = order.batch(0) + order.batch(1)[:2]
    assert sorted(first) == list(range(6))


def test_the_step_that_reaches_the_end_of_an_epoch_ends_it() -> None:
    order = DataOrder(6, 4, 2, seed=0)
    assert [order.ends_epoch(step) for step in (1, 2, 3)] == [False, True, True]


def test_part_of_an_epoch() -> None:
    order = DataOrder(10, 2, 0.5, seed=0)
    assert (order.steps, order.left_over) == (2, 1)


def test_too_few_examples_for_one_batch_names_the_numbers() -> None:
    with pytest.raises(UserError, match=r"batch=32: 10 training examples times epochs=2 are 20"):
        DataOrder(10, 32, 2, seed=0)


@given(st.integers(1, 6), st.integers(1, 5), st.randoms(use_true_random=False))
def test_dealing_is_fair(hands: int, size: int, rng: object) -> None:
    lengths = [rng.randint(1, 100) for _ in range(hands * size)]  # type: ignore[attr-defined]
    dealt = deal(range(len(lengths)), lengths, hands)
    assert sorted(place for hand in dealt for place in hand) == list(range(len(lengths)))
    assert {len(hand) for hand in dealt} == {size}
    tokens = [sum(lengths[place] for place in hand) for hand in dealt]
    assert max(tokens) - min(tokens) <= max(lengths)
