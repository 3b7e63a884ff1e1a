"""Step one: the cross-file context of every blank, the same for all models, and the facts that need the repositories.

    out/contexts.jsonl    one `Prepared` a line

One repository after the other and in this process alone, because the seconds count. A blank whose context breaks the
leak rule stops the evaluation: its scores would be worth nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tqdm import tqdm

from repoformer.code.records import Blank, Repository, RetrievedContext
from repoformer.code.storage import files_hash
from repoformer.context.leaks import CopyFinder, leaks
from repoformer.context.next_chunk import NextChunk
from repoformer.errors import UserError

from .blanks import held_out_blanks, parts_of, repositories
from .recipe import EvalRecipe, Retrieval
from .record_log import RecordLog


@dataclass(frozen=True, slots=True)
class Prepared:
    """A blank and its context: what every model is asked.

    ``context.seconds`` is the retrieval with the repository's index at hand (warm); ``index_seconds`` is what building
    that index takes, so both together are a first completion in a repository (cold). ``stands_elsewhere``: the
    target's lines stand as they are in another file of the repository that is no copy of the blank's.
    """

    schema: ClassVar[int] = 1
    blank: Blank
    context: RetrievedContext
    index_seconds: float
    stands_elsewhere: bool


def contexts_log(out: Path) -> RecordLog[Prepared]:
    """Where the contexts are kept."""
    return RecordLog(Prepared, out / "contexts.jsonl")


def retrieve(recipe: EvalRecipe) -> list[Prepared]:
    """The blanks that the recipe chooses with their contexts; those of an earlier run are not retrieved again."""
    data = Path(recipe.data)
    held_out = held_out_blanks(data, recipe.seed)
    blanks = held_out[: recipe.limit or None]
    log = contexts_log(Path(recipe.out))
    made_with = {
        "repositories": files_hash(parts_of(data / "collect")),
        "blanks": files_hash(parts_of(data / "sample")),
        "retrieval": recipe.retrieve.model_dump(mode="json"),
    }
    prepared = {one.blank.id: one for one in log.resume(made_with)}
    missing: dict[str, list[Blank]] = defaultdict(list)
    for blank in blanks:
        if blank.id not in prepared:
            missing[blank.repository].append(blank)
    bar = tqdm(total=sum(map(len, missing.values())), desc="retrieve", unit="blank", disable=not missing)
    with bar:
        for repository in repositories(data, missing):
            found = list(prepare(repository, missing[repository.id], recipe.retrieve))
            log.append(found)
            prepared.update((one.blank.id, one) for one in found)
            bar.update(len(found))
    log.note({"available": len(held_out), "blanks": [blank.id for blank in blanks]})
    return [prepared[blank.id] for blank in blanks]


def retrieved(out: Path) -> tuple[list[Prepared], int]:
    """What the last :func:`retrieve` returned, from its file alone, and how many held-out blanks there were."""
    log = contexts_log(out)
    facts = log.facts()
    prepared = {one.blank.id: one for one in log.read()}
    return [prepared[id] for id in facts["blanks"]], facts["available"]


def prepare(repository: Repository, blanks: Sequence[Blank], settings: Retrieval) -> Iterator[Prepared]:
    """Contexts for blanks of one repository; one index for each size of window that they need."""
    started = time.perf_counter()
    copies = CopyFinder(repository.files)
    finder_seconds = time.perf_counter() - started
    indexes: dict[tuple[int, int], tuple[NextChunk, float]] = {}
    for blank in blanks:
        size = settings.chunking(blank.kind)
        if size not in indexes:
            indexes[size] = _index(repository, settings, size, copies)
            indexes[size][0].retrieve(blank)  # the first search also pages the index in, which is not retrieval
        index, index_seconds = indexes[size]
        context = index.retrieve(blank)
        problems = leaks(blank, context, repository.files)
        if problems:
            raise UserError(
                f"blank {blank.id} ({blank.path}:{blank.start + 1} of {blank.repository}): its context breaks the leak "
                f"rule: {'; '.join(problems)}; nothing was evaluated, make the data again or report this as a bug"
            )
        yield Prepared(blank, context, finder_seconds + index_seconds, _stands_elsewhere(blank, repository, copies))


def _index(
    repository: Repository, settings: Retrieval, size: tuple[int, int], copies: CopyFinder
) -> tuple[NextChunk, float]:
    started = time.perf_counter()
    window, stride = size
    index = NextChunk(
        repository.files,
        window=window,
        stride=stride,
        top=settings.top,
        neighbour=settings.neighbour,
        query_lines=settings.query_lines,
        copies=copies,
    )
    return index, time.perf_counter() - started


def _stands_elsewhere(blank: Blank, repository: Repository, copies: CopyFinder) -> bool:
    own = {blank.path} | copies.copies_of(blank.path, blank.left + blank.target + blank.right)
    lines = f"\n{blank.target}\n"
    return any(lines in f"\n{file.text}\n" for file in repository.files if file.path not in own)
