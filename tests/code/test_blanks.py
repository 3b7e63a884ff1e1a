"""Blanks are real lines of real files, drawn by the seed and the repository alone."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoformer.code.blanks import Sampled
from repoformer.code.chunk_blanks import chunk_blanks
from repoformer.code.function_blanks import function_blanks
from repoformer.code.lines import lines_of
from repoformer.code.records import Repository, SourceFile
from repoformer.code.syntax import function_bodies

LINE = st.sampled_from(
    [
        "",
        "    ",
        "x = 1",
        "\tif y:",
        "    return f(x)",
        "a\fb",
        "# \u2028 <cc>",
        "'<fim_middle>'",
        ")",
        "def f():",
        "  é",
    ]
)
FUNCTION = st.lists(LINE, min_size=1, max_size=8).map(
    lambda lines: "\n".join(["def f(a):", *(f"    {line}" if line.strip() else line for line in lines), "    return a"])
)
TEXT = st.lists(LINE | FUNCTION, max_size=40).map("\n".join).flatmap(lambda text: st.sampled_from([text, text + "\n"]))


def repository(*texts: str, id: str = "r") -> Repository:
    files = tuple(SourceFile(f"f{number}.py", text, "python") for number, text in enumerate(texts))
    return Repository(id, "1", "MIT", files)


REPOSITORIES = st.lists(TEXT, max_size=3).map(lambda texts: repository(*texts))


@pytest.fixture(scope="module")
def real(python_sources: list[str]) -> Repository:
    return repository(*python_sources)


def both(given_repository: Repository, seed: int = 0) -> Sampled:
    chunks = chunk_blanks(given_repository, seed=seed, most=20)
    functions = function_blanks(given_repository, seed=seed, most=20)
    return Sampled(chunks.blanks + functions.blanks)


@settings(max_examples=60, deadline=None)
@given(REPOSITORIES)
def test_a_blank_and_its_context_are_the_file(drawn: Repository) -> None:
    files = {file.path: file.text for file in drawn.files}
    for blank in both(drawn).blanks:
        assert blank.left + blank.target + blank.right == files[blank.path]
        assert blank.target == "\n".join(lines_of(files[blank.path])[blank.start : blank.end])
        assert blank.left == "" or blank.left.endswith("\n")
        assert blank.right == "" or blank.right.startswith("\n")
        assert blank.target.strip()


@settings(max_examples=60, deadline=None)
@given(REPOSITORIES)
def test_ids_are_unique(drawn: Repository) -> None:
    ids = [blank.id for blank in both(drawn).blanks]
    assert len(set(ids)) == len(ids)


def test_blank_lines_and_indentation_survive(real: Repository) -> None:
    blanks = both(real).blanks
    assert any("\n\n" in blank.target for blank in blanks)
    assert any(blank.target.startswith("        ") for blank in blanks)


def test_the_draw_depends_on_the_seed_and_the_repository_only(real: Repository) -> None:
    again = dataclasses.replace(real, files=tuple(reversed(real.files)))
    assert both(real) == both(again)
    assert both(real) != both(real, seed=1)
    spans = {(blank.path, blank.start) for blank in both(real).blanks}
    other = both(dataclasses.replace(real, id="another"))
    assert {(blank.path, blank.start) for blank in other.blanks} != spans


@settings(max_examples=40, deadline=None)
@given(REPOSITORIES)
def test_chunk_blanks_lie_in_chunks_of_ten_lines(drawn: Repository) -> None:
    for blank in chunk_blanks(drawn, seed=0, most=20, lines_mean=9.0).blanks:
        assert 1 <= blank.end - blank.start <= 10
        assert blank.start // 10 == (blank.end - 1) // 10


def test_the_mean_number_of_lines_is_poissons(real: Repository) -> None:
    # max(1, Poisson(3)) has mean 3 + e^-3 = 3.05; cut at ten lines and shortened at file ends it stays close.
    lengths = [blank.end - blank.start for seed in range(4) for blank in chunk_blanks(real, seed=seed, most=500).blanks]
    assert len(lengths) > 400
    assert sum(lengths) / len(lengths) == pytest.approx(3.05, abs=0.35)


def test_there_is_one_chunk_blank_per_five_chunks(real: Repository) -> None:
    chunks = sum(-(-len(lines_of(file.text)) // 10) for file in real.files)
    sampled = chunk_blanks(real, seed=0, most=10_000, clustered=10_000)
    assert len(sampled.blanks) == pytest.approx(chunks / 5, abs=2)
    assert len(chunk_blanks(real, seed=0, most=10_000, clustered=100).blanks) == 20


def test_at_most_as_many_as_asked_for(real: Repository) -> None:
    assert len(chunk_blanks(real, seed=0, most=7).blanks) == 7
    assert len(function_blanks(real, seed=0, most=7).blanks) == 7
    assert chunk_blanks(real, seed=0, most=0).blanks == ()


def test_function_blanks_are_whole_bodies_of_the_asked_length(real: Repository) -> None:
    bodies = {file.path: set(function_bodies("python", file.text)) for file in real.files}
    blanks = function_blanks(real, seed=0, most=1000, lines=(4, 9)).blanks
    assert blanks
    assert {blank.end - blank.start for blank in blanks} <= set(range(4, 10))
    assert all((blank.start, blank.end) in bodies[blank.path] for blank in blanks)


def test_functions_that_are_too_short_or_long_are_counted() -> None:
    body = "    x = 1\n"
    text = f"def a():\n{body}\n\ndef b():\n{body * 3}\n\ndef c():\n{body * 31}"
    sampled = function_blanks(repository(text), seed=0, most=10)
    assert [blank.target for blank in sampled.blanks] == [(body * 3).rstrip("\n")]
    assert sampled.dropped == {"function of less than 3 lines": 1, "function of more than 30 lines": 1}


@pytest.mark.parametrize("texts", [(), ("",), ("\n\n\n",), (")\n",)])
def test_nothing_is_drawn_where_there_is_nothing(texts: tuple[str, ...]) -> None:
    assert both(repository(*texts)).blanks == ()


def test_a_repository_of_one_line_has_one_blank() -> None:
    (blank,) = chunk_blanks(repository("x = 1"), seed=0, most=5).blanks
    assert (blank.left, blank.target, blank.right) == ("", "x = 1", "")
    assert blank.id == "chunk:r:f0.py:1-1"


def test_similar_chunks_make_fewer_blanks_than_different_ones() -> None:
    same = repository("x = 1\n" * 500)
    different = repository("".join(f"name_{number} = {number}\n" for number in range(500)))
    assert len(chunk_blanks(same, seed=0, most=100).blanks) == 1
    assert len(chunk_blanks(different, seed=0, most=100).blanks) == 10
