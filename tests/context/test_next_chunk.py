"""Next-chunk retrieval against a loop that reads like appendix A."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.chunking import windows
from repoformer.code.lines import cut, lines_of
from repoformer.code.records import Blank, Chunk, SourceFile
from repoformer.context.next_chunk import Neighbour, NextChunk

WORDS = ["load", "save", "path", "self", "x", "(", "", "return"]
sources = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), min_size=1, max_size=40).map("\n".join)


def blank_in(path: str, text: str, start: int, end: int) -> Blank:
    left, target, right = cut(text, start, end)
    return Blank("id", "repo", "", "MIT", path, "python", "chunk", start, end, left, right, target)


def numbered(name: str, lines: int) -> SourceFile:
    """A file whose every line is its own, so that a chunk tells where it stood."""
    return SourceFile(name, "".join(f"common {name[0]}{line}\n" for line in range(lines)), "python")


def obvious(files: list[SourceFile], blank: Blank, neighbour: str, top: int) -> list[tuple[Chunk, float]]:
    chunks = [
        c for f in sorted(files, key=lambda f: f.path) for c in windows(f.path, f.text, 4, 2) if c.path != blank.path
    ]
    query = set(re.findall(r"\w+", "\n".join(lines_of(blank.left)[-20:])))
    hits = []
    for chunk in chunks:
        found = set(re.findall(r"\w+", chunk.text))
        if query & found:
            hits.append((len(query & found) / len(query | found), chunk))
    hits.sort(key=lambda hit: (-hit[0], hit[1].path, hit[1].start))
    shown: list[tuple[Chunk, float]] = []
    for score, hit in hits:
        following = [c for c in chunks if (c.path, c.start) == (hit.path, hit.start + 2)]
        chunk = following[0] if following and neighbour == "next" else hit
        if chunk.text.strip() and chunk.text not in [other.text for other, _ in shown]:
            shown.append((chunk, score))
    return shown[:top]


@given(st.lists(sources, max_size=4), sources, st.data(), st.sampled_from(["next", "same"]), st.integers(0, 12))
def test_it_is_the_loop(others: list[str], text: str, data: st.DataObject, neighbour: Neighbour, top: int) -> None:
    lines = lines_of(text)
    if not lines:
        return
    start = data.draw(st.integers(0, len(lines) - 1))
    files = [SourceFile("m.py", text, "python")]
    files += [SourceFile(f"{'az'[n % 2]}{n}.py", other, "python") for n, other in enumerate(others)]
    strategy = NextChunk(files, window=4, stride=2, neighbour=neighbour)
    blank = blank_in("m.py", text, start, start + 1)
    # Texts this small have no telling lines: only files of equal text are copies, and those the loop leaves out too.
    kept = [file for file in files if file.path == "m.py" or file.text.split() != text.split()]
    kept = [file for file in kept if "".join(file.text.split()) != "".join(text.split()) or file.path == "m.py"]
    context = strategy.retrieve(blank, top=top)
    assert [(ranked.chunk, ranked.score) for ranked in context.chunks] == obvious(kept, blank, neighbour, top)


def test_a_hit_is_replaced_by_what_follows_it() -> None:
    files = [numbered("a.py", 50), SourceFile("m.py", "common a5\ncommon a6\nhole\n", "python")]
    context = NextChunk(files, top=1).retrieve(blank_in("m.py", files[1].text, 2, 3))
    assert [(each.chunk.start, each.chunk.end) for each in context.chunks] == [(10, 30)]


def test_a_hit_at_the_end_of_its_file_is_given_itself() -> None:
    files = [numbered("a.py", 50), SourceFile("m.py", "common a48\ncommon a49\nhole\n", "python"), numbered("b.py", 30)]
    context = NextChunk(files, top=1).retrieve(blank_in("m.py", files[1].text, 2, 3))
    assert [(each.chunk.path, each.chunk.start) for each in context.chunks] == [("a.py", 30)]


def test_the_score_is_that_of_the_hit() -> None:
    files = [numbered("a.py", 50), SourceFile("m.py", "common a5\nhole\n", "python")]
    blank = blank_in("m.py", files[1].text, 1, 2)
    following, same = (NextChunk(files, top=1, neighbour=how).retrieve(blank).chunks[0] for how in ("next", "same"))
    assert following.score == same.score
    assert following.chunk.start == same.chunk.start + 10


def test_equal_texts_count_once_and_the_next_best_takes_the_place() -> None:
    same = "common alpha beta gamma\n" * 3
    files = [SourceFile(f"{n}.py", same, "python") for n in range(5)]
    files += [SourceFile("z.py", "common other\n", "python"), SourceFile("m.py", "common alpha\nhole\n", "python")]
    context = NextChunk(files, top=2).retrieve(blank_in("m.py", files[-1].text, 1, 2))
    assert [each.chunk.path for each in context.chunks] == ["0.py", "z.py"]


def test_the_query_is_the_last_lines_above_the_hole() -> None:
    text = "".join(f"line{n}\n" for n in range(40))
    context = NextChunk([SourceFile("m.py", text, "python")]).retrieve(blank_in("m.py", text, 30, 32))
    assert context.query == "\n".join(f"line{n}" for n in range(10, 30))


def test_the_query_holds_the_target_when_asked_to() -> None:
    text = "a\nb\nc\nd\n"
    context = NextChunk([SourceFile("m.py", text, "python")]).retrieve(
        blank_in("m.py", text, 1, 3), query_holds_target=True
    )
    assert (context.query, context.query_holds_target) == ("a\nb\nc", True)


def test_a_line_begun_at_the_cursor_is_part_of_the_query() -> None:
    blank = Blank("id", "r", "", "MIT", "m.py", "python", "line", 1, 1, "first\n    sec", "\n", "")
    assert NextChunk([]).query(blank, holds_target=False) == "first\n    sec"


def test_the_own_file_is_searched_only_above_the_prompt() -> None:
    file = numbered("m.py", 100)
    blank = blank_in("m.py", file.text, 90, 92)
    strategy = NextChunk([file], top=50)
    assert strategy.retrieve(blank).chunks == ()
    assert {each.chunk.end for each in strategy.retrieve(blank, first_line=45).chunks} == {30, 40}


def test_a_next_window_that_reaches_into_the_prompt_gives_way_to_the_hit() -> None:
    file = SourceFile("m.py", "".join(f"common m{n}\n" for n in range(60)) + "common m5\nhole\n", "python")
    blank = blank_in("m.py", file.text, 61, 62)
    context = NextChunk([file], window=20, stride=10).retrieve(blank, first_line=25)
    assert [(each.chunk.start, each.chunk.end) for each in context.chunks] == [(0, 20)]


def test_the_order_of_the_files_does_not_matter(python_sources: list[str]) -> None:
    files = [SourceFile(f"{n}.py", text, "python") for n, text in enumerate(python_sources)]
    blank = blank_in("0.py", python_sources[0], 300, 303)
    found = [NextChunk(order).retrieve(blank).chunks for order in (files, files[::-1])]
    assert found[0] == found[1]
    assert len(found[0]) == 10


@pytest.mark.parametrize("files", [[], [SourceFile("m.py", "a\nb\n", "python")], [SourceFile("e.py", "", "python")]])
def test_a_repository_without_other_text_gives_no_context(files: list[SourceFile]) -> None:
    context = NextChunk(files).retrieve(blank_in("m.py", "a\nb\n", 1, 2))
    assert context.chunks == ()
    assert context.seconds > 0


def test_the_strategy_says_how_it_searched() -> None:
    strategy = NextChunk([], window=50, stride=25, neighbour="same", scorer="bm25")
    assert strategy.strategy == "next-chunk(bm25, 50/25, same, query 20)"


def test_only_files_that_can_import_each_other_are_searched() -> None:
    names = {"a.py": "python", "b.js": "javascript", "c.ts": "typescript"}
    strategy = NextChunk([SourceFile(path, f"shared words of {path}\n", names[path]) for path in names])

    def found(path: str, language: str) -> list[str]:
        blank = dataclasses.replace(blank_in(path, "shared words of mine\nx\n", 1, 2), language=language)
        return [one.chunk.path for one in strategy.retrieve(blank).chunks]

    assert found("x.py", "python") == ["a.py"]
    assert found("x.tsx", "tsx") == ["b.js", "c.ts"]
    assert found("x.java", "java") == []
