"""RepoEval: what the rows leave off is put back, from line numbers or from the repository, and ids are our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repoformer.benchmarks.benchmark import Problems, benchmark

FILE = "import os\n\n\ndef one(a,\n        b):\n\n    x = a\n\n    return x\n\n\nprint(one)\n"
lines = st.lists(st.sampled_from(["", "    x = 1", "y = é", "pass", "\tz"]), min_size=2, max_size=12)


def row(
    text: str, start: int, end: int, *, cropped: int = 0, key: str = "lineno", newline: str = "\n"
) -> dict[str, Any]:
    """A row as the benchmark's builder makes it: the prompt without the newline at its end, cropped by characters."""
    before, hole = text.splitlines()[:start], text.splitlines()[start:end]
    prompt = "\n".join(before)[cropped:]
    return {
        "prompt": "\n".join(prompt.splitlines()),
        "metadata": {
            "task_id": "owner--name/idx",
            "ground_truth": "\n".join(hole) + newline,
            "fpath_tuple": ["owner_name", "pkg", "a.py"],
            "context_start_lineno": start - (prompt.count("\n") + 1),
            key: start,
        },
    }


def load(folder: Path, rows: list[dict[str, Any]], level: str = "function", repository: str | None = None) -> Problems:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(values) + "\n" for values in rows))
    if repository is None:
        return benchmark(f"repoeval-{level}").load(path)
    file = folder / "repositories" / "owner_name" / "pkg" / "a.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(repository)
    return benchmark(f"repoeval-{level}").load(path, repositories=folder / "repositories")


def test_without_the_repository_the_right_context_is_empty_and_that_is_said(tmp_path: Path) -> None:
    found = load(tmp_path, [row(FILE, 6, 9)])
    (problem,) = found.problems
    assert problem.blank.right == ""
    assert any("no right context" in note for note in found.notes)


def test_newlines_between_prompt_and_body_are_put_back(tmp_path: Path) -> None:
    (problem,) = load(tmp_path, [row(FILE, 6, 9)]).problems
    assert problem.blank.left == "import os\n\n\ndef one(a,\n        b):\n\n"
    assert problem.blank.target == "    x = a\n\n    return x"


def test_a_hole_on_the_first_line_has_no_left_context(tmp_path: Path) -> None:
    values = row("x = 1\ny = 2\n", 0, 1, key="line_no", newline="")
    values["metadata"]["context_start_lineno"] = 0
    (problem,) = load(tmp_path, [values], "line").problems
    assert (problem.blank.left, problem.blank.target) == ("", "x = 1")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(lines, st.data(), st.booleans())
def test_with_the_repository_the_three_parts_are_the_file_on_whole_lines(
    tmp_path: Path, body: list[str], data: st.DataObject, ends: bool
) -> None:
    text = "\n".join([*body, "last"]) + "\n" * ends
    start = data.draw(st.integers(1, len(body) - 1))
    end = data.draw(st.integers(start + 1, len(body) + 1))
    cropped = data.draw(st.integers(0, len("\n".join(body[:start]))))
    (problem,) = load(tmp_path, [row(text, start, end, cropped=cropped)], repository=text).problems
    blank = problem.blank
    assert blank.left + blank.target + blank.right == text
    assert (blank.start, blank.end) == (start, end)
    assert blank.left.endswith("\n")
    assert blank.right in ("", "\n") or blank.right.startswith("\n")
    assert blank.target.split("\n") == text.split("\n")[start:end]


@pytest.mark.parametrize("change", [("x = a", "x = b"), ("import os", "import re"), ("import os\n", "import os\n\n")])
def test_another_version_of_the_file_is_set_aside_and_counted(tmp_path: Path, change: tuple[str, str]) -> None:
    other = row("def f():\n    pass\n", 1, 2)
    other["metadata"]["fpath_tuple"][-1] = "b.py"
    file = tmp_path / "repositories" / "owner_name" / "pkg" / "b.py"
    file.parent.mkdir(parents=True)
    file.write_text("def f():\n    pass\n")
    found = load(tmp_path, [row(FILE, 6, 9), other], repository=FILE.replace(*change))
    assert [problem.blank.path for problem in found.problems] == ["pkg/b.py"]
    assert found.set_aside == {"its file in the repositories' folder is of another version": 1}


def test_two_calls_on_one_line_get_two_ids(tmp_path: Path) -> None:
    same = row(FILE, 11, 12, key="line_no", newline="")
    found = load(tmp_path, [same, same, same], "api")
    assert [problem.blank.id for problem in found.problems] == [
        "owner_name/pkg/a.py:12-12",
        "owner_name/pkg/a.py:12-12#2",
        "owner_name/pkg/a.py:12-12#3",
    ]


def test_windows_line_ends_in_the_checkout_make_no_other_version(tmp_path: Path) -> None:
    file = tmp_path / "repositories" / "owner_name" / "pkg" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_bytes(FILE.replace("\n", "\r\n").encode())
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row(FILE, 6, 9)))
    (problem,) = benchmark("repoeval-function").load(path, repositories=tmp_path / "repositories").problems
    assert problem.blank.right == "\n\n\nprint(one)\n"
