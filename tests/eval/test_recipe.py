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


def test_thresholds_of_who_does_not_decide_are_refused() -> None:
    gated = MODELS[0] | {"gate": "mine", "thresholds": {"line": 0.2}}
    assert "base: its gate 'mine' decides; give that model the thresholds" in problem(models=[gated, MODELS[1]])
    served = {"url": "http://localhost/v1", "model": "m", "dialect": "starcoder", "tokenizer": "t"}
    entry = {"name": "served", "endpoint": served, "thresholds": {"line": 0.2}}
    assert "served: an endpoint takes no decision; leave thresholds out" in problem(models=[entry])


def test_an_empty_list_of_published_numbers_is_read_as_earlier_versions_wrote_it() -> None:
    values = {"data": "d", "out": "o", "models": MODELS, "published": []}
    assert parse_recipe(EvalRecipe, values, "run.json").published == {}
    assert problem(published=[{"model": "m"}]).startswith("r.yaml: published: ")


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
