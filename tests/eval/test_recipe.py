"""What an evaluation recipe refuses."""

from __future__ import annotations

from typing import Any

import pytest

from repoformer.config import parse_recipe
from repoformer.errors import UserError
from repoformer.eval.recipe import EvalRecipe

MODELS = [{"name": "base", "path": "pocket"}, {"name": "mine", "path": "runs/mine"}]


def problem(**changes: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse_recipe(EvalRecipe, {"data": "d", "out": "o", "models": MODELS} | changes, "r.yaml")
    return str(caught.value)


def test_two_models_of_one_name_are_refused() -> None:
    assert "r.yaml: models: two models are called base" in problem(models=[MODELS[0], MODELS[0] | {"name": "Base"}])


def test_a_name_that_is_no_file_name_is_refused() -> None:
    assert problem(models=[{"name": "../base", "path": "pocket"}]).startswith("r.yaml: models.0.name: ")


def test_a_control_that_is_not_evaluated_is_refused() -> None:
    assert "control: names none of models" in problem(control="fim-only")


def test_no_models_are_refused() -> None:
    assert problem(models=[]).startswith("r.yaml: models: ")


@pytest.mark.parametrize("name", ["", "function_"])
def test_windows_with_gaps_between_them_are_refused(name: str) -> None:
    message = problem(retrieve={f"{name}window": 10, f"{name}stride": 11})
    assert message.startswith(f"r.yaml: retrieve.{name}stride: must not exceed {name}window=10")


def test_functions_are_searched_for_with_larger_windows() -> None:
    recipe = parse_recipe(EvalRecipe, {"data": "d", "out": "o", "models": MODELS}, "r.yaml")
    assert recipe.retrieve.chunking("chunk") == recipe.retrieve.chunking("line") == (20, 10)
    assert recipe.retrieve.chunking("function") == (50, 25)
