"""Every recipe that comes along is read by the parser that its command uses, so none rots."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from repoformer.config import load_recipe

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = {
    "data": "repoformer.data_pipeline.recipe:DataRecipe",
    "train": "repoformer.training.recipe:TrainRecipe",
    "eval": "repoformer.eval.recipe:EvalRecipe",
    "eval/execute.yaml": "repoformer.eval.execute.recipe:ExecuteRecipe",
    "eval/paper/table1-tests.yaml": "repoformer.eval.execute.recipe:ExecuteRecipe",
    "pocket/corpus.yaml": "repoformer.code.sources.manifest:Manifest",
    "pocket/experiment.yaml": "repoformer.quickstart:QuickstartRecipe",
    "pocket/experiment/data.yaml": "repoformer.data_pipeline.recipe:DataRecipe",
    "pocket/experiment/eval.yaml": "repoformer.eval.recipe:EvalRecipe",
    "pocket/experiment/train.yaml": "repoformer.training.recipe:TrainRecipe",
    "pocket/longer.yaml": "repoformer.models.pretraining.recipe:PocketRecipe",
    "pocket/pretrain.yaml": "repoformer.models.pretraining.recipe:PocketRecipe",
    "pocket/scratch.yaml": "repoformer.models.pretraining:PretrainRecipe",
    "pocket/settle.yaml": "repoformer.models.pretraining.recipe:PocketRecipe",
    "pocket/twins.yaml": "repoformer.models.pretraining.recipe:PocketRecipe",
    "quickstart.yaml": "repoformer.quickstart:QuickstartRecipe",
}
# recipes/accelerate/ is accelerate's own and is read by its parser, in tests/training/test_accelerate_configs.py.
RECIPES = sorted(
    path
    for path in (path.relative_to(ROOT / "recipes") for path in (ROOT / "recipes").rglob("*.yaml"))
    if path.parts[0] != "accelerate"
)


def kind(recipe: Path) -> str:
    return recipe.as_posix() if recipe.as_posix() in SCHEMAS else recipe.parts[0]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_a_shipped_recipe_loads(recipe: Path) -> None:
    module, _, name = SCHEMAS[kind(recipe)].partition(":")
    load_recipe(getattr(importlib.import_module(module), name), ROOT / "recipes" / recipe)


def test_there_is_a_recipe_of_each_kind() -> None:
    assert {kind(recipe) for recipe in RECIPES} == set(SCHEMAS)


def test_the_experiment_tests_on_what_the_manifest_keeps_for_it() -> None:
    from repoformer.code.sources.manifest import Manifest
    from repoformer.data_pipeline.recipe import DataRecipe

    data = load_recipe(DataRecipe, ROOT / "recipes/pocket/experiment/data.yaml")
    manifest = load_recipe(Manifest, ROOT / "recipes/pocket/corpus.yaml")
    assert data.split.test_repositories == [package.name for package in manifest.used_for("evaluate")]
