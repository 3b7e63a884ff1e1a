"""The table: every policy of every model, with its differences to `never` and `always` of the same model.

Differences are paired over blanks, their intervals resample repositories. A comparison across models (a trained policy
against the fine-tuned control that always retrieves) is made the same way: all models complete the same blanks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from repoformer.metrics.bootstrap import paired_bootstrap
from repoformer.metrics.means import mean_over_repositories

from .outcomes import Floats, Mask, Outcomes, Trial, expected
from .policies import COSTS


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean paired difference and its 95 % interval; without one, ``reason`` says why."""

    mean: float | None
    low: float | None
    high: float | None
    half_width: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Differences:
    """To another row of the table, in each metric."""

    em: Difference
    es: Difference


@dataclass(frozen=True, slots=True)
class Row:
    """One policy of one model on the blanks of one scope.

    ``share_retrieved`` is the share of blanks for which the policy retrieves, found or not, ``share_with_context`` that
    whose completion with context it takes: less, where it retrieves before it decides. ``seconds`` is the mean
    over the ``seconds_n`` blanks that were measured of what `Outcomes.seconds` defines; None where none was.
    ``seconds_cold`` is the same for the first completion in a repository, whose retrieval builds the index.
    """

    model: str
    policy: str
    scope: str
    n: int
    repositories: int
    em: float
    es: float
    em_by_repository: float
    es_by_repository: float
    """Means over repositories of their means, as RepoCoder reports."""
    share_retrieved: float
    share_with_context: float
    seconds: float | None
    seconds_cold: float | None
    seconds_n: int
    versus_never: Differences | None
    versus_always: Differences | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A policy of one model minus another, or one of another model, on the same blanks."""

    model: str
    policy: str
    other_model: str
    other_policy: str
    scope: str
    differences: Differences


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made."""

    resamples: int
    seed: int

    def difference(self, one: Floats, other: Floats, outcomes: Outcomes) -> Difference:
        """``one`` - ``other``, both [blanks]."""
        found = paired_bootstrap(
            (one - other).tolist(), outcomes.repositories.tolist(), resamples=self.resamples, seed=self.seed
        )
        return Difference(found.point, found.low, found.high, found.half_width, found.reason)


@dataclass(frozen=True, slots=True)
class Arm:
    """One model under one policy: its outcomes, and the probability [blanks] that it takes context."""

    outcomes: Outcomes
    retrieves: Floats
    trial: Trial = "none"

    @property
    def share_retrieved(self) -> float:
        """Of the blanks; all of them where the policy decides on what was retrieved."""
        return 1.0 if self.trial in ("retrieval", "both") else float(self.retrieves.mean())

    @property
    def em(self) -> Floats:
        """Exact match of each blank."""
        return expected(self.outcomes.em_without, self.outcomes.em_with, self.retrieves)

    @property
    def es(self) -> Floats:
        """Edit similarity of each blank."""
        return expected(self.outcomes.es_without, self.outcomes.es_with, self.retrieves)

    def of(self, scope: str) -> Arm:
        """The blanks of one scope."""
        return self.where(self.outcomes.within(scope))

    def where(self, chosen: Mask) -> Arm:
        """The chosen blanks only."""
        return Arm(self.outcomes.where(chosen), self.retrieves[chosen], self.trial)

    def by_repository(self, values: Floats) -> float:
        """The mean over repositories of their means."""
        return mean_over_repositories(values.tolist(), self.outcomes.repositories.tolist())


def rows(model: str, outcomes: Outcomes, policies: Mapping[str, Floats], bootstrap: Bootstrap) -> Iterator[Row]:
    """One row per scope and policy, in that order."""
    for scope in outcomes.scopes:
        arms = {policy: arm_of(outcomes, policies, policy).of(scope) for policy in policies}
        for policy, arm in arms.items():
            versus = {
                other: differences(arm, arms[other], bootstrap) if policy != other else None
                for other in ("never", "always")
            }
            yield _row(model, policy, scope, arm, versus)


def arm_of(outcomes: Outcomes, policies: Mapping[str, Floats], policy: str) -> Arm:
    """One model under one of its ``policies``."""
    return Arm(outcomes, policies[policy], COSTS.get(policy, "none"))


def differences(one: Arm, other: Arm, bootstrap: Bootstrap) -> Differences:
    """In both metrics; both arms are of the same blanks."""
    assert one.outcomes.ids.tolist() == other.outcomes.ids.tolist(), "a difference is paired"
    return Differences(
        em=bootstrap.difference(one.em, other.em, one.outcomes),
        es=bootstrap.difference(one.es, other.es, one.outcomes),
    )


def mean_seconds(arm: Arm, *, cold: bool = False) -> float | None:
    """Over the measured blanks; None without any."""
    measured = arm.outcomes.measured
    seconds = arm.outcomes.seconds(arm.retrieves, arm.trial, cold=cold)
    return float(seconds[measured].mean()) if measured.any() else None


def _row(model: str, policy: str, scope: str, arm: Arm, versus: Mapping[str, Differences | None]) -> Row:
    return Row(
        model=model,
        policy=policy,
        scope=scope,
        n=len(arm.outcomes),
        repositories=len(np.unique(arm.outcomes.repositories)),
        em=float(arm.em.mean()),
        es=float(arm.es.mean()),
        em_by_repository=arm.by_repository(arm.em),
        es_by_repository=arm.by_repository(arm.es),
        share_retrieved=arm.share_retrieved,
        share_with_context=float(arm.retrieves.mean()),
        seconds=mean_seconds(arm),
        seconds_cold=mean_seconds(arm, cold=True),
        seconds_n=int(arm.outcomes.measured.sum()),
        versus_never=versus["never"],
        versus_always=versus["always"],
    )
