"""Copies of a repository are found by what they share, whatever they are called; relatives of a theme are no copies."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from repoformer.code.records import Repository, SourceFile
from repoformer.data_pipeline.deduplicate import SHARED_SHARE, Duplicates, find_duplicates, signatures


def a_repository(name: str, *files: list[str]) -> Repository:
    return Repository(
        name,
        "",
        "MIT",
        tuple(SourceFile(f"{number}.py", "\n".join(lines), "python") for number, lines in enumerate(files)),
    )


def lines(seed: object, count: int = 40) -> list[str]:
    draw = random.Random(str(seed))
    return [f"value_{draw.getrandbits(40)} = compute({draw.getrandbits(40)})" for _ in range(count)]


def duplicates(*repositories: Repository) -> Duplicates:
    found = [one for repository in repositories for one in signatures(repository)]
    return find_duplicates(found, [repository.id for repository in repositories])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.integers(0, 20), min_size=4, max_size=14), min_size=2, max_size=6))
def test_a_copy_is_whatever_shares_enough_with_one_that_is_kept(drawn: list[set[int]]) -> None:
    """Blocks of 20 lines, each in a file with others, so that the lines decide and not the files."""
    repositories = [
        a_repository(str(number), [line for block in sorted(blocks) for line in lines(block, 20)])
        for number, blocks in enumerate(drawn)
    ]
    found = duplicates(*repositories)
    kept = [int(name) for name in found.originals]
    for number, blocks in enumerate(drawn):
        shares = [len(blocks & drawn[other]) / min(len(blocks), len(drawn[other])) for other in kept if other < number]
        if max(shares, default=0) > SHARED_SHARE + 0.25:
            assert str(number) in found.copies
        if max(shares, default=0) < SHARED_SHARE - 0.25:
            assert number in kept


def test_paths_imports_and_layout_do_not_hide_a_copy() -> None:
    code = lines("a", 60)
    one = a_repository("a", ["import a", *code])
    moved = a_repository("b", *(["import b", *(f"    {line}" for line in code[start::3])] for start in range(3)))
    assert duplicates(one, moved).copies == {"b": "a"}


def test_a_small_repository_inside_a_large_one_is_its_copy_whichever_comes_first() -> None:
    large = a_repository("large", *(lines(number) for number in range(100)))
    small = a_repository("small", *(lines(number) for number in range(3)))
    assert duplicates(large, small).copies == {"small": "large"}
    assert duplicates(small, large).copies == {"large": "small"}


def test_a_copied_file_does_not_make_a_copied_repository_and_is_listed() -> None:
    one = a_repository("one", *(lines(("one", number)) for number in range(9)), lines("shared"))
    other = a_repository("other", lines("shared")[2:], *(lines(("other", number)) for number in range(9)))
    assert duplicates(one, other) == Duplicates(["one", "other"], {}, {"other": {"0.py": "one/9.py"}})


def test_copies_of_what_is_not_kept_are_no_copies() -> None:
    one = a_repository("one", *(lines(("one", number)) for number in range(9)))
    fork = a_repository("fork", *(lines(("one", number)) for number in range(9)), lines("of the fork"))
    third = a_repository("third", lines("of the fork"), *(lines(("third", number)) for number in range(9)))
    assert duplicates(one, fork, third) == Duplicates(["one", "third"], {"fork": "one"}, {})


def test_files_of_few_telling_lines_are_copies_of_nothing() -> None:
    short = ["def main(): return run(arguments)"] * 3
    one = a_repository("one", short, *(lines(("one", number)) for number in range(3)))
    other = a_repository("other", short, *(lines(("other", number)) for number in range(3)))
    assert duplicates(one, other) == Duplicates(["one", "other"])


def test_repositories_without_telling_lines_are_no_copies() -> None:
    assert duplicates(a_repository("a", ["x = 1"]), a_repository("b", ["x = 1"]), a_repository("c")).originals == [
        "a",
        "b",
        "c",
    ]


def test_a_file_is_a_copy_of_a_kept_one_though_a_dropped_repository_has_it_too() -> None:
    """The fork of ``a`` comes before ``c`` and ``d``, which share a file with it and with each other."""
    code, shared = lines("code", 200), lines("shared", 20)
    one, fork = a_repository("a", code), a_repository("b", code, shared)
    c, d = (a_repository(name, lines(name, 200), shared) for name in "cd")
    found = duplicates(one, fork, c, d)
    assert found.copies == {"b": "a"}
    assert found.files == {"d": {"1.py": "c/1.py"}}
