"""The paper's tables as recipes, at the size of a test, with the published numbers beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from repoformer.config import load_recipe
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.summary import _published
from repoformer.metrics.catalogue import METRICS

ROOT = Path(__file__).resolve().parents[2]
PAPER = sorted((ROOT / "recipes/eval/paper").glob("*.yaml"))
GENUINE = ROOT.parent / "shared/data/crosscodelongeval"


def test_the_papers_recipes_are_there() -> None:
    assert len(PAPER) == 5


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_published_numbers_name_models_of_the_recipe_and_metrics_that_there_are(path: Path) -> None:
    recipe = load_recipe(EvalRecipe, path)
    assert recipe.published_in
    assert {number.model for number in recipe.published} == {model.name for model in recipe.models}
    assert {number.metric for number in recipe.published} <= METRICS.keys()


def test_ours_is_the_mean_over_instances_of_the_same_model_policy_and_metric() -> None:
    path = ROOT / "recipes/eval/paper/table2-line.yaml"
    found = {"model": "repoformer-1b", "policy": "greedy", "metric": "es_levenshtein", "instances_mean": 0.5}
    numbers = list(_published(load_recipe(EvalRecipe, path), [found]))
    ours = [number for number in numbers if number["ours"] is not None]
    assert ours == [
        {"model": "repoformer-1b", "policy": "greedy", "metric": "es_levenshtein", "value": 74.5, "ours": 50.0}
    ]
    assert len(numbers) == 8


@pytest.mark.skipif(not GENUINE.is_dir(), reason=f"no genuine benchmark records beside this checkout ({GENUINE})")
def test_a_papers_recipe_runs_with_a_small_model(model_folders: dict[str, Path], tmp_path: Path) -> None:
    models = f"models=[{{name: starcoderbase-1b, path: {model_folders['base']}}}]"
    data = f"benchmark.data={GENUINE / 'chunk.jsonl'}"
    small = [data, f"out={tmp_path}", "limit=2", "latency_blanks=0", "resamples=100", models]
    recipe = load_recipe(EvalRecipe, ROOT / "recipes/eval/paper/table2-crosscodelongeval-chunk.yaml", small)
    numbers = runner.run(recipe)["published"]["numbers"]
    assert [number["ours"] is None for number in numbers] == [number["model"] == "repoformer-1b" for number in numbers]
    page = (tmp_path / "report.html").read_text()
    assert "Beside the published numbers" in page
    assert "60.09" in page
