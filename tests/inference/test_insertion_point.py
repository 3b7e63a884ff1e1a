"""Where ``PATH:LINE[:COL]`` is, and what it makes of the file around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.lines import lines_of
from repoformer.code.records import Blank
from repoformer.errors import UserError
from repoformer.inference.insertion_point import InsertionPoint

TEXT = "import os\n\n\ndef f(x):\n    return x\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text(TEXT, encoding="utf-8")
    return tmp_path


def blank_at(repository: Path, place: str, replace: int = 0, lines: int = 1) -> Blank:
    return InsertionPoint.parse(place).blank(repository, replace=replace, lines=lines)


def refused(repository: Path, place: str, replace: int = 0) -> str:
    with pytest.raises(UserError) as caught:
        blank_at(repository, place, replace)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py:3", InsertionPoint("a.py", 3)),
        ("src/a.py:3:14", InsertionPoint("src/a.py", 3, 14)),
        ("odd:name.py:3", InsertionPoint("odd:name.py", 3)),
        ("a b.py:10:1", InsertionPoint("a b.py", 10, 1)),
    ],
)
def test_places_are_read_as_written(text: str, expected: InsertionPoint) -> None:
    assert InsertionPoint.parse(text) == expected


@pytest.mark.parametrize("text", ["", "a.py", "a.py:", "a.py:x", ":3", "a.py:-1"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="write PATH:LINE or PATH:LINE:COL"):
        InsertionPoint.parse(text)


def test_without_a_column_it_is_the_start_of_the_line(repository: Path) -> None:
    blank = blank_at(repository, "package/a.py:5")
    assert (blank.left, blank.target, blank.right) == ("import os\n\n\ndef f(x):\n", "", "    return x\n")
    assert (blank.path, blank.language, blank.kind, blank.start, blank.end) == ("package/a.py", "python", "line", 4, 4)


def test_a_column_is_between_two_characters(repository: Path) -> None:
    blank = blank_at(repository, "package/a.py:5:12")
    assert blank.left.endswith("    return ")
    assert blank.right == "x\n"


def test_replaced_lines_are_held_out_as_a_blank_of_whole_lines(repository: Path) -> None:
    blank = blank_at(repository, "package/a.py:4", replace=2)
    assert (blank.left, blank.target, blank.right) == ("import os\n\n\n", "def f(x):\n    return x", "\n")
    assert (blank.kind, blank.start, blank.end) == ("chunk", 3, 5)


def test_behind_the_last_line_is_a_place_too(repository: Path) -> None:
    blank = blank_at(repository, "package/a.py:6")
    assert (blank.left, blank.right) == (TEXT, "")


def test_an_empty_file_is_a_place_to_begin(repository: Path) -> None:
    (repository / "new.py").write_text("")
    blank = blank_at(repository, "new.py:1")
    assert (blank.left, blank.right) == ("", "")


@given(st.lists(st.text(alphabet="ab \té", max_size=4), min_size=1, max_size=6), st.booleans(), st.data())
def test_left_target_and_right_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, data: st.DataObject
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    folder = tmp_path_factory.getbasetemp()
    (folder / "property.py").write_text(text, encoding="utf-8")
    line = data.draw(st.integers(1, max(len(lines_of(text)), 1)))
    column = data.draw(st.integers(1, len(text.split("\n")[line - 1]) + 1))
    blank = blank_at(folder, f"property.py:{line}:{column}")
    assert blank.left + blank.right == text
    assert blank.left.count("\n") == line - 1
    assert len(blank.left.rpartition("\n")[2]) == column - 1
    if lines_of(text):
        replace = data.draw(st.integers(1, len(lines_of(text)) - line + 1))
        held_out = blank_at(folder, f"property.py:{line}", replace=replace)
        assert held_out.left + held_out.target + held_out.right == text
        assert held_out.target.count("\n") == replace - 1


def test_mistakes_are_named(repository: Path) -> None:
    assert "no such file; the path is relative to the repository" in refused(repository, "b.py:1")
    assert refused(repository, "package/a.py:0") == "package/a.py has no line 0; choose one from 1 to 6"
    assert refused(repository, "package/a.py:7") == "package/a.py has no line 7; choose one from 1 to 6"
    assert "package/a.py:5 has 12 characters; choose a column from 1 to 13" in refused(repository, "package/a.py:5:14")
    assert "replace at most 2" in refused(repository, "package/a.py:4", replace=3)
    assert "choose one from 1 to 5" in refused(repository, "package/a.py:6", replace=1)
    assert "leave out the column" in refused(repository, "package/a.py:4:2", replace=1)
    assert "choose 0 or more" in refused(repository, "package/a.py:4", replace=-1)
    assert "no such folder" in refused(repository / "missing", "a.py:1")
    assert "not in the repository" in refused(repository / "package", "../a.py:1")


def test_files_that_cannot_be_completed_in_are_named(repository: Path) -> None:
    (repository / "notes.txt").write_text("a")
    (repository / "latin.py").write_bytes(b"# caf\xe9\n")
    (repository / "huge.py").write_text("x = 1\n" * 900_000)
    assert "not a file in a known language; known are .py" in refused(repository, "notes.txt:1")
    assert "cannot complete in this file, not UTF-8" in refused(repository, "latin.py:1")
    assert "larger than" in refused(repository, "huge.py:1")


def test_a_name_that_is_no_text_is_refused(repository: Path) -> None:
    assert "the file's name is not UTF-8" in refused(repository, "package/\udcff.py:1")
