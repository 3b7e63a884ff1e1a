"""The context collection competition: points become blanks, contexts become a valid submission or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repoformer.benchmarks.ase2025 import SubmittedPoint, submitted_context, write_submission
from repoformer.benchmarks.benchmark import Problems, benchmark
from repoformer.code.records import Chunk
from repoformer.errors import UserError

REVISION = "0a0c47d61b2df7885182cbf5f0882a076f98fe3c"


def row(**changes: Any) -> dict[str, Any]:
    point = {"repo": "owner/name", "revision": REVISION, "path": "pkg/a.py", "modified": ["pkg/a.py"]}
    return point | {"prefix": "def f(x):\n    return ", "suffix": "\n"} | changes


def load(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Problems:
    (folder / "python-practice.jsonl").write_text("".join(json.dumps(values) + "\n" for values in rows))
    return benchmark("ase2025-python").load(folder, variant="practice", **options)


def test_a_point_without_an_answer_can_be_submitted_but_not_scored(tmp_path: Path) -> None:
    found = load(tmp_path, [row(), row(middle="x")])
    assert [problem.blank.target for problem in found.problems] == ["", "x"]
    assert found.notes == ("1 of 2 problems come without their answer and cannot be scored",)


def test_points_without_ids_of_their_own_get_unique_ones(tmp_path: Path) -> None:
    ids = [problem.blank.id for problem in load(tmp_path, [row(), row(), row(id="54fead")]).problems]
    assert ids == ["owner/name@0a0c47d/pkg/a.py", "owner/name@0a0c47d/pkg/a.py#2", "54fead"]


def test_revisions_are_one_repository_in_several_folders(tmp_path: Path) -> None:
    found = load(tmp_path, [row(), row(revision="f" * 40)])
    assert {problem.blank.repository for problem in found.problems} == {"owner/name"}
    folders = [benchmark("ase2025-python").folder(problem.blank) for problem in found.problems]
    assert folders == [f"owner__name-{REVISION}", f"owner__name-{'f' * 40}"]


def test_the_stale_file_need_not_hold_the_prefix_but_the_folder_must_be_there(tmp_path: Path) -> None:
    (tmp_path / f"owner__name-{REVISION}").mkdir()
    found = load(tmp_path, [row(), row(revision="f" * 40)], repositories=tmp_path)
    assert len(found.problems) == 1
    assert found.set_aside == {f"no folder owner__name-{'f' * 40} among the repositories": 1}


def test_the_best_chunk_stands_last_where_nothing_is_cut() -> None:
    chunks = [Chunk("best.py", 0, 1, "b = 1"), Chunk("good.py", 4, 6, "g = 1\ng = 2")]
    assert submitted_context(chunks) == "<|file_sep|>good.py\ng = 1\ng = 2\n<|file_sep|>best.py\nb = 1\n"


def test_a_submission_has_a_row_for_every_point_in_order(tmp_path: Path) -> None:
    problems = load(tmp_path, [row(id="b"), row(id="a")]).problems
    points = {"a": SubmittedPoint("of a", suffix=""), "b": SubmittedPoint("of b é")}
    write_submission(tmp_path / "out.jsonl", problems, points)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [{"context": "of b é"}, {"context": "of a", "suffix": ""}]


def test_a_submission_that_lacks_a_point_is_not_written(tmp_path: Path) -> None:
    problems = load(tmp_path, [row(id="b"), row(id="a")]).problems
    with pytest.raises(UserError, match="nothing to submit for 1 of 2 points, the first is a"):
        write_submission(tmp_path / "out.jsonl", problems, {"b": SubmittedPoint("")})
    assert not (tmp_path / "out.jsonl").exists()
