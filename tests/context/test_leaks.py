"""The leak rule: no context line from the hole, from later text of its file, or from a copy of its file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.lines import cut, lines_of
from repoformer.code.records import Blank, Chunk, RankedChunk, RetrievedContext, SourceFile
from repoformer.context.leaks import CopyFinder, is_copy, leaks, telling_lines
from repoformer.context.next_chunk import Neighbour, NextChunk
from repoformer.retrieval.scorers import Scorer

HEADER = "# Copyright the authors. All rights reserved, some of them.\n# Licence: see the file LICENSE.\n\n"
IMPORTS = "import os\nfrom collections import defaultdict\n\n"


def module(name: str, lines: int) -> str:
    """Code whose words are those of every other module, but for one mark per line that no other module has."""
    body = []
    for number in range(lines):
        mark = f"{name}_line_{number}"
        body.append(
            f"def {mark}(self, value):" if number % 4 == 0 else f"    {mark} = self.compute(value, '{number % 3}')"
        )
        if number % 7 == 6:
            body.append("")
    return HEADER + IMPORTS + "\n".join(body) + "\n"


COPIES: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text,
    "line_ends": lambda text: text.replace("\n", "\r\n"),
    "other_header": lambda text: "# vendored, do not edit\n# from upstream 1.2\n" + text.removeprefix(HEADER),
    "other_imports": lambda text: text.replace(IMPORTS, "from ._vendor import os\nimport six\n"),
    "other_quotes": lambda text: text.replace("'", '"'),
    "trailing_commas": lambda text: text.replace("')", "',)"),
    "tabs": lambda text: text.replace("    ", "\t"),
    "indented": lambda text: "if True:\n" + "".join(f"    {line}\n" for line in lines_of(text)),
    "two_spaces": lambda text: text.replace("    ", "  "),
    "trailing_space": lambda text: text.replace("\n", "  \n"),
    "without_blank_lines": lambda text: re.sub(r"\n+", "\n", text),
    "longer": lambda text: text + "\n".join(f"added_function_number({n})" for n in range(400)) + "\n",
    "older": lambda text: "".join(f"{line}\n" for n, line in enumerate(lines_of(text)) if n % 6 != 5),
    "edited": lambda text: "".join(
        f"{line} + 1\n" if n % 6 == 5 else f"{line}\n" for n, line in enumerate(lines_of(text))
    ),
}


def blank_in(path: str, text: str, start: int, end: int) -> Blank:
    left, target, right = cut(text, start, end)
    return Blank("id", "repo", "", "MIT", path, "python", "chunk", start, end, left, right, target)


def context_of(*chunks: Chunk) -> RetrievedContext:
    return RetrievedContext(tuple(RankedChunk(chunk, 1.0) for chunk in chunks), "", False, "by hand", 0.0)


@st.composite
def repositories(draw: st.DrawFn) -> tuple[list[SourceFile], Blank]:
    """A repository with a hole, copies of the hole's file at any place in the order of paths, and other files."""
    hole_text = module("hole", draw(st.integers(12, 120)))
    files = {"pkg/m.py": hole_text}
    for number, how in enumerate(draw(st.lists(st.sampled_from(sorted(COPIES)), max_size=4))):
        folder = draw(st.sampled_from(["a/", "pkg/", "pkg/m/", "vendor/deep/", "z/"]))
        files[f"{folder}{how}{number}.py"] = COPIES[how](hole_text)
    for number in range(draw(st.integers(0, 4))):
        files[f"{draw(st.sampled_from(['b/', 'pkg/', 'y/']))}other{number}.py"] = module(
            f"o{number}", draw(st.integers(0, 80))
        )
    length = len(lines_of(hole_text))
    start = draw(st.integers(0, length - 1))
    end = draw(st.integers(start + 1, min(start + 12, length)))
    order = draw(st.permutations(sorted(files)))
    return [SourceFile(path, files[path], "python") for path in order], blank_in("pkg/m.py", hole_text, start, end)


@given(
    repositories(),
    st.sampled_from([(20, 10), (50, 25), (3, 1), (5, 5)]),
    st.sampled_from(["next", "same"]),
    st.sampled_from(["jaccard", "bm25"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 200)),
)
def test_no_context_line_breaks_the_rule(
    repository: tuple[list[SourceFile], Blank],
    size: tuple[int, int],
    neighbour: Neighbour,
    scorer: Scorer,
    query_holds_target: bool,
    first_line: int | None,
) -> None:
    files, blank = repository
    strategy = NextChunk(files, window=size[0], stride=size[1], neighbour=neighbour, scorer=scorer)
    context = strategy.retrieve(blank, query_holds_target=query_holds_target, top=50, first_line=first_line)
    # By the marks alone, which no definition of a copy knows: the hole's file may show only what the prompt cut off.
    shown = [ranked.chunk for ranked in context.chunks if "hole_line_" in ranked.chunk.text]
    assert all(chunk.path == blank.path and chunk.end <= min(first_line or 0, blank.start) for chunk in shown)
    assert leaks(blank, context, files) == []


@given(repositories())
def test_copies_are_those_that_the_slow_comparison_finds(repository: tuple[list[SourceFile], Blank]) -> None:
    files, blank = repository
    texts = {file.path: file.text for file in files}
    lines = {path: telling_lines(path, text) for path, text in texts.items()}
    slow = {
        path
        for path, text in texts.items()
        if path != blank.path and (text.split() == texts[blank.path].split() or is_copy(lines[path], lines[blank.path]))
    }
    assert CopyFinder(files).copies_of(blank.path, texts[blank.path]) == slow


