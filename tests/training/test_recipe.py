"""Training recipes: names, numbers, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from repoformer.config import load_recipe, parse_recipe
from repoformer.errors import UserError
from repoformer.training.cli import main
from repoformer.training.objectives import OBJECTIVES
from repoformer.training.recipe import TrainRecipe

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "train"
RECIPES = sorted(FOLDER.rglob("*.yaml"))
ABLATIONS = sorted((FOLDER / "ablations").glob("*.yaml"))
NEEDED = {"model": "m", "data": "d", "out": "o"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_every_recipe_that_comes_along_parses(path: Path) -> None:
    load_recipe(TrainRecipe, path)


@pytest.mark.parametrize("path", ABLATIONS, ids=lambda path: path.name)
def test_an_ablation_differs_by_its_objective_alone(path: Path) -> None:
    ablation, original = load_recipe(TrainRecipe, path), load_recipe(TrainRecipe, FOLDER / "quickstart.yaml")
    assert ablation.model_copy(update={"objective": "selective", "out": original.out}) == original


def test_there_is_an_ablation_of_every_other_objective() -> None:
    objectives = [load_recipe(TrainRecipe, path).objective for path in ABLATIONS]
    assert sorted(objectives) == sorted(set(OBJECTIVES) - {"selective"})


def test_lambda_goes_by_its_own_name() -> None:
    recipe = parse_recipe(TrainRecipe, NEEDED | {"lambda": 0.2}, "r")
    assert recipe.lambda_ == 0.2
    assert recipe.settings()["lambda"] == 0.2
    assert parse_recipe(TrainRecipe, recipe.model_dump(mode="json"), "r") == recipe


def test_off_without_quotes_is_off() -> None:
    assert parse_recipe(TrainRecipe, NEEDED | {"wandb": False}, "r").wandb == "off"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"batch": 6, "micro_batch": 4}, "batch=6 is not a multiple of micro_batch=4"),
        ({"batch": 8, "micro_batch": 2, "processes": 3}, r"batch=8 .* micro_batch=2 \* processes=3"),
        ({"learning_rat": 1}, "did you mean learning_rate"),
        ({"lamda": 1}, r"did you mean lambda\?"),
        ({"objective": "selektive"}, "objective: .*'selective'"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_mistakes_are_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_recipe(TrainRecipe, NEEDED | values, "r")


def test_all_mistakes_are_told_at_once_on_one_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "broken.yaml"
    recipe.write_text("model: m\nout: o\nlearning_rat: 1\nepochs: none\n")
    assert main([str(recipe), "batch=0"]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in ("data", "learning_rate", "epochs", "batch"))
    assert "Traceback" not in told
