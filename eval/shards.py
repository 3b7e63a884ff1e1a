"""Several processes or machines, each with its share of the blanks; what they made is merged by the blanks' ids.

    out/shards/00001-of-00004/    a run of its own: contexts.jsonl, predictions/

A shard takes whole groups of blanks (see ``generate.py``), so every batch is the one that a single process would form,
and the merged predictions are those of a single process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from repoformer.errors import UserError

from .record_log import RecordLog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shard:
    """Share ``number`` (0-based) of ``of``."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise UserError(f"shard {self.number}/{self.of}: shards are numbered from 0 to {self.of - 1}")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``K/N``, K from 0."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None:
            raise UserError(f"shard {text!r}: write K/N, for example 0/4 for the first of four")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_launcher(cls) -> Shard:
        """This process among those that ``accelerate launch`` or ``torchrun`` started; all of it without one."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    def folder(self, out: Path) -> Path:
        """Where this shard writes; a run that is not sharded writes into ``out`` itself."""
        return out if self.of == 1 else out / "shards" / f"{self.number:05d}-of-{self.of:05d}"

    def part(self, groups: Sequence[T]) -> list[T]:
        """The groups that are this shard's."""
        return list(groups[self.number :: self.of])


WHOLE = Shard()
"""Everything in one process."""


def finished_shards(out: Path) -> list[Path]:
    """The folders of a sharded run, all there; none for a run that was not sharded."""
    folders = sorted((out / "shards").glob("[0-9]*-of-[0-9]*"))
    if not folders:
        return []
    counts = {folder.name.partition("-of-")[2] for folder in folders}
    if len(counts) > 1:
        raise UserError(f"{out / 'shards'}: shards of {' and '.join(sorted(counts))}; delete those of the older run")
    (count,) = counts
    if len(folders) < int(count):
        raise UserError(f"{out / 'shards'}: {len(folders)} of {int(count)} shards are there; run the others first")
    return folders


def merge(logs: Sequence[RecordLog[Any]], into: RecordLog[Any], facts: dict[str, Any]) -> None:
    """All records of ``logs`` in one; they must have been made with the same."""
    made_with = [log.made_with() for log in logs]
    for log, made in zip(logs, made_with, strict=True):
        different = sorted(key for key in made.keys() | made_with[0].keys() if made.get(key) != made_with[0].get(key))
        if different:
            raise UserError(f"{log.path}: made with other {', '.join(different)} than {logs[0].path}; run it again")
    into.replace(made_with[0], facts, (record for log in logs for record in log.read()))
