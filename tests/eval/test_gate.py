"""The decision of one model before the completion of another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from repoformer.code.records import Prediction, Score
from repoformer.code.storage import read_json, read_jsonl
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe

Make = Callable[..., EvalRecipe]


@pytest.fixture(scope="module")
def gated(recipe_values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> EvalRecipe:
    """The model that takes no decision behind the one that does."""
    plain, deciding = recipe_values["models"]
    values = {"models": [plain | {"gate": "deciding"}, deciding], "out": str(tmp_path_factory.mktemp("gated"))}
    recipe = EvalRecipe.model_validate(recipe_values | values)
    runner.run(recipe)
    return recipe


def records(recipe: EvalRecipe, folder: str, model: str, cls: Any) -> dict[str, Any]:
    found = read_jsonl(cls, Path(recipe.out) / folder / f"{model}.jsonl")
    return {one.blank.id if isinstance(one, Prediction) else one.id: one for one in found}


def test_the_gate_decides_and_the_other_completes(gated: EvalRecipe) -> None:
    summary = read_json(Path(gated.out) / "summary.json")
    scores = records(gated, "scores", "plain", Score)
    decided = records(gated, "predictions", "deciding", Prediction)
    (row,) = (r for r in summary["rows"] if (r["model"], r["policy"], r["scope"]) == ("plain", "greedy", "all"))
    expected = [one.es_with if decided[id].greedy else one.es_without for id, one in scores.items()]
    assert row["es"] == pytest.approx(sum(expected) / len(expected))
    assert row["share_retrieved"] == sum(bool(one.greedy) for one in decided.values()) / len(decided)


def test_the_gates_seconds_come_on_top(gated: EvalRecipe) -> None:
    summary = read_json(Path(gated.out) / "summary.json")
    own, gate = (records(gated, "predictions", model, Prediction) for model in ("plain", "deciding"))
    timed = [id for id, one in own.items() if one.decide_seconds is not None]
    (model,) = (one for one in summary["models"] if one["name"] == "plain")
    both = [own[id].decide_seconds + gate[id].decide_seconds for id in timed]
    assert model["seconds"]["decide"]["mean"] == pytest.approx(sum(both) / len(both))
    assert (model["gate"], model["decides"]) == ("deciding", True)


def test_thresholds_are_the_gates(gated: EvalRecipe) -> None:
    models = {one["name"]: one for one in read_json(Path(gated.out) / "summary.json")["models"]}
    assert models["plain"]["thresholds"] == models["deciding"]["thresholds"]


def test_a_gate_that_is_no_model_is_refused(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="its gate 'nobody' is no model"):
        recipe_with(models=[{"name": "m", "path": "p", "gate": "nobody"}], control=None)


def test_a_model_is_either_here_or_behind_an_endpoint(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="name either path or endpoint"):
        recipe_with(models=[{"name": "m"}], control=None)
