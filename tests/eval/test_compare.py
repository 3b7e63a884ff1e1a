"""Two evaluations, paired over the blanks of both."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from repoformer.cli import main
from repoformer.code.records import Prediction, Score
from repoformer.code.storage import read_json, read_jsonl, write_json, write_jsonl
from repoformer.errors import UserError
from repoformer.eval.compare import compare, write
from repoformer.eval.execute.bodies import arms
from repoformer.eval.execute.execution import body_hash
from repoformer.eval.execute.pass_rate import UnitTests
from repoformer.eval.recipe import EvalRecipe


@pytest.fixture
def other(finished: EvalRecipe, tmp_path: Path) -> Path:
    """A second run over the same blanks whose completions with context are all exact."""
    folder = tmp_path / "other"
    shutil.copytree(finished.out, folder)
    for path in (folder / "scores").glob("*.jsonl"):
        write_jsonl(path, [replace(score, em_with=1.0, es_with=1.0) for score in read_jsonl(Score, path)])
    return folder


def rows(comparison: dict, policy: str, metric: str = "ES", scope: str = "all", model: str = "plain") -> dict:
    (row,) = [
        row
        for row in comparison["rows"]
        if (row["policy"], row["metric"], row["scope"], row["model_a"]) == (policy, metric, scope, model)
    ]
    return row


def test_a_run_does_not_differ_from_itself(finished: EvalRecipe) -> None:
    comparison = compare(Path(finished.out), Path(finished.out), resamples=100)
    assert comparison["shared"] == 12
    assert comparison["settings"] == []
    assert {row["difference"]["mean"] for row in comparison["rows"]} == {0.0}
    assert {row["better"] + row["worse"] for row in comparison["rows"]} == {0}
    assert comparison["examples"] == []


def test_differences_are_paired_means_of_the_scores(finished: EvalRecipe, other: Path) -> None:
    comparison = compare(Path(finished.out), other, resamples=100)
    scores = read_jsonl(Score, Path(finished.out) / "scores/plain.jsonl")
    always, never = rows(comparison, "always"), rows(comparison, "never")
    assert always["difference"]["mean"] == pytest.approx(np.mean([1 - score.es_with for score in scores]))
    assert always["b"] == 1.0
    assert always["better"] == sum(score.es_with < 1 for score in scores)
    assert never["difference"]["mean"] == 0.0


def test_only_blanks_of_both_count(finished: EvalRecipe, other: Path) -> None:
    kept = read_jsonl(Prediction, other / "predictions/plain.jsonl")[:5]
    ids = {prediction.blank.id for prediction in kept}
    meta = read_json(other / "contexts.meta.json")
    meta["facts"]["blanks"] = [id for id in meta["facts"]["blanks"] if id in ids]
    write_json(other / "contexts.meta.json", meta)
    comparison = compare(Path(finished.out), other, resamples=100)
    assert (comparison["shared"], comparison["only_a"], comparison["only_b"]) == (5, 7, 0)
    assert rows(comparison, "always")["n"] == 5
    assert "5 blanks are shared and compared; 7 are only in A and 0 only in B." in comparison["remarks"]


def test_verdicts_of_unit_tests_are_compared_where_both_have_them(finished: EvalRecipe, other: Path) -> None:
    functions = [score for score in read_jsonl(Score, other / "scores/plain.jsonl") if score.kind == "function"]
    for folder, passed in ((Path(finished.out), 0.0), (other, 1.0)):
        made = {one.blank.id: one for one in read_jsonl(Prediction, folder / "predictions/plain.jsonl")}
        bodies = {id: tuple(map(body_hash, arms(one))) for id, one in made.items()}
        verdicts = [UnitTests(s.id, s.repository, passed, passed, "", "", *bodies[s.id]) for s in functions[:2]]
        write_jsonl(folder / "scores/plain.unit-tests.jsonl", verdicts)
    row = rows(compare(Path(finished.out), other, resamples=100), "never", "unit tests")
    assert (row["n"], row["a"], row["b"], row["difference"]["mean"]) == (2, 0.0, 1.0, 1.0)


def test_what_else_differs_is_named(finished: EvalRecipe, other: Path) -> None:
    record = read_json(other / "run.json")
    record["config"]["retrieve"]["top"] = 3
    write_json(other / "run.json", record)
    comparison = compare(Path(finished.out), other, resamples=100)
    assert comparison["settings"] == [{"key": "retrieve.top", "a": 10, "b": 3}]
    assert any("saw different contexts: retrieve.top" in remark for remark in comparison["remarks"])


def test_models_of_other_names_are_paired_on_request(finished: EvalRecipe, other: Path) -> None:
    comparison = compare(Path(finished.out), other, {"plain": "deciding"}, resamples=100)
    assert {(row["model_a"], row["model_b"]) for row in comparison["rows"]} == {("plain", "deciding")}
    with pytest.raises(UserError, match="no model plane; it has plain, deciding"):
        compare(Path(finished.out), other, {"plane": "plain"})


def test_runs_over_other_blanks_do_not_compare(finished: EvalRecipe, other: Path) -> None:
    path = other / "contexts.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["blank"]["target"] += "# other"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UserError, match="no blank in common"):
        compare(Path(finished.out), other)


def test_the_page_says_which_is_better_and_shows_text_as_text(
    finished: EvalRecipe, other: Path, tmp_path: Path
) -> None:
    comparison = compare(Path(finished.out), other, resamples=100)
    comparison["examples"][0]["b"] = "<script>alert(1)</script>"
    write(comparison, tmp_path / "page")
    page = (tmp_path / "page/comparison.html").read_text()
    assert "they differ" in page
    assert "<script>alert" not in page
    assert read_json(tmp_path / "page/comparison.json") == json.loads(json.dumps(comparison))


def test_the_command_says_where_the_page_is(
    finished: EvalRecipe, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "compare", finished.out, str(other)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"comparison: {other}/comparison/comparison.html"
