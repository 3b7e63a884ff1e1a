"""The contexts of blanks, and the facts about them that need their repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.blanks import blank_at
from repoformer.code.records import Blank, Chunk, RankedChunk, Repository, SourceFile
from repoformer.context import next_chunk_settings
from repoformer.context.next_chunk import NextChunk
from repoformer.context.next_chunk_settings import NextChunkSettings
from repoformer.errors import UserError
from repoformer.eval import retrieve
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.retrieve import Prepared, prepare
from repoformer.eval.sources import asked


def test_kinds_are_searched_with_their_own_windows(repositories: list[Repository], blanks: list[Blank]) -> None:
    mine = [blank for blank in blanks if blank.repository == "repo0"]
    for one in prepare(repositories[0], mine, NextChunkSettings()):
        most = 50 if one.blank.kind == "function" else 20
        assert max(ranked.chunk.end - ranked.chunk.start for ranked in one.context.chunks) <= most
        assert one.context.strategy.startswith(
            "next-chunk(jaccard, 50/25" if one.blank.kind == "function" else "next-chunk(jaccard, 20/10"
        )


def test_one_index_serves_all_blanks_of_a_size(
    repositories: list[Repository], blanks: list[Blank], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    class Counted(NextChunk):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            built.append(keywords["window"])
            super().__init__(*arguments, **keywords)

    monkeypatch.setattr(next_chunk_settings, "NextChunk", Counted)
    list(prepare(repositories[0], [blank for blank in blanks if blank.repository == "repo0"], NextChunkSettings()))
    assert sorted(built) == [20, 50]


def test_nothing_is_compiled_while_seconds_are_measured(
    repositories: list[Repository], blanks: list[Blank], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a query with words that no file holds either: it takes another way than the first one, which warms up."""
    steps: list[str] = []

    class Noted(NextChunk):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            steps.append("index")
            super().__init__(*arguments, **keywords)

    monkeypatch.setattr(next_chunk_settings, "NextChunk", Noted)
    monkeypatch.setattr(retrieve, "compile_search", steps.append)
    next(prepare(repositories[0], blanks[:1], NextChunkSettings(scorer="bm25")))
    assert steps == ["bm25", "index"]


def test_the_recipe_names_the_scorer(repositories: list[Repository], blanks: list[Blank]) -> None:
    for scorer in ("jaccard", "bm25"):
        for one in prepare(repositories[0], blanks[:2], NextChunkSettings(scorer=scorer)):
            assert one.context.strategy.startswith(f"next-chunk({scorer}, ")
            assert one.context.chunks


def small_repository(*files: tuple[str, str]) -> Repository:
    return Repository("small", "", "MIT", tuple(SourceFile(path, text, "python") for path, text in files))


BODY = "".join(f"value_{number} = compute({number})\n" for number in range(12))


@pytest.mark.parametrize(
    ("other", "stands"),
    [
        ("first = 1\nneedle = find(haystack)\nlast = 2\n", True),
        ("first = 1\n    needle = find(haystack)\n", False),
        ("needle = find(haystack)[0]\n", False),
    ],
)
def test_a_target_is_a_duplicate_where_its_lines_stand_as_they_are(other: str, stands: bool) -> None:
    repository = small_repository(("a.py", f"{BODY}needle = find(haystack)\n"), ("b.py", other))
    blank = blank_at(repository, repository.files[0], "chunk", 12, 13)
    (found,) = prepare(repository, [blank], NextChunkSettings())
    assert found.stands_elsewhere is stands


def test_a_copy_of_the_file_makes_no_duplicate() -> None:
    text = f"{BODY}needle = find(haystack)\n"
    repository = small_repository(("a.py", text), ("vendored/a.py", text))
    blank = blank_at(repository, repository.files[0], "chunk", 12, 13)
    (found,) = prepare(repository, [blank], NextChunkSettings())
    assert not found.stands_elsewhere


def test_a_repository_of_one_file_gives_empty_context() -> None:
    repository = small_repository(("a.py", BODY))
    (found,) = prepare(repository, [blank_at(repository, repository.files[0], "chunk", 3, 5)], NextChunkSettings())
    assert found.context.chunks == ()


def test_context_that_holds_the_hole_is_refused_with_its_place(
    repositories: list[Repository], blanks: list[Blank], monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = next(blank for blank in blanks if blank.repository == "repo0")
    hole = Chunk(blank.path, blank.start, blank.end, blank.target)
    honest = NextChunk.retrieve

    def leaky(self: NextChunk, asked: Blank) -> Any:
        return dataclasses.replace(honest(self, asked), chunks=(RankedChunk(hole, 1.0),))

    monkeypatch.setattr(NextChunk, "retrieve", leaky)
    with pytest.raises(UserError, match=rf"{blank.path}:31 of repo0.*holds the blank"):
        list(prepare(repositories[0], [blank], NextChunkSettings()))


def contexts(recipe: EvalRecipe) -> list[Prepared]:
    return retrieve.retrieve(recipe, asked(recipe))


def test_contexts_are_kept_until_data_or_retrieval_change(
    recipe_with: Callable[..., EvalRecipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = contexts(recipe_with())
    searched: list[str] = []
    honest = prepare

    def counted(repository: Repository, *rest: Any) -> Any:
        searched.append(repository.id)
        return honest(repository, *rest)

    monkeypatch.setattr(retrieve, "prepare", counted)
    assert contexts(recipe_with()) == first
    assert searched == []
    again = contexts(recipe_with(retrieve={"top": 1}))
    assert sorted(searched) == ["repo0", "repo1", "repo2"]
    assert max(len(one.context.chunks) for one in again) == 1


def test_what_was_retrieved_is_read_back_from_its_file(recipe_with: Callable[..., EvalRecipe]) -> None:
    recipe = recipe_with(limit=5)
    prepared = contexts(recipe)
    found = retrieve.retrieved(Path(recipe.out))
    assert (found.prepared, found.available) == (prepared, 12)
    assert found.chosen == [one.blank.id for one in prepared]
