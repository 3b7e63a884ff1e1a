"""The blanks to evaluate on: those of repositories that no stage trained on, in an order that may be cut anywhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from repoformer.code.records import Blank, Repository
from repoformer.code.storage import read_json, read_parquet
from repoformer.errors import UserError
from repoformer.seeding import stable_hash

T = TypeVar("T")


def held_out_blanks(data: Path, seed: int) -> list[Blank]:
    """All blanks of the test repositories of a data run, in balanced order."""
    held_out = held_out_repositories(data)
    sampled = (blank for part in parts_of(data / "sample") for blank in read_parquet(Blank, part))
    blanks = [blank for blank in sampled if blank.repository in held_out]
    if not blanks:
        raise UserError(
            f"{data / 'sample'}: no blank of the {len(held_out)} test repositories; sample more per repository "
            "(sample.chunks_per_repository) or hold out more repositories (split.test)"
        )
    (identity, count), *_ = Counter(blank.id for blank in blanks).most_common(1)
    if count > 1:
        raise UserError(f"{data / 'sample'}: {count} blanks have the id {identity}; run the sample stage again")
    return balanced_order(blanks, seed)


def held_out_repositories(data: Path) -> frozenset[str]:
    """Ids of the repositories held out for evaluation; a repository on both sides of the split is refused."""
    path = data / "split.json"
    split = read_json(path)
    sides = ("train", "validation", "test")
    if not isinstance(split, dict) or not all(isinstance(split.get(side), list) for side in sides):
        raise UserError(f"{path}: expected lists of repositories under {', '.join(sides)}; run the data stages again")
    held_out = frozenset(split["test"])
    seen = held_out.intersection([*split["train"], *split["validation"]])
    if seen:
        raise UserError(f"{path}: {min(seen)} is in test and in training too; run the data stages again")
    if not held_out:
        raise UserError(f"{path}: no test repository; raise split.test or collect more repositories")
    return held_out


def balanced_order(blanks: Iterable[Blank], seed: int) -> list[Blank]:
    """A seeded order of which every beginning is balanced over repositories and, within each, over kinds.

    A smaller ``limit`` therefore takes a beginning of what a larger one takes, and raising it redoes nothing.
    """
    queues: dict[str, dict[str, list[Blank]]] = defaultdict(lambda: defaultdict(list))
    for blank in sorted(blanks, key=lambda blank: stable_hash(seed, "order", blank.id)):
        queues[blank.repository][blank.kind].append(blank)

    def drawn(*names: str) -> int:
        return stable_hash(seed, "order", *names)

    return _in_turn(
        _in_turn(queues[repository][kind] for kind in sorted(queues[repository], key=lambda k: drawn(repository, k)))
        for repository in sorted(queues, key=drawn)
    )


def repositories(data: Path, wanted: Collection[str]) -> Iterator[Repository]:
    """The ``wanted`` repositories with all their files, one shard of ``collect/`` in memory at a time."""
    missing = set(wanted)
    for part in parts_of(data / "collect"):
        for repository in read_parquet(Repository, part):
            if repository.id in missing:
                missing.discard(repository.id)
                yield repository
    if missing:
        raise UserError(f"{data / 'collect'}: blanks of {min(missing)}, but not the repository; run the stages again")


def parts_of(stage: Path) -> list[Path]:
    """The shards of a data stage; one that is missing or not finished is refused, or its blanks would just be left out.

    A finished ``part-00000-of-00002.parquet`` has a ``part-00000-of-00002.done.json`` beside it.
    """
    parts = sorted(stage.glob("part-[0-9]*-of-[0-9]*.parquet"))
    if not parts:
        raise UserError(f"{stage}: no part-00000-of-*.parquet here; run the data stages first (`repoformer data run`)")
    wanted = int(parts[0].stem.rpartition("-of-")[2])
    finished = sum(part.with_suffix(".done.json").is_file() for part in parts)
    if finished < wanted:
        raise UserError(f"{stage}: {finished} of {wanted} shards are finished; let `repoformer data run` go on first")
    return parts


def _in_turn(queues: Iterable[list[T]]) -> list[T]:
    """One from each queue, then the next from each, until all are empty."""
    nothing = object()
    return [item for turn in zip_longest(*queues, fillvalue=nothing) for item in turn if item is not nothing]  # type: ignore[misc]
