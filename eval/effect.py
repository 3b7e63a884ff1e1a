"""What context did to one model's completions, and what each part of a completion took."""

from __future__ import annotations

from typing import Any

import numpy as np

from .outcomes import Floats, Mask, Outcomes


def effect_of_context(outcomes: Outcomes, duplicated: Mask) -> dict[str, Any]:
    """Shares of blanks that context helped, left alone and harmed in ES (section 5.1).

    ``duplicated`` [blanks]: the target stands verbatim in another file. Mean gains where it does and where it does not
    say how much of the gain is copying.
    """
    return {
        "n": len(outcomes),
        "em_without": float(outcomes.em_without.mean()),
        "em_with": float(outcomes.em_with.mean()),
        "es_without": float(outcomes.es_without.mean()),
        "es_with": float(outcomes.es_with.mean()),
        "helped": float((outcomes.gain > 0).mean()),
        "unchanged": float((outcomes.gain == 0).mean()),
        "harmed": float((outcomes.gain < 0).mean()),
        "mean_gain": float(outcomes.gain.mean()),
        "duplicated": int(duplicated.sum()),
        "gain_if_duplicated": _mean(outcomes.gain[duplicated]),
        "gain_if_not": _mean(outcomes.gain[~duplicated]),
    }


def seconds_of_parts(outcomes: Outcomes, index_seconds: Floats) -> dict[str, Any]:
    """T_decide, T_retrieve and T_generate over the measured blanks, each as mean, median and largest.

    Retrieval is cold when the repository's index has to be built first (``index_seconds`` [blanks]), else warm.
    """
    measured = outcomes.measured
    parts = {
        "decide": outcomes.decide_seconds,
        "retrieve_cold": outcomes.retrieve_seconds + index_seconds,
        "retrieve_warm": outcomes.retrieve_seconds,
        "generate_without": outcomes.without_seconds,
        "generate_with": outcomes.with_seconds,
    }
    return {"n": int(measured.sum())} | {name: _spread(values[measured]) for name, values in parts.items()}


def _spread(values: Floats) -> dict[str, float] | None:
    if not len(values):
        return None
    return {"mean": float(values.mean()), "median": float(np.median(values)), "max": float(values.max())}


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
