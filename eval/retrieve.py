"""Step one: the cross-file context of every blank, the same for all models, and the facts that need the repositories.

    out/contexts.jsonl    one `Prepared` a line

One repository after the other and in this process alone, because the seconds count. A blank whose context breaks the
leak rule stops the evaluation: its scores would be worth nothing.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tqdm import tqdm

from repoformer.benchmarks.given_context import given_leaks
from repoformer.code.lines import lines_of
from repoformer.code.records import Blank, Kind, Repository, RetrievedContext
from repoformer.context.leaks import TELLING_CHARACTERS, CopyFinder, leaks, squeezed
from repoformer.context.next_chunk import NextChunk
from repoformer.context.next_chunk_settings import NextChunkSettings
from repoformer.context.verbatim import stands_elsewhere
from repoformer.errors import UserError
from repoformer.retrieval.scorers import compile_search

from .recipe import EvalRecipe
from .record_log import RecordLog
from .shards import WHOLE, Shard, finished_shards, merge
from .sources import Asked, Source

NOTHING = RetrievedContext((), "", False, "none", 0.0)
"""The context of a blank for which there is nothing to search and nothing given."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A blank and its context: what every model is asked.

    ``context.seconds`` is the retrieval with the repository's index at hand (warm); ``index_seconds`` is what building
    that index takes, so both together are a first completion in a repository (cold). ``stands_elsewhere``: the
    target's lines stand as they are in another file of the repository that is no copy of the blank's; ``duplication``:
    the share of the repository's telling lines that stand in it more than once. None where there is no repository.
    """

    schema: ClassVar[int] = 2
    blank: Blank
    context: RetrievedContext
    index_seconds: float
    stands_elsewhere: bool | None
    duplication: float | None


def contexts_log(out: Path) -> RecordLog[Prepared]:
    """Where the contexts are kept."""
    return RecordLog(Prepared, out / "contexts.jsonl")


def retrieve(recipe: EvalRecipe, source: Asked, shard: Shard = WHOLE, group: int = 1) -> list[Prepared]:
    """The blanks that the recipe chooses with their contexts; those of an earlier run are not retrieved again.

    A shard gets its share of the groups of ``group`` blanks that follow each other.
    """
    chosen = source.blanks[: recipe.limit or None]
    groups = [chosen[start : start + group] for start in range(0, len(chosen), group)]
    blanks = [blank for one in shard.part(groups) for blank in one]
    log = contexts_log(shard.folder(Path(recipe.out)))
    made_with = dict(source.made_with) | {"retrieval": recipe.retrieve.model_dump(mode="json")}
    prepared = {one.blank.id: one for one in log.resume(made_with)}
    missing = [blank for blank in blanks if blank.id not in prepared]
    with tqdm(total=len(missing), desc="retrieve", unit="blank", disable=not missing) as bar:
        for found in prepared_for(source, missing, recipe.retrieve):
            log.append(found)
            prepared.update((one.blank.id, one) for one in found)
            bar.update(len(found))
    facts = {"available": len(source.blanks), "source": source.source.to_json()}
    log.note(facts | {"blanks": [blank.id for blank in blanks], "chosen": [blank.id for blank in chosen]})
    return [prepared[blank.id] for blank in blanks]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the last :func:`retrieve` returned, from its file alone."""

    prepared: list[Prepared]
    chosen: list[str]
    """Ids of all blanks that were chosen, those of other shards included."""
    available: int
    """Blanks that there were to choose from."""
    source: Source


def retrieved(out: Path) -> Retrieved:
    """What was retrieved last, in all shards together."""
    log = contexts_log(out)
    facts = log.facts()
    prepared = {one.blank.id: one for one in log.read()}
    mine = [prepared[id] for id in facts["blanks"]]
    return Retrieved(mine, facts["chosen"], facts["available"], Source.from_json(facts["source"]))


def merge_contexts(out: Path) -> None:
    """The contexts of all shards in one file, if the run was sharded."""
    logs = [contexts_log(folder) for folder in finished_shards(out)]
    if logs:
        facts = logs[0].facts()
        merge(logs, contexts_log(out), facts | {"blanks": facts["chosen"]})


def prepared_for(source: Asked, blanks: Sequence[Blank], settings: NextChunkSettings) -> Iterator[list[Prepared]]:
    """First the blanks whose context is given, then the others repository by repository."""
    given = [blank for blank in blanks if blank.id in source.given]
    if given:
        yield [_given(blank, source.given[blank.id]) for blank in given]
    others: dict[str, list[Blank]] = defaultdict(list)
    for blank in blanks:
        if blank.id not in source.given:
            others[source.folder(blank)].append(blank)
    if source.repositories is None:
        yield [Prepared(blank, NOTHING, 0.0, None, None) for group in others.values() for blank in group]
        return
    for repository in source.repositories(others.keys()):
        yield list(prepare(repository, others[repository.id], settings))


def _given(blank: Blank, context: RetrievedContext) -> Prepared:
    _refuse_leaks(blank, given_leaks(blank, context))
    return Prepared(blank, context, 0.0, None, None)


def prepare(repository: Repository, blanks: Sequence[Blank], settings: NextChunkSettings) -> Iterator[Prepared]:
    """Contexts for blanks of one repository; one index for each size of window that they need."""
    compile_search(settings.scorer)  # no part of what is measured
    started = time.perf_counter()
    copies = CopyFinder(repository.files)
    finder_seconds = time.perf_counter() - started
    indexes: dict[tuple[int, int], tuple[NextChunk, float]] = {}
    duplication = duplicated_lines(repository)
    for blank in blanks:
        size = settings.chunking(blank.kind)
        if size not in indexes:
            indexes[size] = _index(repository, blank.kind, settings, copies)
            indexes[size][0].retrieve(blank)  # the first search also pages the index in, which is not retrieval
        index, index_seconds = indexes[size]
        context = index.retrieve(blank)
        _refuse_leaks(blank, leaks(blank, context, repository.files))
        elsewhere = stands_elsewhere(blank, repository.files, copies)
        yield Prepared(blank, context, finder_seconds + index_seconds, elsewhere, duplication)


def duplicated_lines(repository: Repository) -> float | None:
    """The share of a repository's lines that stand in it more than once; short ones, spaces not counted, left out."""
    lines = Counter[str]()
    for file in repository.files:
        lines.update(line for line in map(squeezed, lines_of(file.text)) if len(line) >= TELLING_CHARACTERS)
    return sum(count for count in lines.values() if count > 1) / lines.total() if lines else None


def _refuse_leaks(blank: Blank, problems: Sequence[str]) -> None:
    if problems:
        raise UserError(
            f"blank {blank.id} ({blank.path}:{blank.start + 1} of {blank.repository}): its context breaks the leak "
            f"rule: {'; '.join(problems)}; nothing was evaluated, make the data again or report this as a bug"
        )


def _index(
    repository: Repository, kind: Kind, settings: NextChunkSettings, copies: CopyFinder
) -> tuple[NextChunk, float]:
    started = time.perf_counter()
    index = settings.index(repository.files, kind, copies)
    return index, time.perf_counter() - started
