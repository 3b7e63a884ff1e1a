"""A selector for any model, without fine-tuning it: estimate how good a completion without context is from its tokens.

In the manner of CARD (arXiv 2406.10263): a gradient-boosted regression from features of entropies and probabilities to
edit similarity; context is retrieved where the estimate is low. Each blank is estimated by a regression that has seen
other repositories only, so the estimates are as honest as those of a selector that was made on other data.
"""

from __future__ import annotations

import numpy as np
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
    repositories = len(np.unique(outcomes.repositories))
    if not outcomes.tells_uncertainty or repositories < 2 or len(outcomes) < LEAST_BLANKS:
        return None
    estimates = np.empty(len(outcomes))
    folds = GroupKFold(min(FOLDS, repositories))
    for others, mine in folds.split(outcomes.features, groups=outcomes.repositories):
        regression = GradientBoostingRegressor(n_estimators=60, max_depth=3, subsample=0.8, random_state=seed)
        regression.fit(outcomes.features[others], outcomes.es_without[others])
        estimates[mine] = regression.predict(outcomes.features[mine])
    return estimates
