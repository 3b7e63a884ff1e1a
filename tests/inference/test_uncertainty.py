"""What a completion's tokens say about how sure the model was."""

from __future__ import annotations

import math

import pytest
import torch

from repoformer.inference.uncertainty import UncertaintyWatch


def test_a_fair_choice_has_the_entropy_of_its_size() -> None:
    watch = UncertaintyWatch()
    watch([0], torch.zeros(1, 8))
    found = watch.of(0, 1)
    assert found.entropies == pytest.approx((math.log(8),), abs=1e-4)
    assert found.log_probabilities == pytest.approx((-math.log(8),), abs=1e-4)


def test_a_token_that_is_forbidden_counts_nothing() -> None:
    watch = UncertaintyWatch()
    watch([0], torch.tensor([[0.0, 0.0, float("-inf")]]))
    assert watch.of(0, 1).entropies == pytest.approx((math.log(2),), abs=1e-4)


def test_rows_that_are_done_leave_and_the_others_keep_their_own() -> None:
    watch = UncertaintyWatch()
    sure, unsure = torch.tensor([9.0, 0.0]), torch.tensor([0.0, 0.0])
    watch([0, 1, 2], torch.stack([sure, unsure, sure]))
    watch([1], unsure[None])
    assert len(watch.of(1, 2).entropies) == 2
    assert len(watch.of(0, 2).entropies) == 1
    assert watch.of(0, 1).entropies[0] < watch.of(1, 1).entropies[0]


def test_the_token_that_ends_a_completion_is_no_part_of_it() -> None:
    watch = UncertaintyWatch()
    watch([0], torch.zeros(1, 2))
    watch([0], torch.zeros(1, 4))
    assert len(watch.of(0, 1).entropies) == 1
