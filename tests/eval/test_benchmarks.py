"""Public benchmarks through an evaluation: rows made up in the published formats, and genuine ones where they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from repoformer.code.records import Prediction, Score
from repoformer.code.storage import read_json, read_jsonl
from repoformer.errors import UserError
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.submission import submit
from repoformer.metrics.catalogue import METRICS, POSTPROCESSING

Make = Callable[..., EvalRecipe]
GENUINE = Path(__file__).resolve().parents[3] / "shared" / "data"
genuine = pytest.mark.skipif(
    not GENUINE.is_dir(), reason=f"no genuine benchmark records beside this checkout ({GENUINE})"
)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def statement_row(number: int, chunk: str = "def helper(x):\n    return x") -> dict[str, Any]:
    left = f"import os\nfirst_{number} = 1\nvalue = os."
    metadata = {"task_id": f"t/{number}", "repository": f"owner-r{number % 2}-abcdef0", "file": "a.py"}
    lines = {"context_start_lineno": 0, "groundtruth_start_lineno": 2, "right_context_start_lineno": 3}
    context = {"text": "", "list": [{"retrieved_chunk": chunk, "filename": "b.py", "score": 1.5}]}
    return {
        "prompt": left,
        "groundtruth": "getcwd()",
        "right_context": "\nlast_line = 2\n",
        "metadata": metadata | lines,
        "crossfile_context": context,
    }


@pytest.fixture
def statements(recipe_with: Make, tmp_path: Path) -> Callable[..., EvalRecipe]:
    """A recipe over CrossCodeEval rows."""

    def make(rows: list[dict[str, Any]], **changes: Any) -> EvalRecipe:
        path = write_rows(tmp_path / "line_completion_rg1_bm25.jsonl", rows)
        benchmark = {"name": "crosscodeeval-python", "data": str(path)}
        return recipe_with(data=None, benchmark=benchmark, latency_blanks=0, **changes)

    return make


def test_given_contexts_are_shown_and_everything_about_the_file_is_said(statements: Any) -> None:
    recipe = statements([statement_row(number) for number in range(4)])
    summary = runner.run(recipe)
    found = read_jsonl(Prediction, Path(recipe.out) / "predictions" / "deciding.jsonl")
    assert {one.context.chunks[0].chunk.path for one in found} == {"b.py"}
    source = summary["data"]["source"]
    assert (source["name"], source["variant"], source["version"]) == ("crosscodeeval-python", "rg1_bm25", 1)
    assert len(source["sha256"]) == 64
    page = (Path(recipe.out) / "report.html").read_text()
    assert all(part in page for part in (source["sha256"], "em_crosscodeeval", "not comparable with it"))


def test_the_benchmarks_metrics_are_means_of_both_sorts_after_its_own_cut(statements: Any) -> None:
    recipe = statements([statement_row(number) for number in range(5)])
    summary = runner.run(recipe)
    found = read_jsonl(Prediction, Path(recipe.out) / "predictions" / "plain.jsonl")
    (row,) = (
        row
        for row in summary["metrics"]
        if (row["model"], row["policy"], row["metric"]) == ("plain", "never", "es_crosscodeeval")
    )
    values: dict[str, list[float]] = {}
    for one in found:
        completion, target = POSTPROCESSING["first-statement"](one.blank, one.text_without)
        value = METRICS["es_crosscodeeval"](completion, target, "python")
        values.setdefault(one.blank.repository, []).append(value)
    everything = [value for group in values.values() for value in group]
    assert row["instances_mean"] == pytest.approx(sum(everything) / 5)
    assert row["repositories_mean"] == pytest.approx(sum(sum(v) / len(v) for v in values.values()) / 2)
    scores = read_jsonl(Score, Path(recipe.out) / "scores" / "plain.jsonl")
    assert scores[0].named[0].name == "em_crosscodeeval"


def test_a_given_context_that_holds_the_hole_stops_the_evaluation(statements: Any) -> None:
    copy = "first_0 = 1\nvalue = os.getcwd()\nlast_line = 2"
    with pytest.raises(UserError, match=r"breaks the leak rule: b\.py: comes from a copy of a\.py"):
        runner.run(statements([statement_row(0, copy)]))


def test_problems_without_an_answer_are_set_aside_and_counted(statements: Any) -> None:
    rows = [statement_row(number) for number in range(3)]
    rows[1]["groundtruth"] = ""
    summary = runner.run(statements(rows))
    assert (summary["data"]["blanks"], summary["data"]["source"]["set_aside"]) == (2, {"no answer": 1})


def test_a_truncated_file_gives_its_line(statements: Any) -> None:
    recipe = statements([statement_row(number) for number in range(3)])
    path = Path(recipe.benchmark.data)
    path.write_text(path.read_text()[:-200])
    with pytest.raises(UserError, match=r"line_completion_rg1_bm25\.jsonl:3: not a JSON record.*truncated"):
        runner.run(recipe)


def test_own_context_needs_the_repositories(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="name their folder under repositories"):
        recipe_with(data=None, benchmark={"name": "crosscodeeval-python", "data": "x", "context": "own"})


def test_blanks_come_from_one_place(recipe_with: Make) -> None:
    with pytest.raises(ValidationError, match="either data or benchmark"):
        recipe_with(benchmark={"name": "crosscodeeval-python", "data": "x"})


@pytest.fixture
def points(recipe_with: Make, tmp_path: Path, python_sources: list[str]) -> EvalRecipe:
    """Two competition points without answers, and their repository."""
    row = {"repo": "o/r", "revision": "f" * 40, "path": "a.py", "modified": ["a.py"], "suffix": "\n"}
    write_rows(tmp_path / "points.jsonl", [row | {"prefix": python_sources[0][:n], "id": str(n)} for n in (500, 300)])
    folder = tmp_path / "repositories" / f"o__r-{'f' * 40}"
    folder.mkdir(parents=True)
    (folder / "b.py").write_text(python_sources[1])
    benchmark = {"name": "ase2025-python", "data": str(tmp_path / "points.jsonl")}
    benchmark |= {"repositories": str(tmp_path / "repositories")}
    return recipe_with(data=None, benchmark=benchmark)


def test_a_submission_has_every_point_in_the_order_of_the_file(points: EvalRecipe, tmp_path: Path) -> None:
    assert submit(points, tmp_path / "out.jsonl") == 2
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert all(row["context"].startswith("<|file_sep|>b.py\n") for row in rows)


def test_points_without_answers_cannot_be_scored(points: EvalRecipe) -> None:
    with pytest.raises(UserError, match="eval submit"):
        runner.run(points)


@genuine
def test_genuine_java_statements_go_through(recipe_with: Make) -> None:
    data = GENUINE / "crosscodeeval/java/line_completion_oracle_bm25.jsonl"
    recipe = recipe_with(data=None, benchmark={"name": "crosscodeeval-java", "data": str(data)}, latency_blanks=0)
    summary = runner.run(recipe)
    assert summary["data"]["blanks"] == summary["data"]["query_holds_target"] == 3
    assert any("the answer in the query" in remark for remark in summary["remarks"])


@genuine
def test_functions_without_their_repositories_say_what_is_missing(recipe_with: Make) -> None:
    data = GENUINE / "repoeval/function_level_completion_2k_context_codex.test.jsonl"
    benchmark = {"name": "repoeval-function", "data": str(data)}
    summary = runner.run(recipe_with(data=None, benchmark=benchmark, limit=4, latency_blanks=0))
    assert summary["data"]["nothing_retrieved"] == 4
    assert any("no right context" in remark for remark in summary["remarks"])
    assert read_json(Path(recipe_with().out) / "summary.json")["data"]["source"]["mean"] == "repositories"
