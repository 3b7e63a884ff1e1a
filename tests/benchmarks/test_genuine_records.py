"""The readers on genuine records, where a checkout has them beside it (``../shared/data``): nothing of them is ours."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from repoformer.benchmarks.benchmark import Problem, Problems, benchmark
from repoformer.benchmarks.crosscodeeval import official_context
from repoformer.benchmarks.rows import Row
from repoformer.metrics.catalogue import METRICS, POSTPROCESSING
from repoformer.prompt.cross_file import cross_file_text

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no genuine benchmark records beside this checkout ({DATA})")

FILES = {
    "repoeval-function": ("repoeval/function_level_completion_2k_context_codex.test.jsonl", 141),
    "crosscodeeval-java": ("crosscodeeval/java/line_completion_oracle_bm25.jsonl", 3),
    "crosscodeeval-python": ("crosscodeeval/python/line_completion.jsonl", 36),
    "crosscodelongeval-chunk": ("crosscodelongeval/chunk.jsonl", 1),
    "crosscodelongeval-function": ("crosscodelongeval/function.jsonl", 1),
    "ase2025-python": ("ase2025/python-practice.jsonl", 8),
}


def load(name: str) -> Problems:
    return benchmark(name).load(DATA / FILES[name][0])


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / FILES[name][0]).read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("name", FILES)
def test_every_record_loads(name: str) -> None:
    found = load(name)
    assert (len(found.problems), found.set_aside) == (FILES[name][1], {})


@pytest.mark.parametrize("name", FILES)
def test_ids_are_unique(name: str) -> None:
    ids = [problem.blank.id for problem in load(name).problems]
    assert len(ids) == len(set(ids))


def test_the_competitions_first_point_loads() -> None:
    assert len(benchmark("ase2025-python").load(DATA / "ase2025", variant="start").problems) == 1


def whole(problem: Problem) -> bool:
    blank = problem.blank
    return blank.left[-1:] in ("", "\n") and blank.right[:1] in ("", "\n")


@pytest.mark.parametrize("name", [name for name in FILES if benchmark(name).whole_lines])
def test_benchmarks_of_whole_lines_keep_the_rule(name: str) -> None:
    problems = load(name).problems
    assert all(whole(problem) for problem in problems)
    assert all(problem.blank.end - problem.blank.start == problem.blank.target.count("\n") + 1 for problem in problems)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("crosscode")])
def test_the_three_parts_are_the_rows_text_again(name: str) -> None:
    for row, problem in zip(rows(name), load(name).problems, strict=True):
        blank = problem.blank
        given = f"{row['prompt']}{row['groundtruth']}{row['right_context']}"
        assert blank.left + blank.target + blank.right == given


@pytest.mark.parametrize("name", ["crosscodeeval-java", "crosscodeeval-python"])
def test_the_rows_line_numbers_are_those_of_their_text(name: str) -> None:
    for row, problem in zip(rows(name), load(name).problems, strict=True):
        metadata = row["metadata"]
        assert isinstance(metadata, dict)
        blank = problem.blank
        stated = metadata["groundtruth_start_lineno"], metadata["right_context_start_lineno"]
        assert (blank.start, blank.end) == stated
        assert blank.start == blank.left.count("\n")


@pytest.mark.parametrize("name", ["crosscodelongeval-chunk", "crosscodelongeval-function"])
def test_a_task_ids_lines_are_those_of_the_text(name: str) -> None:
    (problem,) = load(name).problems
    assert problem.blank.start == problem.blank.left.count("\n")


@pytest.mark.parametrize("name", ["crosscodeeval-python", "crosscodelongeval-function"])
def test_the_three_parts_are_a_python_file(name: str) -> None:
    for problem in load(name).problems:
        ast.parse(problem.blank.left + problem.blank.target + problem.blank.right)


def test_uncropped_prompts_hold_every_line_before_the_function() -> None:
    uncropped = [
        problem.blank
        for row, problem in zip(rows("repoeval-function"), load("repoeval-function").problems, strict=True)
        if row["metadata"]["context_start_lineno"] == 0  # type: ignore[index]
    ]
    assert len(uncropped) > 50
    assert all(blank.start == blank.left.count("\n") for blank in uncropped)


def test_official_contexts_render_to_their_own_text() -> None:
    for values, problem in zip(rows("crosscodeeval-java"), load("crosscodeeval-java").problems, strict=True):
        context = official_context(Row("row", values), problem.blank, "oracle_bm25")
        assert context == problem.context
        assert context is not None
        assert cross_file_text([ranked.chunk for ranked in context.chunks], "//") == values["crossfile_context"]["text"]  # type: ignore[index]


@pytest.mark.parametrize("name", ["repoeval-function", "crosscodeeval-java", "crosscodeeval-python"])
def test_a_perfect_model_that_writes_on_scores_one(name: str) -> None:
    described = benchmark(name)
    for problem in load(name).problems[:40]:
        output = f"{problem.blank.target}{problem.blank.right or chr(10)}"
        completion, target = POSTPROCESSING[described.postprocessing](problem.blank, output)
        scores = {metric: METRICS[metric](completion, target, described.language) for metric in described.metrics}
        # A target without identifiers has an F1 of 0 by definition.
        assert {metric for metric, score in scores.items() if score != pytest.approx(1)} <= {"identifier_f1"}
