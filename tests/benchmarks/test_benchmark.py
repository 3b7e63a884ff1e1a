"""What holds for every benchmark: its description is complete, its file is found or explained, its ids are unique."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repoformer.benchmarks.benchmark import BENCHMARKS, benchmark
from repoformer.errors import UserError
from repoformer.metrics.catalogue import METRICS, POSTPROCESSING

NAMES = BENCHMARKS.names()


def crosscodeeval_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    metadata = {
        "task_id": f"project_cc_python/{number}",
        "repository": "owner-name-0123abc",
        "file": "pkg/a.py",
        "context_start_lineno": 0,
        "groundtruth_start_lineno": 1,
        "right_context_start_lineno": 2,
    }
    row = {"prompt": "import b\nx = b.", "groundtruth": "f(1)", "right_context": "\ny = 2\n", "metadata": metadata}
    return row | changes


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_is_called_what_it_is_registered_as(name: str) -> None:
    assert benchmark(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_its_metrics_and_post_processing_exist(name: str) -> None:
    described = benchmark(name)
    assert set(described.metrics) <= METRICS.keys()
    assert described.postprocessing in POSTPROCESSING


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_named_with_its_source_and_licence(name: str, tmp_path: Path) -> None:
    described = benchmark(name)
    for variant, file in described.files.items():
        with pytest.raises(UserError) as caught:
            described.load(tmp_path, variant=variant)
        message = str(caught.value)
        assert all(part in message for part in (file, described.source, described.licence))


def test_two_variants_are_never_read_from_one_file() -> None:
    files = [file for name in NAMES for file in benchmark(name).files.values()]
    assert len(files) == len(set(files))


def test_an_unknown_variant_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no variant '8k'; there are 2k_codex, 4k_codex"):
        benchmark("repoeval-function").load(tmp_path, variant="8k")


def test_a_file_by_itself_says_by_its_name_which_variant_it_is(tmp_path: Path) -> None:
    oracle = write(tmp_path / "line_completion_oracle_bm25.jsonl", [crosscodeeval_row()])
    mine = write(tmp_path / "mine.jsonl", [crosscodeeval_row()])
    assert benchmark("crosscodeeval-python").load(oracle).variant == "oracle_bm25"
    assert benchmark("crosscodeeval-python").load(mine).variant == "mine.jsonl"


def test_a_second_problem_with_an_official_id_is_refused_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.jsonl", [crosscodeeval_row(1), crosscodeeval_row(2), crosscodeeval_row(1)])
    with pytest.raises(UserError, match=r"twice.jsonl:3: a second problem with the id project_cc_python/1"):
        benchmark("crosscodeeval-python").load(path)


def test_a_file_of_another_benchmark_is_refused_by_line_and_field(tmp_path: Path) -> None:
    path = write(tmp_path / "cceval.jsonl", [crosscodeeval_row()])
    with pytest.raises(UserError, match=r"cceval.jsonl:1: no field metadata.fpath_tuple; is this file of another"):
        benchmark("repoeval-line").load(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no problem of crosscodeeval-python can be used .it is empty"):
        benchmark("crosscodeeval-python").load(write(tmp_path / "empty.jsonl", []))


def test_a_part_of_a_benchmark_is_not_taken_for_it(tmp_path: Path) -> None:
    path = write(tmp_path / "part.jsonl", [crosscodeeval_row()])
    (note,) = benchmark("crosscodeeval-python").load(path).notes
    assert note.startswith("1 problems where the full benchmark has 2665")


def test_when_every_problem_is_set_aside_the_reason_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / "row.jsonl", [crosscodeeval_row()])
    with pytest.raises(UserError, match="all set aside: no folder owner-name-0123abc among the repositories"):
        benchmark("crosscodeeval-python").load(path, repositories=tmp_path)


def test_a_folder_of_repositories_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "row.jsonl", [crosscodeeval_row()])
    with pytest.raises(UserError, match="no such folder; give the one that holds the benchmark's repositories"):
        benchmark("crosscodeeval-python").load(path, repositories=tmp_path / "nowhere")


def test_no_path_of_a_row_leads_out_of_its_repository(tmp_path: Path) -> None:
    outside = crosscodeeval_row()
    outside["metadata"]["file"] = "../secret.py"
    (tmp_path / "owner-name-0123abc").mkdir()
    (tmp_path / "secret.py").write_text("import b\nx = b.f(1)\ny = 2\n")
    path = write(tmp_path / "row.jsonl", [outside])
    with pytest.raises(UserError, match="its path leads out of its repository"):
        benchmark("crosscodeeval-python").load(path, repositories=tmp_path)
