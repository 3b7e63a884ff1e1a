"""A file of records that grows while a step works, and beside it what the records were made with.

    out/predictions/repoformer.jsonl        one record a line, appended group by group
    out/predictions/repoformer.meta.json    {"made_with": {...}, "facts": {...}}

A killed run leaves whole lines and at most one broken one, so the next run goes on where it stopped. Records that were
made with something else (another model, other retrieval) are neither mixed with new ones nor thrown away: their file
is renamed, and the step begins anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from repoformer.code.storage import append_jsonl, read_json, read_jsonl, stream_jsonl, write_json, write_jsonl
from repoformer.config import config_hash
from repoformer.errors import UserError

T = TypeVar("T")


class RecordLog(Generic[T]):
    """The records of ``cls`` at ``path``."""

    schema = 1

    def __init__(self, cls: type[T], path: Path) -> None:
        self.cls = cls
        self.path = path
        self.meta_path = path.with_name(f"{path.stem}.meta.json")

    def resume(self, made_with: dict[str, Any]) -> list[T]:
        """The records that an earlier run with the same ``made_with`` left; none otherwise."""
        made_with = {"schema": self.cls.schema} | made_with  # type: ignore[attr-defined]
        earlier = self._meta() if self.meta_path.exists() else {"made_with": {}, "facts": {}}
        before = earlier["made_with"]
        changed = sorted(key for key in before.keys() | made_with.keys() if before.get(key) != made_with.get(key))
        records: list[T] = []
        if self.path.exists():
            if changed:
                self._set_aside(before, changed)
            else:
                self._drop_broken_end()
                records = read_jsonl(self.cls, self.path)
        self._write_meta(made_with, {} if changed else earlier["facts"])
        self.path.touch()  # of a shard without any blanks too, that is all there will be
        return records

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts beside the records for the steps that follow; they may change without anything being redone."""
        self._write_meta(self.made_with(), facts)

    def append(self, records: Iterable[T]) -> None:
        """Add records at the end."""
        for record in records:
            append_jsonl(self.path, record)

    def rewrite(self, records: Iterable[T]) -> None:
        """Put these records in place of all that is there."""
        write_jsonl(self.path, records)

    def replace(self, made_with: dict[str, Any], facts: dict[str, Any], records: Iterable[T]) -> None:
        """Put these records, made with this, in place of everything.

        Between the two files there are records of unknown make, which no step takes for anything else.
        """
        self.meta_path.unlink(missing_ok=True)
        self.rewrite(records)
        self._write_meta(made_with, facts)

    def read(self) -> list[T]:
        """All records; for the steps that follow."""
        return read_jsonl(self.cls, self.path)

    def stream(self) -> Iterator[T]:
        """The same one by one."""
        return stream_jsonl(self.cls, self.path)

    def facts(self) -> dict[str, Any]:
        """What was kept beside the records."""
        facts: dict[str, Any] = self._meta()["facts"]
        return facts

    def made_with(self) -> dict[str, Any]:
        """What the records were made with."""
        made_with: dict[str, Any] = self._meta()["made_with"]
        return made_with

    def _meta(self) -> dict[str, Any]:
        meta = read_json(self.meta_path)
        if not isinstance(meta, dict) or meta.get("schema") != self.schema:
            raise UserError(f"{self.meta_path}: not meta data of schema {self.schema}; delete it and {self.path.name}")
        return meta

    def _write_meta(self, made_with: dict[str, Any], facts: dict[str, Any]) -> None:
        write_json(self.meta_path, {"schema": self.schema, "made_with": made_with, "facts": facts})

    def _set_aside(self, earlier: dict[str, Any], changed: list[str]) -> None:
        aside = self.path.with_name(f"{self.path.stem}.stale-{config_hash(earlier)}.jsonl")
        os.replace(self.path, aside)
        tqdm.write(
            f"{self.path}: made with other {', '.join(changed)}; kept as {aside.name}, made again", file=sys.stderr
        )

    def _drop_broken_end(self) -> None:
        """Cut what a killed run left after the last newline: the next record gets a line of its own."""
        with open(self.path, "rb+") as handle:
            handle.truncate(handle.read().rfind(b"\n") + 1)
