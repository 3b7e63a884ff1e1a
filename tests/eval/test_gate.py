"""The decision of one model before the completion of another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from repoformer.code.records import Prediction, Score
from repoformer.code.storage import read_json, read_jsonl, write_json, write_jsonl
from repoformer.eval import runner
from repoformer.eval.execute.bodies import arms
from repoformer.eval.execute.execution import body_hash
from repoformer.eval.execute.pass_rate import UnitTests, unit_tests_path
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.signals import signal_quality
from repoformer.eval.table import mean_seconds

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


def test_the_gates_seconds_are_told_apart(gated: EvalRecipe) -> None:
    summary = read_json(Path(gated.out) / "summary.json")
    own, gate = (records(gated, "predictions", model, Prediction) for model in ("plain", "deciding"))
    timed = [id for id, one in own.items() if one.decide_seconds is not None]
    (model,) = (one for one in summary["models"] if one["name"] == "plain")
    for part, made in (("decide", own), ("gate", gate)):
        assert model["seconds"][part]["mean"] == pytest.approx(fmean(made[id].decide_seconds for id in timed))
    assert (model["gate"], model["decides"]) == ("deciding", True)


def test_who_does_not_ask_the_gate_does_not_wait_for_it(gated: EvalRecipe) -> None:
    own, gate = (records(gated, "predictions", model, Prediction) for model in ("plain", "deciding"))
    timed = [one for one in own.values() if one.decide_seconds is not None]
    always = fmean(one.decide_seconds + one.retrieve_seconds + one.generate_with_seconds for one in timed)
    never = fmean(one.decide_seconds + one.generate_without_seconds for one in timed)
    waited = fmean(gate[one.blank.id].decide_seconds for one in timed)
    _, models = runner.evaluated(gated)
    plain = next(model for model in models if model.name == "plain")
    seconds = {policy: mean_seconds(plain.arm(policy, "all")) for policy in plain.policies}
    assert seconds["always"] == pytest.approx(always)
    assert seconds["never"] == pytest.approx(never)
    free = mean_seconds(replace(plain.arm("threshold", "all"), trial="none"))
    assert seconds["threshold"] == pytest.approx(free + waited)
    for policy in set(seconds) - {"greedy", "threshold"}:
        ungated = replace(plain, gate=None).outcomes.seconds(plain.policies[policy], plain.arm(policy, "all").trial)
        assert seconds[policy] == pytest.approx(np.nanmean(ungated))
    sweep = {name: found["sweep"] for name, found in signal_quality(plain.outcomes, plain.signals).items()}
    assert sweep["P(<cc>)"][0]["seconds"] == pytest.approx(always + waited)
    assert sweep["trial-retrieval"][0]["seconds"] == pytest.approx(always)


def test_the_gate_decides_for_unit_tests_too(gated: EvalRecipe, tmp_path: Path) -> None:
    shutil.copytree(gated.out, tmp_path / "out")
    recipe = gated.model_copy(update={"out": str(tmp_path / "out")})
    own, gate = (records(recipe, "predictions", model, Prediction) for model in ("plain", "deciding"))
    functions = [one for one in own.values() if one.blank.kind == "function"]
    verdicts = [
        UnitTests(one.blank.id, one.blank.repository, 0.0, 1.0, "failed", "passed", *map(body_hash, arms(one)))
        for one in functions
    ]
    write_jsonl(unit_tests_path(Path(recipe.out), "plain"), verdicts)
    found = {"partial": False, "judged": len(verdicts), "left_out": {}, "repositories": {}, "models": {}}
    write_json(Path(recipe.out) / "unit_tests.json", found)
    asked = fmean(bool(gate[one.blank.id].greedy) for one in functions)
    rates = runner.report(recipe)["unit_tests"]["models"]["plain"]["policies"]["greedy"]
    assert (rates["pass_rate"], rates["share_with_context"]) == (pytest.approx(asked), pytest.approx(asked))


def test_thresholds_are_the_gates(gated: EvalRecipe) -> None:
    models = {one["name"]: one for one in read_json(Path(gated.out) / "summary.json")["models"]}
    assert models["plain"]["thresholds"] == models["deciding"]["thresholds"]


def test_a_gate_that_is_no_model_is_refused(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="its gate 'nobody' is no model"):
        recipe_with(models=[{"name": "m", "path": "p", "gate": "nobody"}], control=None)


def test_a_model_is_either_here_or_behind_an_endpoint(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="name either path or endpoint"):
        recipe_with(models=[{"name": "m"}], control=None)
