"""Retrieve: cross-file context for the blanks of training and validation repositories.

Queries of validation blanks never hold the target, for thresholds are chosen there and no editor knows it; of training
blanks a share does (appendix D). Test repositories are left to the evaluation, which retrieves by itself and times it.
Times would make two runs differ, so the seconds of a context are stored as zero here.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from repoformer.code.records import Blank, Kind, Repository, RetrievedContext, SourceFile
from repoformer.code.storage import read_parquet, write_parquet
from repoformer.config import config_hash
from repoformer.context.leaks import CopyFinder
from repoformer.context.next_chunk import NextChunk
from repoformer.context.verbatim import stands_elsewhere
from repoformer.seeding import generator

from .done import done_of
from .recipe import DataRecipe
from .split import read_split
from .stage import Advance, Input, Shard, Stage, Stats, owned


@dataclass(frozen=True, slots=True)
class BlankInContext:
    """A blank with what was retrieved for it."""

    schema: ClassVar[int] = 1
    blank: Blank
    context: RetrievedContext


def settings(recipe: DataRecipe) -> Any:
    """The seed, which decides whose query holds the target, and how context is found."""
    return recipe.model_dump(mode="json", include={"seed", "retrieve"})


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """The blanks, the files of their repositories, and which repositories are trained on."""
    split = read_split(shards[0].recipe)
    stages = zip(shards, done_of("collect", shards), done_of("sample", shards), strict=True)
    return [
        Input(
            config_hash(collected.output, sampled.output, owned(shard, split.train), owned(shard, split.validation)),
            sampled.rows,
        )
        for shard, collected, sampled in stages
    ]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Search each repository for the context of each of its blanks."""
    stats = Stats()
    stats.rows = write_parquet(shard.part("retrieve"), _in_context(shard, stats, advance), BlankInContext)
    return stats


def _in_context(shard: Shard, stats: Stats, advance: Advance) -> Iterator[BlankInContext]:
    blanks: dict[str, list[Blank]] = defaultdict(list)
    for blank in read_parquet(Blank, shard.part("sample")):
        blanks[blank.repository].append(blank)
    sides = read_split(shard.recipe).sides
    for repository in read_parquet(Repository, shard.part("collect")):
        side = sides.get(repository.id)
        if side in ("train", "validation") and blanks[repository.id]:
            files = sorted(repository.files, key=lambda file: file.path)
            copies = CopyFinder(files)
            searches = _searches(files, copies, shard.recipe)
            share = shard.recipe.retrieve.query_holds_target if side == "train" else 0.0
            for blank in blanks[repository.id]:
                context = _context(searches[blank.kind], blank, shard.recipe.seed, share)
                stats.counts["target stands verbatim in another file"] += stands_elsewhere(blank, files, copies)
                stats.counts["query holds the target"] += context.query_holds_target
                stats.counts["nothing retrieved"] += not context.chunks
                yield BlankInContext(blank, context)
        advance(len(blanks[repository.id]))


def _searches(files: Sequence[SourceFile], copies: CopyFinder, recipe: DataRecipe) -> dict[str, NextChunk]:
    """One search per kind of blank, over windows of its size; what they can share they do."""
    kinds: tuple[Kind, ...] = ("chunk", "function")
    return {kind: recipe.retrieve.index(files, kind, copies) for kind in kinds}


def _context(search: NextChunk, blank: Blank, seed: int, query_holds_target: float) -> RetrievedContext:
    """Context whose query holds the target with this probability."""
    drawn = generator(seed, "query-holds-target", blank.id).random()
    context = search.retrieve(blank, query_holds_target=drawn < query_holds_target)
    return dataclasses.replace(context, seconds=0.0)


STAGE = Stage("retrieve", "blank", ("retrieve",), settings, inputs, run_shard)
