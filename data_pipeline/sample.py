"""Sample: chunk blanks and function blanks of every repository that is kept, test repositories included.

None is drawn from a file that is a copy of another repository's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from repoformer.code.chunk_blanks import chunk_blanks
from repoformer.code.function_blanks import function_blanks
from repoformer.code.records import Blank, Repository
from repoformer.code.storage import read_json, read_parquet, write_parquet
from repoformer.config import config_hash

from .done import done_of
from .recipe import DataRecipe
from .split import copied_files, read_split
from .stage import Advance, Input, Shard, Stage, Stats, owned


def settings(recipe: DataRecipe) -> Any:
    """The seed and how blanks are drawn."""
    return recipe.model_dump(mode="json", include={"seed", "sample"})


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """The collected repositories, which of them are kept, and which of their files are copies."""
    recipe = shards[0].recipe
    kept, copied = read_split(recipe).sides, read_json(copied_files(recipe))
    collected = zip(shards, done_of("collect", shards), strict=True)
    return [
        Input(config_hash(done.output, mine := owned(shard, kept), [copied.get(name) for name in mine]), len(mine))
        for shard, done in collected
    ]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Draw the blanks of the shard's repositories."""
    stats = Stats()
    stats.rows = write_parquet(shard.part("sample"), _blanks(shard, stats, advance), Blank)
    return stats


def _blanks(shard: Shard, stats: Stats, advance: Advance) -> Iterator[Blank]:
    drawing, seed = shard.recipe.sample, shard.recipe.seed
    kept, copied = read_split(shard.recipe).sides, read_json(copied_files(shard.recipe))
    for repository in read_parquet(Repository, shard.part("collect")):
        if repository.id not in kept:
            continue
        repository = _without(repository, copied.get(repository.id, {}), stats)
        chunks = chunk_blanks(
            repository,
            seed=seed,
            most=drawing.chunks_per_repository,
            lines_mean=drawing.lines_mean,
            clustered=drawing.clustered_chunks,
        )
        functions = function_blanks(
            repository,
            seed=seed,
            most=drawing.functions_per_repository,
            lines=drawing.function_lines,
            clustered=drawing.clustered_chunks,
        )
        advance(1)
        for sampled in (chunks, functions):
            stats.dropped.update(sampled.dropped)
            yield from sampled.blanks


def _without(repository: Repository, copied: Collection[str], stats: Stats) -> Repository:
    own = tuple(file for file in repository.files if file.path not in copied)
    stats.dropped["file that is a copy of another repository's"] += len(repository.files) - len(own)
    return dataclasses.replace(repository, files=own)


STAGE = Stage("sample", "repository", ("sample",), settings, inputs, run_shard)
