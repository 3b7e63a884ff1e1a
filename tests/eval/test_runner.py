"""An evaluation from data and models on disk to its report, stopped and gone on with in every way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Prediction, Score
from repoformer.code.storage import read_json, read_jsonl
from repoformer.errors import UserError
from repoformer.eval import generators, retrieve, runner
from repoformer.eval.policies import POLICIES
from repoformer.eval.recipe import EvalRecipe

Make = Callable[..., EvalRecipe]


def predictions(recipe: EvalRecipe, model: str) -> list[Prediction]:
    return read_jsonl(Prediction, Path(recipe.out) / "predictions" / f"{model}.jsonl")


def no_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(generators, "load_model", refuse)


def texts(found: list[Prediction]) -> list[tuple[str, str, str, float | None]]:
    return [(one.blank.id, one.text_without, one.text_with, one.p_retrieve) for one in found]


def test_a_run_leaves_predictions_scores_and_report(finished_run: EvalRecipe) -> None:
    out = Path(finished_run.out)
    for model in ("plain", "deciding"):
        assert len(predictions(finished_run, model)) == 12
        assert len(read_jsonl(Score, out / "scores" / f"{model}.jsonl")) == 12
    assert (out / "report.html").stat().st_size > 0


def test_every_model_has_the_rows_that_it_can_have(finished_run: EvalRecipe) -> None:
    rows = read_json(Path(finished_run.out) / "summary.json")["rows"]
    assert {row["policy"] for row in rows if row["model"] == "plain"} == {"never", "always", "oracle"}
    assert {row["policy"] for row in rows if row["model"] == "deciding"} == {*POLICIES} - {"estimator", "select"}
    assert {row["scope"] for row in rows} == {"all", "chunk", "function"}


def test_only_held_out_repositories_are_evaluated(finished_run: EvalRecipe) -> None:
    assert {one.blank.repository for one in predictions(finished_run, "plain")} == {"repo0", "repo1", "repo2"}


def test_seconds_are_measured_on_as_many_blanks_as_asked(finished_run: EvalRecipe) -> None:
    summary = read_json(Path(finished_run.out) / "summary.json")
    assert {row["seconds_n"] for row in summary["rows"] if row["scope"] == "all"} == {3}
    assert all(model["seconds"]["decide"]["mean"] > 0 for model in summary["models"])


def test_no_query_holds_the_target(finished_run: EvalRecipe) -> None:
    assert not any(one.context.query_holds_target for one in predictions(finished_run, "plain"))


def test_a_second_run_generates_nothing_and_finds_the_same(
    finished: EvalRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_json(Path(finished.out) / "summary.json")
    no_generation(monkeypatch)
    assert runner.run(finished) | {"provenance": None} == first | {"provenance": None}


def test_a_run_killed_in_the_middle_of_a_line_ends_like_one_that_was_not(finished: EvalRecipe) -> None:
    whole = predictions(finished, "deciding")
    path = Path(finished.out) / "predictions" / "deciding.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:200])
    runner.run(finished)
    assert texts(predictions(finished, "deciding")) == texts(whole)


def test_a_raised_limit_goes_on_from_the_smaller_one(recipe_with: Make) -> None:
    small = runner.run(recipe_with(limit=4))
    before = predictions(recipe_with(), "plain")
    assert len(before) == 4
    assert small["data"]["partial"]
    large = runner.run(recipe_with())
    assert predictions(recipe_with(), "plain")[:4] == before
    assert not large["data"]["partial"]


def test_a_lowered_limit_reports_on_its_blanks_alone(finished: EvalRecipe, monkeypatch: pytest.MonkeyPatch) -> None:
    no_generation(monkeypatch)
    assert runner.run(finished.model_copy(update={"limit": 4}))["data"]["blanks"] == 4


@pytest.fixture
def own_model(model_folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the deciding model, to change."""
    return shutil.copytree(model_folders["selective"], tmp_path / "model")


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_predictions_of_another_model_are_set_aside(
    recipe_with: Make, own_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_with(models=[{"name": "m", "path": str(own_model)}], control=None, limit=2)
    runner.run(recipe)
    before = predictions(recipe, "m")
    change_json(own_model / "config.json", summary_first_dropout=0.5)
    runner.run(recipe)
    assert "m.jsonl: made with other model" in capsys.readouterr().err
    (aside,) = (Path(recipe.out) / "predictions").glob("m.stale-*.jsonl")
    assert read_jsonl(Prediction, aside) == before
    assert len(predictions(recipe, "m")) == 2


def test_predictions_in_other_batches_are_set_aside(
    recipe_with: Make, own_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_with(models=[{"name": "m", "path": str(own_model)}], control=None, limit=2)
    runner.run(recipe)
    runner.run(recipe.model_copy(update={"batch": recipe.batch + 1}))
    assert "m.jsonl: made with other batch;" in capsys.readouterr().err


def test_new_thresholds_need_no_new_completions(
    recipe_with: Make, own_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_with(models=[{"name": "m", "path": str(own_model)}], control=None, limit=4)
    runner.run(recipe)
    change_json(own_model / "repoformer.json", thresholds={"chunk": 1.0, "function": 1.0})
    no_generation(monkeypatch)
    rows = runner.run(recipe)["rows"]
    assert [row["share_retrieved"] for row in rows if row["policy"] == "threshold"] == [0, 0, 0]


def test_rescoring_needs_neither_models_nor_data(finished: EvalRecipe) -> None:
    models = [entry.model_copy(update={"path": "/nowhere"}) for entry in finished.models]
    first = read_json(Path(finished.out) / "summary.json")
    second = runner.rescore(finished.model_copy(update={"models": models, "data": "/nowhere"}))
    assert second["rows"] == first["rows"]


def test_rescoring_an_unfinished_run_is_refused(finished: EvalRecipe) -> None:
    path = Path(finished.out) / "predictions" / "plain.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError, match=r"plain\.jsonl: 1 of 12 blanks have no prediction"):
        runner.rescore(finished)


def test_a_missing_model_is_found_before_any_work(recipe_with: Make) -> None:
    recipe = recipe_with(models=[{"name": "m", "path": "/nowhere/at all"}], control=None)
    with pytest.raises(UserError, match="/nowhere/at all"):
        runner.run(recipe)
    assert not Path(recipe.out).exists()


def test_a_folder_that_holds_no_model_is_found_before_any_work(recipe_with: Make, tmp_path: Path) -> None:
    recipe = recipe_with(models=[{"name": "m", "path": str(tmp_path)}], control=None)
    with pytest.raises(UserError, match=r"no config\.json in this folder"):
        runner.run(recipe)
    assert not Path(recipe.out).exists()


def test_missing_data_are_found_before_any_work(recipe_with: Make) -> None:
    recipe = recipe_with(data="/nowhere/at all")
    with pytest.raises(UserError, match=r"/nowhere/at all/split\.json"):
        runner.run(recipe)
    assert not Path(recipe.out).exists()


def test_a_hole_in_its_own_context_stops_the_evaluation(recipe_with: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieve, "leaks", lambda *arguments: ["pkg/m0.py:1-20: holds the blank"])
    recipe = recipe_with()
    with pytest.raises(UserError, match="breaks the leak rule: pkg/m0.py:1-20: holds the blank"):
        runner.run(recipe)
    assert not (Path(recipe.out) / "predictions").exists()


def test_notes_stand_in_summary_and_report(recipe_with: Make) -> None:
    recipe = recipe_with(limit=2)
    summary = runner.run(recipe, notes=["These numbers only show that the path works."])
    assert summary["notes"] == ["These numbers only show that the path works."]
    assert "only show that the path works" in (Path(recipe.out) / "report.html").read_text()
