"""Which repositories are trained on, validated with and tested on: ``OUT/split.json``, decided after collecting.

Every repository has a rank by the seed and its name, so adding one moves as few of the others as possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet

from repoformer.code.storage import read_json, write_json
from repoformer.errors import UserError
from repoformer.seeding import stable_hash

from .done import all_done
from .recipe import DataRecipe
from .stage import shards_of

SIDES = ("train", "validation", "test")


def write_split(recipe: DataRecipe) -> None:
    """Draw the repositories that are kept, and the side that each is on."""
    names = [name for shard in shards_of(recipe) for name in _names(shard.part("collect"))]
    if len(names) < len(SIDES):
        raise UserError(_too_few(recipe, names))
    write_json(Path(recipe.out, "split.json"), split(names, recipe))


def split(repositories: Iterable[str], recipe: DataRecipe) -> dict[str, list[str]]:
    """Repositories by side, at least one on each; three or more are needed."""
    ranked = sorted(repositories, key=lambda name: (stable_hash(recipe.seed, "split", name), name))
    kept = ranked[: recipe.filter.repositories or None]
    test = _share(recipe.split.test, len(kept), len(kept) - 2)
    validation = _share(recipe.split.validation, len(kept), len(kept) - test - 1)
    return {
        "train": sorted(kept[test + validation :]),
        "validation": sorted(kept[test : test + validation]),
        "test": sorted(kept[:test]),
    }


def read_split(recipe: DataRecipe) -> dict[str, list[str]]:
    """What :func:`write_split` wrote."""
    sides: dict[str, list[str]] = read_json(Path(recipe.out, "split.json"))
    return sides


def trained_on(recipe: DataRecipe) -> list[str]:
    """The repositories that training sees, to learn from or to validate with."""
    sides = read_split(recipe)
    return [*sides["train"], *sides["validation"]]


def _share(share: float, count: int, most: int) -> int:
    return min(max(1, round(share * count)), most)


def _names(part: Path) -> list[str]:
    return [str(name) for name in pyarrow.parquet.read_table(part, columns=["id"])["id"].to_pylist()]


def _too_few(recipe: DataRecipe, names: list[str]) -> str:
    refused = [f"{name}: {reason}" for done in all_done("collect", recipe) for name, reason in done.refused]
    shown = "; ".join(sorted(refused)[:5]) + ("; ..." if len(refused) > 5 else "")
    return (
        f"{Path(recipe.out, 'collect')}: {len(names)} repositories passed, 3 are needed (training, validation, test); "
        f"{len(refused)} were refused"
        + (f" ({shown})" if refused else "")
        + "; add sources or relax filter or licences"
    )
