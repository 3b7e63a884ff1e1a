"""Records in files: Parquet between stages, JSON Lines for predictions and scores. Written aside, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from repoformer.code.records import from_row, to_row
from repoformer.errors import UserError

T = TypeVar("T")


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes ``path`` when the block ends well, and vanishes otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield aside
        with open(aside, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, all or nothing."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value, all or nothing."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """One JSON value; a missing or broken file is the user's to hear about."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the step that writes it first") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not readable as JSON ({error})") from None


def write_parquet(path: Path, records: Iterable[Any]) -> int:
    """Write records of one type to a Parquet file and return how many; the bytes depend on the records only."""
    import pyarrow
    import pyarrow.parquet

    rows = [to_row(record) for record in records]
    with written_aside(path) as aside:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), aside, compression="zstd")
    return len(rows)


def read_parquet(cls: type[T], path: Path) -> list[T]:
    """All records of a Parquet file, or of every ``part-*.parquet`` of a folder in order of their names."""
    import pyarrow
    import pyarrow.parquet

    if path.is_dir():
        parts = sorted(path.glob("part-*.parquet"))
        if not parts:
            raise UserError(f"{path}: no part-*.parquet in this folder; run the stage that writes it first")
        return [record for part in parts for record in read_parquet(cls, part)]
    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage that writes it first") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: not readable as Parquet ({error}); delete it and run its stage again") from None
    return [from_row(cls, row, f"{path}: row {number}") for number, row in enumerate(rows, 1)]


def write_jsonl(path: Path, records: Iterable[Any]) -> None:
    """Write records as JSON Lines, all or nothing."""
    with written_aside(path) as aside, open(aside, "w", encoding="utf-8") as handle:
        handle.writelines(_json_line(record) for record in records)


def append_jsonl(path: Path, record: Any) -> None:
    """Append one record as one line, in one write, so that a killed run leaves at most one broken last line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as handle:
        handle.write(_json_line(record))


def read_jsonl(cls: type[T], path: Path, *, last_may_break: bool = False) -> list[T]:
    """All records of a JSON Lines file; ``last_may_break`` drops a last line that a killed run left unfinished."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the step that writes it first") from None
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(from_row(cls, json.loads(line), f"{path}:{number}"))
        except json.JSONDecodeError as error:
            if last_may_break and number == len(lines):
                break
            raise UserError(f"{path}:{number}: not a JSON record ({error.msg}); delete the line or the file") from None
    return records


def _json_line(record: Any) -> str:
    return json.dumps(to_row(record), ensure_ascii=False) + "\n"
