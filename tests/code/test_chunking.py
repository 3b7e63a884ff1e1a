"""Chunks are whole lines of the real file: nothing lost, nothing changed, nothing twice."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.chunking import windows
from repoformer.code.lines import cut, lines_of

SOURCE_TEXT = st.lists(st.sampled_from(["", "    ", "x = 1", "\tif y:", "a\fb", "c\u2028d", "e\x85f", "<cc>"])).map(
    "\n".join
)
TEXTS = st.builds(lambda text, end: text + end, SOURCE_TEXT, st.sampled_from(["", "\n", "\n\n"]))
SIZES = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))


@given(TEXTS, SIZES)
def test_each_window_is_the_lines_it_names(text: str, sizes: tuple[int, int]) -> None:
    lines = lines_of(text)
    for chunk in windows("a.py", text, *sizes):
        assert chunk.text == "\n".join(lines[chunk.start : chunk.end])
        assert 0 <= chunk.start < chunk.end <= len(lines)


@given(TEXTS, SIZES)
def test_windows_cover_every_line_and_none_stands_inside_another(text: str, sizes: tuple[int, int]) -> None:
    size, stride = sizes
    spans = [(chunk.start, chunk.end) for chunk in windows("a.py", text, size, stride)]
    assert {line for start, end in spans for line in range(start, end)} == set(range(len(lines_of(text))))
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert next_start == start + stride
        assert end - start == size
        assert next_end > end


@given(TEXTS, st.integers(1, 12))
def test_non_overlapping_chunks_put_together_are_the_file(text: str, size: int) -> None:
    chunks = windows("a.py", text, size, size)
    assert "\n".join(chunk.text for chunk in chunks) == text.removesuffix("\n")


@given(TEXTS.filter(bool), st.data())
def test_cut_keeps_the_text(text: str, data: st.DataObject) -> None:
    count = len(lines_of(text))
    start = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(start + 1, count))
    left, target, right = cut(text, start, end)
    assert left + target + right == text
    assert target.split("\n") == text.split("\n")[start:end]
    assert left == "" or left.endswith("\n")
    assert right == "" or right.startswith("\n")


def test_an_empty_file_has_no_windows() -> None:
    assert windows("a.py", "", 20, 10) == []


def test_form_feeds_and_line_separators_end_no_line() -> None:
    assert lines_of("a\fb\u2028c\x85d\x0be\n") == ["a\fb\u2028c\x85d\x0be"]


@pytest.mark.parametrize("span", [(0, 0), (1, 3), (-1, 1)])
def test_cut_refuses_lines_that_are_not_there(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no lines of a text of 2"):
        cut("a\nb\n", *span)


def test_a_stride_that_leaves_lines_out_is_refused() -> None:
    with pytest.raises(ValueError, match="leave lines out"):
        windows("a.py", "a\n", 2, 3)
