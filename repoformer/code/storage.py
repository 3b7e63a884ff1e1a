"""Records in files: Parquet between stages, JSON Lines for predictions and scores. Written aside, then renamed."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from repoformer.code.records import from_row, to_row
from repoformer.errors import UserError

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes ``path`` when the block ends well, and vanishes otherwise.

    A full disk is an ``OSError`` that names ``path``; what stood there before still does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield aside
        with open(aside, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except OSError as error:
        if error.errno in _FULL:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """What is written to an open file in here: where the disk is full, the error names ``path``, or another file."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


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


def write_parquet(path: Path, records: Iterable[Any], cls: type[Any] | None = None) -> int:
    """Write records of one type to a Parquet file and return how many; the bytes depend on the records only.

    With ``cls`` the columns are those of the record, even where a file holds no records or only empty lists: all parts
    of a data set then have the same columns.
    """
    import pyarrow
    import pyarrow.parquet

    rows = [to_row(record) for record in records]
    table = pyarrow.Table.from_pylist(rows, arrow_schema(cls) if cls else None)
    with written_aside(path) as aside, pyarrow.parquet.ParquetWriter(aside, table.schema, compression="zstd") as writer:
        if rows:  # the row group without rows that there would be otherwise is more than `datasets` can read
            writer.write_table(table)
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


def arrow_schema(cls: type[Any]) -> pyarrow.Schema:
    """The columns of a record type."""
    import pyarrow

    return pyarrow.schema([("schema", pyarrow.int64()), *_arrow_fields(cls)])


def files_hash(paths: Iterable[Path]) -> str:
    """A hash of the names and contents of files, the same wherever they lie."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        with open(path, "rb") as handle:
            digest.update(path.name.encode() + b"\0" + hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()[:16]


def _arrow_fields(cls: type[Any]) -> list[tuple[str, pyarrow.DataType]]:
    hints = typing.get_type_hints(cls)
    return [(field.name, _arrow_type(hints[field.name])) for field in dataclasses.fields(cls)]


def _arrow_type(hint: Any) -> pyarrow.DataType:
    import pyarrow

    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return pyarrow.struct(_arrow_fields(hint))
    arguments = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    if typing.get_origin(hint) is tuple:
        return pyarrow.list_(_arrow_type(arguments[0]))
    if typing.get_origin(hint) is typing.Literal:
        return pyarrow.large_string()
    if arguments:  # a type or None
        return _arrow_type(arguments[0])
    # The texts of a whole shard may be more than the 2 GB that fit into one column of short strings.
    types = {
        str: pyarrow.large_string(),
        bytes: pyarrow.large_binary(),
        bool: pyarrow.bool_(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
    }
    return types[hint]


def append_jsonl(path: Path, record: Any) -> None:
    """Append one record as one line, in one write, so that a killed run leaves at most one broken last line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as handle:
        handle.write(_json_line(record))


def read_jsonl(cls: type[T], path: Path, *, last_may_break: bool = False) -> list[T]:
    """All records of a JSON Lines file; ``last_may_break`` drops a last line that a killed run left unfinished."""
    return list(stream_jsonl(cls, path, last_may_break=last_may_break))


def stream_jsonl(cls: type[T], path: Path, *, last_may_break: bool = False) -> Iterator[T]:
    """The same one by one, for a file that need not be in memory as a whole."""
    if not path.exists():
        raise UserError(f"{path}: no such file; run the step that writes it first")
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                if last_may_break and not line.endswith("\n"):
                    return
                raise UserError(
                    f"{path}:{number}: not a JSON record ({error.msg}); delete the line or the file"
                ) from None
            yield from_row(cls, row, f"{path}:{number}")


def _json_line(record: Any) -> str:
    return json.dumps(to_row(record), ensure_ascii=False) + "\n"
