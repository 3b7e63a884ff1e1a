"""What context did to one model's completions, and what each part of a completion took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from repoformer.code.records import Prediction
from repoformer.metrics.decisions import Measure

from .outcomes import Floats, Mask, Outcomes

LEAST_REPOSITORIES = 5
"""A correlation over fewer says nothing."""


def effect_of_context(outcomes: Outcomes, duplicated: Mask | None) -> dict[str, Any]:
    """Shares of blanks that context helped, left alone and harmed in ES (section 5.1).

    ``duplicated`` [blanks]: the target stands verbatim in another file; None where that is not known. Mean gains where
    it does and where it does not say how much of the gain is copying.
    """
    return {
        "n": len(outcomes),
        "em_without": _mean(outcomes.em_without),
        "em_with": _mean(outcomes.em_with),
        "es_without": _mean(outcomes.es_without),
        "es_with": _mean(outcomes.es_with),
        "helped": _mean(outcomes.gain > 0),
        "unchanged": _mean(outcomes.gain == 0),
        "harmed": _mean(outcomes.gain < 0),
        "mean_gain": _mean(outcomes.gain),
        "duplicated": None if duplicated is None else int(duplicated.sum()),
        "gain_if_duplicated": None if duplicated is None else _mean(outcomes.gain[duplicated]),
        "gain_if_not": None if duplicated is None else _mean(outcomes.gain[~duplicated]),
    }


def empty_completions(predictions: Collection[Prediction]) -> dict[str, float]:
    """Shares of completions that hold nothing but spaces, of each arm."""
    return {
        "without": sum(not one.text_without.strip() for one in predictions) / len(predictions),
        "with": sum(not one.text_with.strip() for one in predictions) / len(predictions),
    }


def effect_where_asked(outcomes: Outcomes, retrieved: Floats) -> dict[str, Any]:
    """What context does to the blanks for which a policy asks for it, and to those for which it does not (figure 6).

    ``retrieved``: the policy's decisions, 0 or 1 [blanks]. A policy that selects has gains where it asks and none where
    it does not; figures over no blank are None.
    """
    asked = retrieved == 1
    return {
        "asked": effect_of_context(outcomes.where(asked), None),
        "not_asked": effect_of_context(outcomes.where(~asked), None),
    }


def effect_by_repository(outcomes: Outcomes, duplication: Floats) -> dict[str, Any]:
    """Gains of each repository beside how much it repeats itself: the more it does, the more there is to copy.

    ``duplication`` [blanks]: the share of the repository's lines that stand in it more than once, NaN if not known.
    ``rank_correlation`` is Spearman's, over repositories, between that share and the mean gain.
    """
    repositories = []
    for name in np.unique(outcomes.repositories).tolist():
        mine = outcomes.repositories == name
        share = float(duplication[mine][0])
        effect = effect_of_context(outcomes.where(mine), None)
        repositories.append({"id": name, "duplication": None if np.isnan(share) else share} | effect)
    known = [one for one in repositories if one["duplication"] is not None]
    return {
        "repositories": repositories,
        "rank_correlation": asdict(
            _rank_correlation([one["duplication"] for one in known], [one["mean_gain"] for one in known])
        ),
    }


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> Measure:
    if len(one) < LEAST_REPOSITORIES:
        return Measure(None, f"only {len(one)} repositories whose duplication is known")
    if len(set(one)) == 1 or len(set(other)) == 1:
        return Measure(None, "all repositories are alike")
    return Measure(float(spearmanr(one, other).statistic))


def seconds_of_parts(outcomes: Outcomes) -> dict[str, Any]:
    """T_decide, T_retrieve and T_generate over the measured blanks, each as mean, median and largest.

    The gate's T_decide stands apart: only policies that ask for its decision pay for it. 0 without a gate.
    Retrieval is cold when the repository's index has to be built first, else warm.
    """
    measured = outcomes.measured
    parts = {
        "decide": outcomes.decide_seconds,
        "gate": outcomes.gate_seconds,
        "retrieve_cold": outcomes.retrieve_seconds + outcomes.index_seconds,
        "retrieve_warm": outcomes.retrieve_seconds,
        "generate_without": outcomes.without_seconds,
        "generate_with": outcomes.with_seconds,
    }
    return {"n": int(measured.sum())} | {name: _spread(values[measured]) for name, values in parts.items()}


def _spread(values: Floats) -> dict[str, float] | None:
    if not len(values):
        return None
    return {"mean": float(values.mean()), "median": float(np.median(values)), "max": float(values.max())}


def _mean(values: Floats | Mask) -> float | None:
    return float(values.mean()) if len(values) else None
