"""Collect: repositories with an allowed licence that pass the paper's filter, as `Repository` records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from repoformer.code.collect import Collected, collect, fingerprint
from repoformer.code.records import Repository
from repoformer.code.sources.candidate import Candidate
from repoformer.code.storage import write_parquet
from repoformer.config import config_hash

from .decontaminate import Contamination, benchmark_hashes, contamination, leave_out
from .deduplicate import FileSignature, signatures
from .recipe import DataRecipe
from .stage import Advance, Input, Shard, Stage, Stats


def candidates(recipe: DataRecipe) -> list[Candidate]:
    """What the recipe's sources offer, in the order of the sources."""
    return [candidate for source in recipe.sources for candidate in source.candidates()]


def settings(recipe: DataRecipe) -> Any:
    """Without ``filter.repositories``, which is decided after this stage."""
    include = {"licences": True, "filter": True, "decontaminate": True}
    return recipe.model_dump(mode="json", include=include, exclude={"filter": {"repositories"}})


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """Told from names, sizes and times of files, so that a second run need not read them again."""
    recipe = shards[0].recipe
    offered, benchmarks = candidates(recipe), benchmark_hashes(recipe.decontaminate)
    return [_input([each for each in offered if shard.owns(each.id)], benchmarks) for shard in shards]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Read the shard's candidates; of several with one name the first is taken. Signatures are for `deduplicate`."""
    stats = Stats()
    signed: list[FileSignature] = []
    stats.rows = write_parquet(shard.part("collect"), _signed(_collected(shard, stats, advance), signed), Repository)
    write_parquet(shard.part("signatures"), signed, FileSignature)
    return stats


def _signed(repositories: Iterator[Repository], signed: list[FileSignature]) -> Iterator[Repository]:
    for repository in repositories:
        signed += signatures(repository)
        yield repository


def _collected(shard: Shard, stats: Stats, advance: Advance) -> Iterator[Repository]:
    seen = set()
    benchmarks = contamination(shard.recipe.decontaminate)
    mine = [candidate for candidate in candidates(shard.recipe) if shard.owns(candidate.id)]
    for candidate in sorted(mine, key=lambda candidate: candidate.id):
        if candidate.id in seen:
            stats.refused.append((candidate.id, "another source has a repository of this name"))
            continue
        seen.add(candidate.id)
        collected = _collect(candidate, shard.recipe, benchmarks, stats)
        advance(1)
        stats.dropped.update(collected.dropped)
        if collected.repository is None:
            stats.refused.append((candidate.id, collected.refused))
            continue
        stats.counts["files"] += len(collected.repository.files)
        yield collected.repository


def _collect(candidate: Candidate, recipe: DataRecipe, benchmarks: Contamination, stats: Stats) -> Collected:
    named = benchmarks.refusal(candidate.id)
    if named:
        return Collected(candidate.id, None, named)
    left_out = leave_out(benchmarks, lambda path, why: stats.refused.append((f"{candidate.id}/{path}", why)))
    return collect(candidate, recipe.licences, recipe.filter.requirements, left_out)


def _input(offered: list[Candidate], benchmarks: list[str]) -> Input:
    return Input(config_hash([fingerprint(candidate) for candidate in offered], benchmarks), len(offered))


STAGE = Stage("collect", "repository", ("collect", "signatures"), settings, inputs, run_shard)
