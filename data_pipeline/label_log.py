"""The completions of a shard while it is being labelled, so that a killed run does not generate them again.

    OUT/label/part-00003-of-00064.log.jsonl     first what they are made from, then a line for each batch

A line is written at once, so a kill leaves at most one that is broken, and it is cut off. Batches are the same on every
run over the same input, so going on gives what one run would have given. The file goes when the part is written.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from repoformer.code.records import from_row, to_row
from repoformer.code.storage import written_to
from repoformer.errors import UserError

from .stage import Shard


@dataclass(frozen=True, slots=True)
class Completed:
    """What a generator made of one blank; ``refused`` says why, where it made nothing."""

    schema: ClassVar[int] = 1
    id: str
    without: str = ""
    with_context: str = ""
    log_likelihood_without: float | None = None
    log_likelihood_with: float | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class CompletedBatch:
    """One line of the log."""

    schema: ClassVar[int] = 1
    seconds: float
    completed: tuple[Completed, ...]


class LabelLog:
    """The log of one shard, open for one process at a time."""

    def __init__(self, handle: IO[str], path: Path, made_from: str) -> None:
        self._handle, self._path = handle, path
        self.batches: list[CompletedBatch] = self._resume(made_from)

    def append(self, batch: CompletedBatch) -> None:
        """Add a batch; it is the operating system's when this returns."""
        self._write(to_row(batch))
        self.batches.append(batch)

    @property
    def seconds(self) -> float:
        """What all batches took, those of earlier runs too."""
        return sum(batch.seconds for batch in self.batches)

    def _resume(self, made_from: str) -> list[CompletedBatch]:
        head, *rest = self._whole_lines() or [""]
        if head != _head(made_from):
            self._handle.truncate(0)
            self._handle.seek(0)
            self._write(json.loads(_head(made_from)))
            return []
        return [from_row(CompletedBatch, json.loads(line), f"{self._path}: a line") for line in rest]

    def _whole_lines(self) -> list[str]:
        """The lines that end in a newline; what stands behind the last one is cut off."""
        self._handle.seek(0)
        text = self._handle.read()
        whole = text[: text.rfind("\n") + 1]
        self._handle.seek(0)
        self._handle.truncate(len(whole.encode()))
        self._handle.seek(0, os.SEEK_END)
        return whole.splitlines()

    def _write(self, row: dict[str, object]) -> None:
        self._handle.write(json.dumps(row) + "\n")
        self._handle.flush()


@contextmanager
def label_log(shard: Shard, made_from: str) -> Iterator[LabelLog]:
    """The log of a shard that is made from this; removed when the block ends well."""
    path = log_path(shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_to(path), open(path, "a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{path}: another process is labelling this shard; let it, or end it first") from None
        yield LabelLog(handle, path, made_from)
    path.unlink(missing_ok=True)


def log_path(shard: Shard) -> Path:
    """Where the log of a shard is kept."""
    return shard.part("label").with_suffix(".log.jsonl")


def logged(path: Path) -> tuple[int, float]:
    """How many blanks of an unfinished shard are completed, and in how many seconds."""
    if not path.is_file():
        return 0, 0.0
    lines = path.read_text(encoding="utf-8").split("\n")[1:-1]
    batches = [from_row(CompletedBatch, json.loads(line), str(path)) for line in lines]
    return sum(len(batch.completed) for batch in batches), sum(batch.seconds for batch in batches)


def _head(made_from: str) -> str:
    return json.dumps({"made_from": made_from})
