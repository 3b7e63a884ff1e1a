"""What a stage is: a function over one shard, and what its result depends on.

    OUT/STAGE/part-00001-of-00008.parquet      records
    OUT/STAGE/part-00001-of-00008.done.json    written last: counts, and hashes of what the part was made from

A repository belongs to the same shard in every stage, by a hash of its name, so a new repository changes one shard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repoformer.seeding import stable_hash

from .recipe import DataRecipe

Advance = Callable[[int], object]
"""Tells the progress bar how many more units are done."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of the work."""

    recipe: DataRecipe
    number: int

    @property
    def name(self) -> str:
        """Stem of this shard's file names."""
        return f"part-{self.number:05d}-of-{self.recipe.shards:05d}"

    def part(self, *folders: str) -> Path:
        """This shard's records in ``OUT/folders``."""
        return Path(self.recipe.out, *folders, f"{self.name}.parquet")

    def done(self, stage: str) -> Path:
        """What says that this shard of a stage is finished."""
        return Path(self.recipe.out, stage, f"{self.name}.done.json")

    def owns(self, repository: str) -> bool:
        """Whether this repository is in this shard."""
        return stable_hash("shard", repository) % self.recipe.shards == self.number


@dataclass(slots=True)
class Stats:
    """What became of one shard."""

    rows: int = 0
    """Records written."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Things set aside, by reason."""
    counts: Counter[str] = field(default_factory=Counter)
    """Other things worth knowing."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Repositories that are not used, with the reason."""
    seconds: float = 0.0
    """What earlier attempts took whose work was kept."""


@dataclass(frozen=True, slots=True)
class Input:
    """What one shard of a stage reads."""

    hash: str
    units: int
    """How much there is to do, for the progress bar."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A verb over shards. ``run_shard`` writes the parts in ``folders`` and nothing else."""

    name: str
    unit: str
    folders: tuple[str, ...]
    """Where its parts go, relative to OUT."""
    settings: Callable[[DataRecipe], Any]
    """The part of the recipe that its result depends on, as plain values."""
    inputs: Callable[[Sequence[Shard]], list[Input]]
    """What each of these shards reads. Earlier stages and their settings are in here, as hashes of what they wrote."""
    run_shard: Callable[[Shard, Advance], Stats]

    def parts(self, shard: Shard) -> list[Path]:
        """The files that hold the shard's records."""
        return [shard.part(*folder.split("/")) for folder in self.folders]


def shards_of(recipe: DataRecipe) -> list[Shard]:
    """All shards of a run."""
    return [Shard(recipe, number) for number in range(recipe.shards)]


def owned(shard: Shard, repositories: Iterable[str]) -> list[str]:
    """Those of the repositories that are in the shard, sorted."""
    return sorted(filter(shard.owns, repositories))
