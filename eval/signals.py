"""What selects the blanks that profit from context: the model's own P(<cc>) against everything else one could look at.

Every signal is judged on the same stored completions: how well it ranks the blanks (AUROC, average precision), and what
edit similarity and seconds each of its thresholds gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from scipy.stats import rankdata

from repoformer.metrics import decisions

from .decision_quality import sweep
from .outcomes import Floats, Outcomes
from .policies import COSTS

OWN = "P(<cc>)"


def signal_quality(outcomes: Outcomes, trials: Mapping[str, Floats]) -> dict[str, dict[str, Any]]:
    """By signal, the model's ``policies.trial_signals`` among them.

    A sweep's thresholds are shares of blanks, because the signals have no common unit.
    """
    own = {OWN: outcomes.p_retrieve} if outcomes.decides else {}
    return {name: _quality(outcomes, name, signal) for name, signal in {**own, **trials}.items()}


def _quality(outcomes: Outcomes, name: str, signal: Floats) -> dict[str, Any]:
    labels, ranks = outcomes.wants_context.tolist(), rankdata(signal, method="max") / len(outcomes)
    return {
        "auroc": asdict(decisions.auroc(labels, ranks.tolist())),
        "average_precision": asdict(decisions.average_precision(labels, ranks.tolist())),
        "sweep": [asdict(point) for point in sweep(outcomes, ranks, "decision" if name == OWN else COSTS[name])],
    }
