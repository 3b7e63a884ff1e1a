"""The mean over repositories is not the mean over instances."""

from __future__ import annotations

import pytest

from repoformer.metrics.means import mean_over_instances, mean_over_repositories

VALUES = [1.0, 1.0, 1.0, 0.0]
REPOSITORIES = ["large", "large", "large", "small"]


def test_over_instances_a_large_repository_counts_for_more() -> None:
    assert mean_over_instances(VALUES) == 0.75


def test_over_repositories_each_counts_alike() -> None:
    assert mean_over_repositories(VALUES, REPOSITORIES) == 0.5


def test_a_value_without_a_repository_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        mean_over_repositories(VALUES, REPOSITORIES[:3])
