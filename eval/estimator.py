"""Selectors for any model, without fine-tuning it: estimate how good a completion is from its tokens.

In the manner of CARD (arXiv 2406.10263): a gradient-boosted regression from features of entropies and probabilities to
edit similarity. Context is retrieved where the estimate of the completion without it is low; and of two completions
that both exist, the one with the higher estimate is kept. Each blank is estimated by a regression that has seen other
repositories only, so the estimates are as honest as those of a selector that was made on other data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GroupKFold

from .outcomes import Floats, Outcomes

FOLDS = 5
LEAST_BLANKS = 40
"""With fewer, a regression of 13 features fits noise."""


def estimated_similarity(outcomes: Outcomes, seed: int = 0) -> Floats | None:
    """The edit similarity [blanks] that each completion without context is estimated to have.

    None for a model that does not tell its probabilities, for one repository, and for few blanks.
    """
    if not _enough_to_fit(outcomes, outcomes.features):
        return None
    return _estimates(outcomes.features, outcomes.es_without, outcomes.repositories, seed)


def estimated_gain(outcomes: Outcomes, seed: int = 0) -> Floats | None:
    """By how much [blanks] the completion with context is estimated to be the more similar one to the target.

    One regression estimates both completions of a blank. None as above.
    """
    features = np.concatenate([outcomes.features, outcomes.features_with])
    if not _enough_to_fit(outcomes, features):
        return None
    similarities = np.concatenate([outcomes.es_without, outcomes.es_with])
    without, with_context = np.split(_estimates(features, similarities, np.tile(outcomes.repositories, 2), seed), 2)
    gain: Floats = with_context - without
    return gain


def _enough_to_fit(outcomes: Outcomes, features: Floats) -> bool:
    several = len(np.unique(outcomes.repositories)) > 1
    return several and len(outcomes) >= LEAST_BLANKS and not bool(np.isnan(features).any())


def _estimates(features: Floats, similarities: Floats, repositories: NDArray[np.str_], seed: int) -> Floats:
    """The similarity [completions] that those of other repositories let expect of each completion's features."""
    estimates = np.empty(len(features))
    folds = GroupKFold(min(FOLDS, len(np.unique(repositories))))
    for others, mine in folds.split(features, groups=repositories):
        regression = GradientBoostingRegressor(n_estimators=60, max_depth=3, subsample=0.8, random_state=seed)
        regression.fit(features[others], similarities[others])
        estimates[mine] = regression.predict(features[mine])
    return estimates
