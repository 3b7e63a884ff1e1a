"""How good a model's decisions are, against what context did to its own completions of the same blanks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from repoformer.metrics import decisions

from .outcomes import Floats, Outcomes, Trial
from .table import Arm, mean_seconds

SWEEP_POINTS = 100
"""A longer sweep is thinned to about as many points."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One threshold for all blanks, replayed: retrieve where ``p > threshold``."""

    threshold: float
    share_with_context: float
    """As in `table.Row`: who retrieves before deciding has retrieved for all."""
    em: float
    es: float
    seconds: float | None


def decision_quality(outcomes: Outcomes, greedy: Floats, threshold: Floats) -> dict[str, Any]:
    """All figures of one scope; ``greedy`` and ``threshold`` are those policies' decisions, 0 or 1 [blanks].

    A figure that these blanks cannot give is None, and its reason stands beside it.
    """
    labels, p = outcomes.wants_context.tolist(), outcomes.p_retrieve.tolist()
    bins = decisions.calibration(labels, p)
    return {
        "n": len(outcomes),
        "positives": sum(labels),
        "share_positive": float(np.mean(labels)),
        "auroc": asdict(decisions.auroc(labels, p)),
        "average_precision": asdict(decisions.average_precision(labels, p)),
        "calibration_error": asdict(decisions.calibration_error(bins)),
        "calibration": [asdict(each) for each in bins],
        "policies": {"greedy": _taken(outcomes, greedy), "threshold": _taken(outcomes, threshold)},
        "p_retrieve": {
            "helped": _rounded(outcomes.p_retrieve[outcomes.wants_context]),
            "not_helped": _rounded(outcomes.p_retrieve[~outcomes.wants_context]),
        },
        "sweep": [asdict(point) for point in sweep(outcomes)],
    }


def sweep(outcomes: Outcomes, signal: Floats | None = None, trial: Trial = "decision") -> list[SweepPoint]:
    """From always to never, by P(``<cc>``) or another ``signal`` in [0, 1]."""
    p = outcomes.p_retrieve if signal is None else signal
    points = decisions.sweep(p.tolist(), outcomes.es_without.tolist(), outcomes.es_with.tolist())
    return [_sweep_point(outcomes, p, trial, point) for point in _thinned(points)]


def _sweep_point(outcomes: Outcomes, p: Floats, trial: Trial, point: decisions.SweepPoint) -> SweepPoint:
    arm = Arm(outcomes, (p > point.threshold).astype(np.float64), trial)
    return SweepPoint(point.threshold, point.retrieved, float(arm.em.mean()), point.es, mean_seconds(arm))


def _thinned(points: list[decisions.SweepPoint]) -> list[decisions.SweepPoint]:
    """At most about ``SWEEP_POINTS`` of them, evenly spaced, both ends among them."""
    last = len(points) - 1
    kept = np.unique(np.linspace(0, last, min(len(points), SWEEP_POINTS)).round().astype(int))
    return [points[place] for place in kept]


def _taken(outcomes: Outcomes, retrieved: Floats) -> dict[str, Any]:
    """Of one policy's decisions: how often abstaining was right, and F1 of asking."""
    labels, asked = outcomes.wants_context.tolist(), (retrieved == 1).tolist()
    return {
        "abstained": len(asked) - sum(asked),
        "abstention_precision": asdict(decisions.abstention_precision(labels, asked)),
        "f1": asdict(decisions.f1(labels, asked)),
    }


def _rounded(values: Floats) -> list[float]:
    """To four digits that count: probabilities of a model that hardly ever asks differ in the millionths."""
    return [float(f"{value:.4g}") for value in values.tolist()]
