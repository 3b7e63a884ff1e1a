"""Retrieval policies replayed on stored completions: how likely each policy retrieves for each blank.

Nothing is generated again: both completions of a blank exist, so a policy is one number per blank, and any quantity is
its expectation under that number (`outcomes.expected`). All policies but `random` decide with 0 or 1.

    never      in-file context only
    always     what retrieval-augmented completion does
    greedy     where <cc> is the most likely token           } by a model that takes decisions
    threshold  where P(<cc>) exceeds the model's threshold   }
    random     for as large a share of each kind as `threshold` does, whichever blanks these are: its exact expectation
    oracle     exactly where context raises edit similarity: no policy that picks one of the two can do better
"""

from __future__ import annotations

import numpy as np

from repoformer.inference.policies import Greedy, Policy, Threshold
from repoformer.models.settings import ModelSettings

from .outcomes import Floats, Outcomes

POLICIES = ("never", "always", "greedy", "threshold", "random", "oracle")


def replay(outcomes: Outcomes, settings: ModelSettings) -> dict[str, Floats]:
    """For every policy that this model can follow, the probability [blanks] that it retrieves."""
    retrieves = {"never": np.zeros(len(outcomes)), "always": np.ones(len(outcomes))}
    if outcomes.decides:
        retrieves["greedy"] = decisions(outcomes, Greedy())
        retrieves["threshold"] = decisions(outcomes, Threshold.of(settings))
        retrieves["random"] = random_at_the_share_of(outcomes, retrieves["threshold"])
        retrieves["oracle"] = outcomes.wants_context.astype(np.float64)
    return retrieves


def decisions(outcomes: Outcomes, policy: Policy) -> Floats:
    """What the policy that serves completions would have decided, 0 or 1 for each blank."""
    asked = zip(outcomes.p_retrieve.tolist(), outcomes.greedy.tolist(), outcomes.kinds.tolist(), strict=True)
    return np.array([policy.retrieve(p, bool(greedy), kind) for p, greedy, kind in asked], dtype=np.float64)


def random_at_the_share_of(outcomes: Outcomes, retrieves: Floats) -> Floats:
    """A coin for each blank that comes up as often as ``retrieves`` does among blanks of its kind."""
    shares = np.empty(len(outcomes))
    for kind in set(outcomes.kinds.tolist()):
        of_kind = outcomes.kinds == kind
        shares[of_kind] = retrieves[of_kind].mean()
    return shares
