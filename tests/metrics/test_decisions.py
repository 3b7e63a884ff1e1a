"""Decision metrics against scikit-learn, counting by hand, and replaying every policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from repoformer.metrics.decisions import (
    abstention_precision,
    auroc,
    average_precision,
    calibration,
    calibration_error,
    choose_threshold,
    f1,
    sweep,
)

# Few values, so that ties are common; 0 and 1 among them.
probabilities = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.70000001, 0.95, 1.0])
labelled = st.lists(st.tuples(st.booleans(), probabilities), min_size=1, max_size=30)
similarity = st.floats(0, 1)
blanks = st.lists(st.tuples(probabilities, similarity, similarity), min_size=1, max_size=20)


@given(labelled)
def test_auroc_counts_pairs_in_the_right_order(pairs: list[tuple[bool, float]]) -> None:
    positive = [p for label, p in pairs if label]
    negative = [p for label, p in pairs if not label]
    measured = auroc(*zip(*pairs, strict=True))
    if positive and negative:
        won = sum((a > b) + (a == b) / 2 for a in positive for b in negative)
        assert measured.value == pytest.approx(won / (len(positive) * len(negative)))
    else:
        assert measured.value is None
        assert "one label class" in measured.reason


@given(labelled)
def test_average_precision_sums_precision_over_recall_steps(pairs: list[tuple[bool, float]]) -> None:
    labels, p = zip(*pairs, strict=True)
    measured = average_precision(labels, p)
    if measured.value is None:
        assert len(set(labels)) == 1
        return
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(p), reverse=True):
        chosen = [label for label, each in pairs if each >= threshold]
        recall = sum(chosen) / sum(labels)
        total += (recall - recall_before) * sum(chosen) / len(chosen)
        recall_before = recall
    assert measured.value == pytest.approx(total)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_f1_is_that_of_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    labels, retrieved = zip(*pairs, strict=True)
    measured = f1(labels, retrieved)
    if any(labels) or any(retrieved):
        assert measured.value == pytest.approx(f1_score(labels, retrieved, zero_division=0))
    else:
        assert measured.value is None


def test_abstention_precision_is_the_share_of_abstentions_that_lost_nothing() -> None:
    measured = abstention_precision([True, False, False, True], [False, False, False, True])
    assert measured.value == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", [auroc, average_precision, f1, abstention_precision])
def test_no_blanks_give_no_figure_and_a_reason(measure: object) -> None:
    measured = measure([], [])  # type: ignore[operator]
    assert (measured.value, measured.reason) == (None, "no blanks")


def test_retrieving_always_leaves_no_abstention_to_judge() -> None:
    assert abstention_precision([True], [True]).reason == "every blank retrieved"


@given(labelled, st.integers(1, 12))
def test_calibration_bins_hold_every_blank_once(pairs: list[tuple[bool, float]], bins: int) -> None:
    labels, p = zip(*pairs, strict=True)
    found = calibration(labels, p, bins)
    assert sum(each.count for each in found) == len(pairs)
    for each in found:
        inside = [(a, b) for a, b in pairs if each.low <= b < each.high or (b == 1 == each.high)]
        assert each.count == len(inside)
        assert each.helped == pytest.approx(sum(label for label, _ in inside) / len(inside))
        assert each.mean_p == pytest.approx(sum(b for _, b in inside) / len(inside))


def test_calibration_error_weighs_bins_by_their_blanks() -> None:
    found = calibration([True, True, False, True], [0.9, 0.9, 0.1, 0.1], bins=2)
    assert calibration_error(found).value == pytest.approx(0.5 * abs(0.1 - 0.5) + 0.5 * abs(0.9 - 1.0))


def test_no_blanks_have_no_calibration() -> None:
    assert calibration([], []) == []
    assert calibration_error([]).value is None


@given(blanks)
def test_the_sweep_replays_every_policy(values: list[tuple[float, float, float]]) -> None:
    points = sweep(*zip(*values, strict=True))
    for point in points:
        chosen = [with_ if p > point.threshold else without for p, without, with_ in values]
        assert point.es == pytest.approx(sum(chosen) / len(values))
        assert point.retrieved == sum(p > point.threshold for p, _, _ in values) / len(values)
    decisions = [tuple(p > point.threshold for p, _, _ in values) for point in points]
    assert len(set(decisions)) == len(decisions) == len({p for p, _, _ in values}) + 1
    assert (points[0].retrieved, points[-1].retrieved) == (1, 0)


@given(blanks)
def test_the_chosen_threshold_is_best_and_of_equals_the_one_that_retrieves_least(
    values: list[tuple[float, float, float]],
) -> None:
    points = sweep(*zip(*values, strict=True))
    chosen = choose_threshold(points)
    assert chosen is not None
    assert all(point.es <= chosen.es + 1e-9 for point in points)
    assert all(point.es < chosen.es for point in points if point.retrieved < chosen.retrieved)


def test_where_context_changes_nothing_never_is_chosen() -> None:
    chosen = choose_threshold(sweep([0.1, 0.7], [0.3, 0.4], [0.3, 0.4]))
    assert chosen is not None
    assert chosen.retrieved == 0


def test_sums_that_differ_by_rounding_only_are_ties() -> None:
    without, with_context = [0.3, 0.0, 0.0], [0.0, 0.1, 0.2]  # gains of -0.3, 0.1 and 0.2 sum to 2.8e-17 in floats
    chosen = choose_threshold(sweep([0.9, 0.8, 0.7], without, with_context))
    assert chosen is not None
    assert chosen.retrieved == 0


def test_no_blanks_have_no_sweep() -> None:
    assert sweep([], [], []) == []
    assert choose_threshold([]) is None