@pytest.mark.parametrize("how", sorted(COPIES))
def test_a_copy_is_found(how: str) -> None:
    text = module("hole", 30)
    files = [SourceFile("m.py", text, "python"), SourceFile("v/m.py", COPIES[how](text), "python")]
    assert CopyFinder(files).copies_of("m.py", text) == {"v/m.py"}


@pytest.mark.parametrize("how", sorted(COPIES))
def test_the_checker_reports_a_chunk_of_a_copy(how: str) -> None:
    text = module("hole", 30)
    files = [SourceFile("m.py", text, "python"), SourceFile("v/m.py", COPIES[how](text), "python")]
    chunk = Chunk("v/m.py", 6, 9, "\n".join(lines_of(files[1].text)[6:9]))
    [problem] = leaks(blank_in("m.py", text, 20, 22), context_of(chunk), files)
    assert "copy of m.py" in problem


@pytest.mark.parametrize(("start", "end"), [(18, 21), (20, 22), (21, 30), (30, 33)])
def test_the_checker_reports_the_hole_and_what_follows_it(start: int, end: int) -> None:
    text = module("hole", 30)
    chunk = Chunk("m.py", start, end, "\n".join(lines_of(text)[start:end]))
    [problem] = leaks(blank_in("m.py", text, 20, 22), context_of(chunk), [SourceFile("m.py", text, "python")])
    assert problem == f"m.py:{start + 1}-{end}: holds the blank or text behind it"


def test_the_checker_allows_earlier_text_of_the_same_file() -> None:
    text = module("hole", 30)
    chunk = Chunk("m.py", 10, 20, "\n".join(lines_of(text)[10:20]))
    assert leaks(blank_in("m.py", text, 20, 22), context_of(chunk), [SourceFile("m.py", text, "python")]) == []


@pytest.mark.parametrize("path", ["m.py", "gone.py"])
def test_the_checker_reports_text_that_is_not_there(path: str) -> None:
    text = module("hole", 30)
    found = leaks(
        blank_in("m.py", text, 20, 22), context_of(Chunk(path, 0, 1, "x")), [SourceFile("m.py", text, "python")]
    )
    assert found == [f"{path}:1-1: is not what stands there"]


def test_a_target_that_stands_in_a_file_of_its_own_right_is_found() -> None:
    text, other = module("hole", 40), module("o", 40)
    blank = blank_in("m.py", text, 25, 28)
    passage = "\n".join(lines_of(text)[20:30])  # copied into the other file: the lines above, the target, lines below
    files = [SourceFile("m.py", text, "python"), SourceFile("o.py", other + passage + "\n", "python")]
    context = NextChunk(files, neighbour="same").retrieve(blank)
    assert any(blank.target in ranked.chunk.text for ranked in context.chunks)


def test_files_that_share_header_and_imports_are_no_copies() -> None:
    files = [SourceFile(f"{n}.py", module(f"m{n}", 6), "python") for n in range(5)]
    assert CopyFinder(files).copies_of("0.py", files[0].text) == frozenset()


def test_real_files_passed_through_a_formatter_are_copies(python_sources: list[str]) -> None:
    """``ast.unparse`` drops comments and blank lines, joins and requotes: what shares no unusual line still counts."""
    files = [SourceFile(f"{n}.py", text, "python") for n, text in enumerate(python_sources)]
    formatted = [
        SourceFile(f"f/{n}.py", ast.unparse(ast.parse(text)), "python") for n, text in enumerate(python_sources)
    ]
    finder = CopyFinder(files + formatted)
    assert [finder.copies_of(file.path, file.text) for file in files] == [{file.path} for file in formatted]


def test_a_small_file_with_one_line_more_is_a_copy() -> None:
    settings = 'DEBUG_LEVEL = 3\nSECRET_NAME = "a"\nTIME_ZONE_NAME = "UTC"\nALLOWED_HOSTS = ["x"]\n'
    more = settings + 'LANGUAGE_CODE = "en"\n'
    assert CopyFinder([SourceFile("v.py", more, "python")]).copies_of("m.py", settings) == {"v.py"}


def test_a_small_file_whose_lines_stand_among_many_others_is_no_copy() -> None:
    small = "def main_entry():\n    return run_everything()\n"
    large = SourceFile("v.py", module("o", 40) + small, "python")
    assert CopyFinder([large]).copies_of("m.py", small) == frozenset()


def test_the_hole_file_need_not_be_stored() -> None:
    text = module("hole", 30)
    assert CopyFinder([SourceFile("v.py", text, "python")]).copies_of("new.py", text) == {"v.py"}


def test_a_changed_text_is_looked_at_again() -> None:
    finder = CopyFinder([SourceFile("v.py", module("hole", 30), "python")])
    assert finder.copies_of("m.py", module("o", 30)) == frozenset()
    assert finder.copies_of("m.py", module("hole", 30)) == {"v.py"}


def test_an_exact_copy_is_found_though_no_line_tells_it_apart() -> None:
    text = "import os\nx = 1\n"
    files = [SourceFile("m.py", text, "python"), SourceFile("v.py", text.replace("\n", "\r\n"), "python")]
    assert CopyFinder(files).copies_of("m.py", text) == {"v.py"}
    problems = leaks(blank_in("m.py", text, 1, 2), context_of(Chunk("v.py", 0, 1, "import os\r")), files)
    assert problems == ["v.py:1-1: comes from an exact copy of m.py"]
