"""Retrieval policies replayed on stored completions: how likely each policy retrieves for each blank.

Nothing is generated again: both completions of a blank exist, so a policy is one number per blank, and any quantity is
its expectation under that number (`outcomes.expected`). All policies but `random` decide with 0 or 1.

    never      in-file context only
    always     what retrieval-augmented completion does
    oracle     exactly where context raises edit similarity: no policy that picks one of the two has a higher one
               (by exact match one may)
    greedy     where <cc> is the most likely token           } by a model that takes decisions
    threshold  where P(<cc>) exceeds the model's threshold   }
    random     for as large a share of each kind as `threshold` does, whichever blanks these are: its exact expectation

and, for the same share of each kind as `threshold`, so that they are compared at equal budgets and without tuning,
the blanks that rank highest by another signal (appendix C):

    trial-retrieval    the best hit's similarity; always retrieves, then decides whether to show it      (C.1)
    trial-uncertainty  the tokens' mean surprise in a completion without context                         (C.2)
    trial-entropy      their mean entropy                                                                (C.2)
    estimator          a low edit similarity as estimated from the same tokens, see ``estimator.py``

and, for a model that tells how sure it is of its tokens, whether it takes decisions or not:

    select             of both completions of every blank, the one with the higher estimated edit similarity: everything
                       is retrieved and everything is generated twice (the second half of CARD, see ``estimator.py``)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from repoformer.inference.policies import Greedy, Policy, Threshold
from repoformer.models.settings import ModelSettings

from .estimator import estimated_gain, estimated_similarity
from .outcomes import Floats, Outcomes, Trial

TRIALS: Mapping[str, Trial] = {
    "trial-retrieval": "retrieval",
    "trial-uncertainty": "generation",
    "trial-entropy": "generation",
    "estimator": "generation",
    "select": "both",
}
"""What these policies do for every blank before they decide."""

COSTS: Mapping[str, Trial] = {"greedy": "decision", "threshold": "decision", **TRIALS}
"""The same of every policy that does anything: a coin asks no model, as little as never and always do."""

POLICIES = ("never", "always", "oracle", "greedy", "threshold", "random", *TRIALS)


def replay(
    outcomes: Outcomes, settings: ModelSettings, signals: Mapping[str, Floats] | None = None
) -> dict[str, Floats]:
    """For every policy that this model can follow, the probability [blanks] that it takes context.

    ``signals``: the model's ``trial_signals``, where they are known already.
    """
    signals = trial_signals(outcomes) if signals is None else signals
    retrieves = {"never": np.zeros(len(outcomes)), "always": np.ones(len(outcomes))}
    retrieves["oracle"] = outcomes.wants_context.astype(np.float64)
    if outcomes.decides:
        retrieves["greedy"] = decisions(outcomes, Greedy())
        retrieves["threshold"] = decisions(outcomes, Threshold.of(settings))
        retrieves["random"] = random_at_the_share_of(outcomes, retrieves["threshold"])
        for policy, signal in signals.items():
            if policy != "select":
                retrieves[policy] = highest_at_the_share_of(outcomes, signal, retrieves["threshold"])
    if "select" in signals:
        retrieves["select"] = (signals["select"] > 0).astype(np.float64)
    return retrieves


def trial_signals(outcomes: Outcomes) -> dict[str, Floats]:
    """For every policy of ``TRIALS`` that these outcomes allow, what it takes context by: where this is high."""
    signals = {"trial-retrieval": outcomes.similarity}
    if outcomes.tells_uncertainty:
        signals |= {"trial-uncertainty": outcomes.nll_without, "trial-entropy": outcomes.entropy_without}
    estimates = estimated_similarity(outcomes)
    if estimates is not None:
        signals["estimator"] = -estimates
    gain = estimated_gain(outcomes)
    if gain is not None:
        signals["select"] = gain
    return signals


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


def highest_at_the_share_of(outcomes: Outcomes, signal: Floats, retrieves: Floats) -> Floats:
    """As many blanks of each kind as ``retrieves`` takes, those with the highest ``signal``; a tie is shared out."""
    taken = np.zeros(len(outcomes))
    for kind in set(outcomes.kinds.tolist()):
        places = np.flatnonzero(outcomes.kinds == kind)
        budget = float(retrieves[places].sum())
        for value in np.unique(signal[places])[::-1]:
            tied = places[signal[places] == value]
            taken[tied] = min(1.0, budget / len(tied))
            budget = max(0.0, budget - len(tied))
    return taken
