"""Two means that papers report under one name: over instances, and over repositories of their means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean


def mean_over_instances(values: Sequence[float]) -> float:
    """Every instance counts alike (Repoformer, CrossCodeEval): large repositories decide."""
    return fmean(values)


def mean_over_repositories(values: Sequence[float], repositories: Sequence[str]) -> float:
    """Every repository counts alike (RepoCoder); ``repositories`` names that of each value."""
    by_repository: dict[str, list[float]] = defaultdict(list)
    for value, repository in zip(values, repositories, strict=True):
        by_repository[repository].append(value)
    return fmean(fmean(group) for group in by_repository.values())
