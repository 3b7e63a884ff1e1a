"""Replaying stored completions at a threshold gives what a fresh run at that threshold gives, at every threshold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from repoformer.code.records import Blank, Prediction, RetrievedContext
from repoformer.code.storage import read_json, read_jsonl
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe
from repoformer.inference.completer import SelectiveCompleter
from repoformer.inference.policies import Threshold
from repoformer.metrics.completion import postprocess
from repoformer.metrics.text import edit_similarity


class Stored:
    """The contexts that the stored run found."""

    def __init__(self, predictions: list[Prediction]) -> None:
        self._contexts = {one.blank.id: one.context for one in predictions}

    def retrieve(self, blank: Blank) -> RetrievedContext:
        return self._contexts[blank.id]


def test_scores_at_every_threshold_are_those_of_a_fresh_run_at_it(
    recipe_with: Callable[..., EvalRecipe], model_folders: dict[str, Path]
) -> None:
    # One blank at a time in both: the same batches give the same sums.
    models = [{"name": "deciding", "path": str(model_folders["selective"])}]
    recipe = recipe_with(models=models, control=None, batch=1, limit=9, latency_blanks=0)
    runner.run(recipe)
    stored = read_jsonl(Prediction, Path(recipe.out) / "predictions" / "deciding.jsonl")
    (model,) = read_json(Path(recipe.out) / "summary.json")["models"]
    sweep = model["decisions"]["all"]["sweep"]
    assert len({point["share_with_context"] for point in sweep}) > 5

    completer = SelectiveCompleter.load(model_folders["selective"])
    source = Stored(stored)
    for point in sweep:
        if not 0 <= point["threshold"] <= 1:
            continue
        fresh = [(one.blank, completer.complete(one.blank, source, Threshold(point["threshold"]))) for one in stored]
        assert fmean(completion.decision for _, completion in fresh) == point["share_with_context"]
        similarities = [edit_similarity(postprocess(blank, done.text), blank.target) for blank, done in fresh]
        assert fmean(similarities) == pytest.approx(point["es"], abs=1e-12)
