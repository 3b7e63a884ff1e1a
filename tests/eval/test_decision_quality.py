"""The quality of decisions, and what is said where it cannot be measured."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.eval.decision_quality import SWEEP_POINTS, decision_quality, sweep
from repoformer.eval.outcomes import Outcomes
from repoformer.eval.policies import replay
from repoformer.models.settings import ModelSettings

Make = Callable[[list[Any]], Outcomes]


def quality_of(outcomes: Outcomes) -> dict[str, Any]:
    policies = replay(outcomes, ModelSettings(style="selective", thresholds={"chunk": 0.3}))
    return decision_quality(outcomes, policies["greedy"], policies["threshold"])


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])] * 3), min_size=1, max_size=30))
def test_every_point_of_the_sweep_is_what_that_threshold_gives(
    blank_result: Any, outcomes_from: Make, drawn: list[tuple[float, float, float]]
) -> None:
    seconds = (1.0, 2.0, 3.0, 4.0)
    outcomes = outcomes_from([blank_result(es_without=a, es_with=b, p=p, seconds=seconds) for a, b, p in drawn])
    points = sweep(outcomes)
    for point in points:
        es = [with_context if p > point.threshold else without for without, with_context, p in drawn]
        asked = fmean(p > point.threshold for _, _, p in drawn)
        assert point.es == pytest.approx(fmean(es))
        assert point.em == pytest.approx(fmean(value == 1 for value in es))
        assert point.share_with_context == pytest.approx(asked)
        assert point.seconds == pytest.approx(1 + asked * (2 + 4) + (1 - asked) * 3)
    assert (points[0].share_with_context, points[-1].share_with_context) == (1, 0)


def test_a_long_sweep_is_thinned_and_keeps_both_ends(blank_result: Any, outcomes_from: Make) -> None:
    points = sweep(outcomes_from([blank_result(p=number / 1000) for number in range(1000)]))
    assert len(points) <= SWEEP_POINTS
    assert (points[0].share_with_context, points[-1].share_with_context) == (1, 0)


def test_perfect_decisions_score_one(blank_result: Any, outcomes_from: Make) -> None:
    made = [blank_result(p=0.9, es_with=1.0), blank_result(p=0.1, es_without=1.0)] * 3
    quality = quality_of(outcomes_from(made))
    assert quality["auroc"]["value"] == quality["average_precision"]["value"] == 1
    assert quality["share_positive"] == 0.5
    assert quality["policies"]["threshold"] == {
        "abstained": 3,
        "abstention_precision": {"value": 1.0, "reason": ""},
        "f1": {"value": 1.0, "reason": ""},
    }
    assert quality["calibration_error"]["value"] == pytest.approx(0.1)


def test_a_harmed_blank_is_no_positive(blank_result: Any, outcomes_from: Make) -> None:
    made = [blank_result(p=0.5, es_without=1.0), blank_result(p=0.5), blank_result(p=0.5, es_with=0.1)]
    assert quality_of(outcomes_from(made))["positives"] == 1


@pytest.mark.parametrize("gain", [0.0, 0.5])
def test_one_label_class_leaves_auroc_without_a_value_and_with_a_reason(
    blank_result: Any, outcomes_from: Make, gain: float
) -> None:
    quality = quality_of(outcomes_from([blank_result(p=0.1 * number, es_with=gain) for number in range(5)]))
    assert quality["auroc"]["value"] is None
    assert "one label class only" in quality["auroc"]["reason"]


def test_the_histogram_holds_every_blank_once(blank_result: Any, outcomes_from: Make) -> None:
    made = [blank_result(p=number / 7, es_with=number % 2) for number in range(8)]
    spread = quality_of(outcomes_from(made))["p_retrieve"]
    assert np.allclose(sorted(spread["helped"] + spread["not_helped"]), [number / 7 for number in range(8)], atol=1e-4)
    assert len(spread["helped"]) == 4


def test_tiny_probabilities_are_told_apart(blank_result: Any, outcomes_from: Make) -> None:
    spread = quality_of(outcomes_from([blank_result(p=1.234e-6), blank_result(p=1.235e-6)]))["p_retrieve"]
    assert spread["not_helped"] == [1.234e-6, 1.235e-6]
