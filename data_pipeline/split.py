"""Which repositories are trained on, validated with and tested on: ``OUT/split.json``, decided after collecting.

Every repository has a rank by the seed and its name, so adding one moves as few of the others as possible. Of several
copies of a repository only the first by rank is kept. Files of those that are kept and copied from each other are
listed in ``OUT/copied-files.json``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from repoformer.code.storage import read_json, read_parquet, write_json
from repoformer.config import Section, config_hash, parse_recipe
from repoformer.errors import UserError
from repoformer.seeding import stable_hash

from .deduplicate import Duplicates, FileSignature, find_duplicates
from .done import all_done
from .recipe import DataRecipe
from .stage import shards_of

SIDES = ("train", "validation", "test")


class Split(Section):
    """``split.json``: names of repositories, sorted."""

    train: list[str]
    validation: list[str]
    test: list[str]
    copies: dict[str, str] = {}
    """Repositories that were left out, and the one that each is a copy of."""
    made_from: str = ""
    """Hash of the collected repositories and the settings."""

    @property
    def sides(self) -> dict[str, str]:
        """The side of every repository that is kept."""
        return {name: side for side in SIDES for name in getattr(self, side)}


def write_split(recipe: DataRecipe) -> None:
    """Draw the repositories that are kept and the side that each is on, unless that is done."""
    done = all_done("collect", recipe)
    settings = recipe.model_dump(mode="json", include={"seed": True, "split": True, "filter": {"repositories"}})
    made_from = config_hash(settings, [each.output for each in done])
    both = _path(recipe).is_file() and copied_files(recipe).is_file()
    if both and read_split(recipe).made_from == made_from:
        return
    found = _duplicates(recipe)
    refused = {name: reason for each in done for name, reason in each.refused}
    refused |= {name: f"copy of {original}" for name, original in found.copies.items()}
    _check_enough(recipe, found.originals, refused)
    drawn = split(found.originals, recipe)
    write_json(copied_files(recipe), dict(sorted(found.files.items())))
    copies = dict(sorted(found.copies.items()))
    write_json(_path(recipe), Split(**drawn, copies=copies, made_from=made_from).model_dump(mode="json"))


def read_split(recipe: DataRecipe) -> Split:
    """What :func:`write_split` wrote."""
    return parse_recipe(Split, read_json(_path(recipe)), str(_path(recipe)))


def copied_files(recipe: DataRecipe) -> Path:
    """Where it stands, by repository and path, what files are copies of from which no blank is drawn."""
    return Path(recipe.out, "copied-files.json")


def split(repositories: Iterable[str], recipe: DataRecipe) -> dict[str, list[str]]:
    """Repositories by side, at least one on each; three or more are needed."""
    kept = _ranked(repositories, recipe)[: recipe.filter.repositories or None]
    named = len(set(recipe.split.test_repositories))
    test = named or _share(recipe.split.test, len(kept), len(kept) - 2)
    validation = _share(recipe.split.validation, len(kept) - named, len(kept) - test - 1)
    return {
        "train": sorted(kept[test + validation :]),
        "validation": sorted(kept[test : test + validation]),
        "test": sorted(kept[:test]),
    }


def _duplicates(recipe: DataRecipe) -> Duplicates:
    """Copies among the collected repositories, the first by rank being the original."""
    found = [one for shard in shards_of(recipe) for one in read_parquet(FileSignature, shard.part("signatures"))]
    return find_duplicates(found, _ranked({one.repository for one in found}, recipe))


def _ranked(repositories: Iterable[str], recipe: DataRecipe) -> list[str]:
    """Those that are named for testing first: of copies they are the ones that are kept."""
    named = set(recipe.split.test_repositories)
    return sorted(repositories, key=lambda name: (name not in named, stable_hash(recipe.seed, "split", name), name))


def _share(share: float, count: int, most: int) -> int:
    return min(max(1, round(share * count)), most)


def _path(recipe: DataRecipe) -> Path:
    return Path(recipe.out, "split.json")


def _check_enough(recipe: DataRecipe, passed: list[str], refused: dict[str, str]) -> None:
    """Every repository that is named for testing must have passed, and enough of the others."""
    collected, named = Path(recipe.out, "collect"), set(recipe.split.test_repositories)
    for name in sorted(named.difference(passed)):
        reason = refused.get(name, "no source has it")
        raise UserError(f"{collected}: {name} is in split.test_repositories, but {reason}; take it out or correct it")
    needed = max(len(SIDES), len(named) + len(SIDES) - 1)
    kept = min(len(passed), recipe.filter.repositories or len(passed))
    if kept >= needed:
        return
    reasons = [f"{name}: {reason}" for name, reason in sorted(refused.items())]
    shown = "; ".join(reasons[:5]) + ("; ..." if len(reasons) > 5 else "")
    raise UserError(
        f"{collected}: {kept} repositories passed, {needed} are needed (training, validation, test); "
        f"{len(refused)} were refused ({shown}); add sources or relax filter or licences"
    )
