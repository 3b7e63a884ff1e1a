"""How far a difference can be trusted: blanks of one repository resemble each other, so repositories are resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from repoformer.seeding import stable_hash


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and its bootstrap interval; without one, ``reason`` says why."""

    point: float | None
    low: float | None
    high: float | None
    repositories: int
    blanks: int
    reason: str = ""

    @property
    def half_width(self) -> float | None:
        """Half the interval's length: a smaller true difference would not have been seen."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def paired_bootstrap(
    differences: Sequence[float],
    repositories: Sequence[str],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of per-blank differences between two systems, with a percentile interval over resampled repositories.

    Each resample draws as many repositories as there are, with replacement, and all blanks of each. Both systems are
    seen on the same blanks, so what makes a blank hard cancels out. With few repositories the interval is too narrow;
    their number stands beside it for that reason.
    """
    values = np.asarray(differences, dtype=np.float64)
    names, repository = np.unique(np.asarray(repositories, dtype=np.str_), return_inverse=True)
    if len(values) != len(repository):
        raise ValueError(f"{len(values)} differences for {len(repository)} repositories")
    if not len(values):
        return Interval(None, None, None, 0, 0, "no blanks")
    point = float(values.mean())
    if len(names) == 1:
        return Interval(point, None, None, 1, len(values), "one repository only: there is nothing to resample")
    sums = np.bincount(repository, weights=values)
    counts = np.bincount(repository)
    generator = np.random.default_rng(stable_hash(seed, "bootstrap"))
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    means = (drawn @ sums) / (drawn @ counts)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(point, float(low), float(high), len(names), len(values))
