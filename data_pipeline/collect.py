"""Collect: repositories with an allowed licence that pass the paper's filter, as `Repository` records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from repoformer.code.collect import Candidate, collect, fingerprint
from repoformer.code.records import Repository
from repoformer.code.sources import folder_candidates, installed_candidates
from repoformer.code.storage import write_parquet
from repoformer.config import config_hash

from .recipe import DataRecipe, FolderSource
from .stage import Advance, Input, Shard, Stage, Stats


def candidates(recipe: DataRecipe) -> list[Candidate]:
    """What the recipe's sources offer, in the order of the sources."""
    found: list[Candidate] = []
    for source in recipe.sources:
        if isinstance(source, FolderSource):
            found += folder_candidates(Path(source.path).expanduser(), each=source.each, granted=source.licence)
        else:
            found += installed_candidates(source.include, source.exclude, source.site_packages)
    return found


def settings(recipe: DataRecipe) -> Any:
    """Without ``filter.repositories``, which is decided after this stage."""
    return recipe.model_dump(
        mode="json", include={"licences": True, "filter": True}, exclude={"filter": {"repositories"}}
    )


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """Told from names, sizes and times of files, so that a second run need not read them again."""
    offered = candidates(shards[0].recipe)
    return [_input([candidate for candidate in offered if shard.owns(candidate.id)]) for shard in shards]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Read the shard's candidates; of several with one name the first is taken."""
    stats = Stats()
    stats.rows = write_parquet(shard.part("collect"), _collected(shard, stats, advance), Repository)
    return stats


def _collected(shard: Shard, stats: Stats, advance: Advance) -> Iterator[Repository]:
    seen = set()
    mine = [candidate for candidate in candidates(shard.recipe) if shard.owns(candidate.id)]
    for candidate in sorted(mine, key=lambda candidate: candidate.id):
        if candidate.id in seen:
            stats.refused.append((candidate.id, "another source has a repository of this name"))
            continue
        seen.add(candidate.id)
        collected = collect(candidate, shard.recipe.licences, shard.recipe.filter.requirements)
        advance(1)
        stats.dropped.update(collected.dropped)
        if collected.repository is None:
            stats.refused.append((candidate.id, collected.refused))
            continue
        stats.counts["files"] += len(collected.repository.files)
        yield collected.repository


def _input(offered: list[Candidate]) -> Input:
    return Input(config_hash([fingerprint(candidate) for candidate in offered]), len(offered))


STAGE = Stage("collect", "repository", ("collect",), settings, inputs, run_shard)
