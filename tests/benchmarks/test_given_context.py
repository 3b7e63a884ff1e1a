"""Chunks that a benchmark gives, without a place in their file, and the leak rule."""

from __future__ import annotations

import pytest

from repoformer.benchmarks.given_context import given_leaks
from repoformer.code.records import Blank, Chunk, RankedChunk, RetrievedContext

BLANK = Blank(
    *("id", "r", "", "MIT", "a.py", "python", "line", 2, 3),
    *("import os\nfirst = 1\n", "\nlast = 3\nend = 4\n", "second = compute(first)"),
)


def found(path: str, text: str) -> list[str]:
    return given_leaks(BLANK, RetrievedContext((RankedChunk(Chunk(path, 0, 0, text), 1.0),), "", False, "given", 0.0))


@pytest.mark.parametrize("text", ["first = 1", "import os\n\n  first = 1"])
def test_the_holes_own_file_may_be_shown_above_the_hole(text: str) -> None:
    assert found("a.py", text) == []


@pytest.mark.parametrize("text", ["second = compute(first)", "last = 3", "first = 1\nsecond = compute(first)"])
def test_the_hole_and_what_is_behind_it_may_not(text: str) -> None:
    assert found("a.py", text) == ["a.py: holds the blank or text behind it"]


def test_a_target_that_stands_elsewhere_by_itself_is_no_leak() -> None:
    assert found("b.py", "x = 0\nsecond = compute(first)\ny = 1") == []


def test_a_target_between_its_own_lines_comes_from_a_copy() -> None:
    assert found("old/a.py", "first = 1\n\n    second = compute(first)\nlast = 3") == [
        "old/a.py: comes from a copy of a.py"
    ]
