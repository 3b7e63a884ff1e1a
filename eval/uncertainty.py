"""What a completion's tokens say about its quality, as numbers, 13 of them as in CARD (arXiv 2406.10263)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repoformer.code.records import TokenUncertainty

_OF_EACH = ("mean", "largest", "smallest", "first", "spread")
FEATURES = (
    *(f"{statistic} entropy" for statistic in _OF_EACH),
    *(f"{statistic} surprise" for statistic in _OF_EACH),
    *("tokens", "summed surprise", "share of unlikely tokens"),
)
"""Surprise is the negative log-probability of the token that was written."""

_UNLIKELY = np.log(2)
"""Surprise of a token with a probability of one half."""


def features(uncertainty: TokenUncertainty | None) -> list[float]:
    """One number per entry of ``FEATURES``; NaN for a model that tells nothing, zeros for an empty completion."""
    if uncertainty is None:
        return [np.nan] * len(FEATURES)
    entropies = uncertainty.entropies
    surprises = [-one for one in uncertainty.log_probabilities]
    unlikely = float(np.mean(np.array(surprises) > _UNLIKELY)) if surprises else 0.0
    return [*_statistics(entropies), *_statistics(surprises), float(len(surprises)), float(sum(surprises)), unlikely]


def _statistics(values: Sequence[float]) -> list[float]:
    if not values:
        return [0.0] * len(_OF_EACH)
    found = np.array(values)
    return [float(one) for one in (found.mean(), found.max(), found.min(), found[0], found.std())]
