"""``.done.json``: what a finished shard was made from, what came out, and whether that still holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from repoformer.code.storage import files_hash, read_json, write_json
from repoformer.config import Section, config_hash
from repoformer.errors import UserError

from .recipe import DataRecipe
from .stage import Input, Shard, Stage, Stats, shards_of


class Done(Section):
    """The record of one finished shard."""

    rows: int
    dropped: dict[str, int]
    counts: dict[str, int]
    refused: list[tuple[str, str]]
    seconds: float
    units: int = 0
    """How much there was to do, as the progress bar counts; what is left of a run is estimated from it."""
    config: str
    """Hash of the settings of the stage."""
    input: str
    output: str
    """Hash of the parts that were written: part of the next stage's input."""


def is_done(stage: Stage, shard: Shard, given: Input) -> bool:
    """Whether the shard's parts are there and were made from the same settings and the same input."""
    return has_settings(stage, shard) and read_done(shard.done(stage.name)).input == given.hash


def has_settings(stage: Stage, shard: Shard) -> bool:
    """Whether the shard's parts are there and were made from the same settings."""
    path = shard.done(stage.name)
    if not path.is_file() or not all(part.is_file() for part in stage.parts(shard)):
        return False
    return read_done(path).config == settings_hash(stage, shard.recipe)


def begin(stage: Stage, shard: Shard) -> None:
    """From here on the shard is unfinished; what a killed attempt left half-written goes away."""
    shard.done(stage.name).unlink(missing_ok=True)
    for path in [*stage.parts(shard), shard.done(stage.name)]:
        for leftover in path.parent.glob(f".{path.name}.*.tmp"):
            leftover.unlink(missing_ok=True)


def finish(stage: Stage, shard: Shard, given: Input, stats: Stats, seconds: float) -> None:
    """Say that the shard is finished, after its parts are in place."""
    done = Done(
        rows=stats.rows,
        dropped=_sorted(stats.dropped),
        counts=_sorted(stats.counts),
        refused=sorted(stats.refused),
        seconds=round(seconds, 3),
        units=given.units,
        config=settings_hash(stage, shard.recipe),
        input=given.hash,
        output=files_hash(stage.parts(shard)),
    )
    write_json(shard.done(stage.name), done.model_dump(mode="json"))


def read_done(path: Path) -> Done:
    """The record at ``path``."""
    values: Any = read_json(path)
    try:
        return Done.model_validate(values)
    except ValidationError:
        raise UserError(f"{path}: not the record of a finished shard; delete it and run again") from None


def all_done(stage: str, recipe: DataRecipe) -> list[Done]:
    """The records of all shards of a finished stage, in order."""
    return done_of(stage, shards_of(recipe))


def done_of(stage: str, shards: Sequence[Shard]) -> list[Done]:
    """The records of these shards of a stage, which must be finished."""
    return [read_done(shard.done(stage)) for shard in shards]


def settings_hash(stage: Stage, recipe: DataRecipe) -> str:
    """A hash of what the recipe says to a stage."""
    return config_hash(stage.name, stage.settings(recipe))


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
