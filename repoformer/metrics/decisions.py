"""How well a model decides when to retrieve, from its probabilities and from what retrieval did to each completion.

A label says that context helps, ``ES(with) > ES(without)``; ``p`` is P(``<cc>``). What cannot be measured on the
instances at hand is a :class:`Measure` without a value and with a reason, never a number that means something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

_TIE = 1e-12
"""Mean edit similarities this close are equal: sums of the same numbers in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure, or the reason why there is none."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Instances with ``low <= p < high`` (the last bin holds 1): how probable, and how often context did help."""

    low: float
    high: float
    mean_p: float
    helped: float
    count: int


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What retrieving where ``p > threshold`` gives: the share of blanks that retrieve, and mean edit similarity."""

    threshold: float
    retrieved: float
    es: float


def auroc(labels: Sequence[bool], p: Sequence[float]) -> Measure:
    """Probability that a blank which context helps has a higher ``p`` than one which it does not; ties count half."""
    return _one_class(labels) or Measure(float(roc_auc_score(*_paired(labels, p))))


def average_precision(labels: Sequence[bool], p: Sequence[float]) -> Measure:
    """Mean precision over the recall levels; compare it with the share of positive labels, which guessing reaches."""
    return _one_class(labels) or Measure(float(average_precision_score(*_paired(labels, p))))


def abstention_precision(labels: Sequence[bool], retrieved: Sequence[bool]) -> Measure:
    """Of the blanks that did not retrieve, the share that context would not have helped (section 5.2)."""
    abstained = [label for label, did in zip(labels, retrieved, strict=True) if not did]
    if not abstained:
        return Measure(None, "every blank retrieved" if labels else "no blanks")
    return Measure(1 - sum(abstained) / len(abstained))


def f1(labels: Sequence[bool], retrieved: Sequence[bool]) -> Measure:
    """F1 of the decision to retrieve, "context helps" being the positive class."""
    both = sum(label and did for label, did in zip(labels, retrieved, strict=True))
    either = sum(labels) + sum(retrieved)
    if not either:
        return Measure(None, "context helps no blank and none retrieved" if labels else "no blanks")
    return Measure(2 * both / either)


def calibration(labels: Sequence[bool], p: Sequence[float], bins: int = 10) -> list[CalibrationBin]:
    """Bins of equal width over [0, 1]; those that hold no blank are left out."""
    truth, probability = _paired(labels, p)
    number = np.minimum((probability * bins).astype(int), bins - 1)
    found = []
    for each in range(bins):
        inside = number == each
        if count := int(inside.sum()):
            mean, helped = float(probability[inside].mean()), float(truth[inside].mean())
            found.append(CalibrationBin(each / bins, (each + 1) / bins, mean, helped, count))
    return found


def calibration_error(bins: Sequence[CalibrationBin]) -> Measure:
    """Expected calibration error: the mean gap between probability and share helped, weighted by the bins' counts."""
    total = sum(each.count for each in bins)
    if not total:
        return Measure(None, "no blanks")
    return Measure(sum(each.count * abs(each.mean_p - each.helped) for each in bins) / total)


def sweep(p: Sequence[float], es_without: Sequence[float], es_with: Sequence[float]) -> list[SweepPoint]:
    """Every policy "retrieve where p > T" that differs on these blanks, from always (lowest T) to never.

    Nothing is generated again: each blank contributes the edit similarity of the branch that it would have taken. The
    thresholds are the values of ``p`` and one below them all: 0, or -1 where some ``p`` is 0.
    """
    if not len(p):
        return []
    probability, without, gain = (np.asarray(values, dtype=np.float64) for values in (p, es_without, es_with))
    gain = gain - without
    order = np.argsort(-probability, kind="stable")
    gained = np.concatenate([[0.0], np.cumsum(gain[order])])
    lowest = 0.0 if probability.min() > 0 else -1.0
    points = []
    for threshold in [lowest, *np.unique(probability)]:
        retrieved = int((probability > threshold).sum())
        es = (without.sum() + gained[retrieved]) / len(probability)
        points.append(SweepPoint(float(threshold), retrieved / len(probability), float(es)))
    return points


def choose_threshold(points: Sequence[SweepPoint]) -> SweepPoint | None:
    """The point with the highest mean edit similarity, of equal ones the one that retrieves least; None for no points.

    Choose on validation repositories and report on others: on the blanks it was chosen on, it cannot lose to always
    or never.
    """
    if not points:
        return None
    best = max(point.es for point in points)
    return min((point for point in points if point.es >= best - _TIE), key=lambda point: point.retrieved)


def _one_class(labels: Sequence[bool]) -> Measure | None:
    if not len(labels):
        return Measure(None, "no blanks")
    if all(labels):
        return Measure(None, "context helps every blank: one label class only")
    if not any(labels):
        return Measure(None, "context helps no blank: one label class only")
    return None


def _paired(labels: Sequence[bool], p: Sequence[float]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    if len(labels) != len(p):
        raise ValueError(f"{len(labels)} labels for {len(p)} probabilities")
    return np.asarray(labels, dtype=np.bool_), np.asarray(p, dtype=np.float64)
