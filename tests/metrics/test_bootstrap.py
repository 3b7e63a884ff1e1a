"""The paired bootstrap against resampling written as a loop, and what it may not claim."""

from __future__ import annotations

import random

import pytest

from repoformer.metrics.bootstrap import paired_bootstrap


def data(repositories: int, blanks: int, seed: int = 0) -> tuple[list[float], list[str]]:
    """Differences that vary more between repositories than within one; repositories of unequal size."""
    draw = random.Random(seed)
    differences, names = [], []
    for number in range(repositories):
        centre = draw.gauss(0.05, 0.2)
        for _ in range(blanks + number):
            differences.append(draw.gauss(centre, 0.1))
            names.append(f"repo{number}")
    return differences, names


def test_the_interval_is_that_of_the_obvious_loop() -> None:
    differences, names = data(12, 5)
    groups = {name: [d for d, n in zip(differences, names, strict=True) if n == name] for name in set(names)}
    draw, means = random.Random(1), []
    for _ in range(20_000):
        drawn = [value for name in draw.choices(sorted(groups), k=len(groups)) for value in groups[name]]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    found = paired_bootstrap(differences, names, resamples=20_000)
    assert found.point == pytest.approx(sum(differences) / len(differences))
    assert found.low == pytest.approx(means[500], abs=0.006)
    assert found.high == pytest.approx(means[-500], abs=0.006)
    assert found.half_width == pytest.approx((found.high - found.low) / 2)
    assert (found.repositories, found.blanks) == (12, len(differences))


def test_resampling_blanks_instead_would_be_too_narrow() -> None:
    differences, names = data(8, 40)
    by_repository = paired_bootstrap(differences, names)
    by_blank = paired_bootstrap(differences, [str(n) for n in range(len(names))])
    assert by_repository.half_width > 3 * by_blank.half_width


def test_one_repository_has_a_mean_and_no_interval() -> None:
    found = paired_bootstrap([0.1, 0.3], ["a", "a"])
    assert (found.point, found.low, found.high, found.half_width) == (pytest.approx(0.2), None, None, None)
    assert "one repository" in found.reason


def test_no_blanks_have_nothing() -> None:
    found = paired_bootstrap([], [])
    assert (found.point, found.reason) == (None, "no blanks")


def test_the_seed_decides_and_the_order_does_not() -> None:
    differences, names = data(6, 4)
    backwards = paired_bootstrap(differences[::-1], names[::-1], seed=3)
    assert paired_bootstrap(differences, names, seed=3).low == pytest.approx(backwards.low, abs=1e-12)
    assert paired_bootstrap(differences, names, seed=3).low != paired_bootstrap(differences, names, seed=4).low


def test_equal_systems_have_an_interval_of_zero() -> None:
    found = paired_bootstrap([0.0] * 6, list("aabbcc"))
    assert (found.point, found.low, found.high) == (0, 0, 0)
