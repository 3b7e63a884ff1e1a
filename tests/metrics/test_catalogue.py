"""Every metric and post-processing can be called by its name, and perfect output gets every metric's best score."""

from __future__ import annotations

import pytest

from repoformer.code.records import Blank
from repoformer.metrics.catalogue import METRICS, POSTPROCESSING

BLANK = Blank("i", "r", "", "", "a.py", "python", "function", 1, 2, "def f(x):\n", "\n", "    return x.alpha")


@pytest.mark.parametrize("postprocessing", sorted(POSTPROCESSING))
@pytest.mark.parametrize("metric", sorted(METRICS))
def test_the_target_itself_scores_one(postprocessing: str, metric: str) -> None:
    completion, target = POSTPROCESSING[postprocessing](BLANK, BLANK.target)
    assert METRICS[metric](completion, target, "python") == pytest.approx(1)


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_something_else_scores_less(metric: str) -> None:
    score = METRICS[metric]("    raise KeyError(q)", BLANK.target, "python")
    assert 0 <= score < 1
