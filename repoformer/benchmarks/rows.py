"""Rows of a JSON Lines file that somebody else wrote: every mistake names its line, and the field if there is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from repoformer.errors import UserError


class Row:
    """One row, whose fields are asked for by the path of their keys and checked for their type on the way."""

    def __init__(self, where: str, values: dict[str, Any]) -> None:
        self.where = where
        """File and 1-based line, for messages."""
        self._values = values

    def text(self, *keys: str) -> str:
        """A string."""
        value = self._value(keys)
        if not isinstance(value, str):
            self._wrong(keys, "text", value)
        return value

    def number(self, *keys: str) -> int:
        """A whole number from 0 on: a line, 0-based."""
        value = self._value(keys)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self._wrong(keys, "a whole number from 0 on", value)
        return value

    def real(self, *keys: str) -> float:
        """A number."""
        value = self._value(keys)
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._wrong(keys, "a number", value)
        return float(value)

    def texts(self, *keys: str) -> list[str]:
        """A list of strings."""
        value = self._value(keys)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong(keys, "a list of texts", value)
        return list(value)

    def rows(self, *keys: str) -> list[Row]:
        """A list of objects, each a row of its own."""
        value = self._value(keys)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._wrong(keys, "a list of objects", value)
        return [Row(self.where, item) for item in value]

    def get(self, key: str) -> Any:
        """A field of the row that need not be there; None if it is not."""
        return self._values.get(key)

    def error(self, problem: str) -> UserError:
        """The error to raise for what is wrong with this row as a whole."""
        return UserError(f"{self.where}: {problem}")

    def _value(self, keys: tuple[str, ...]) -> Any:
        value: Any = self._values
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                raise self.error(f"no field {'.'.join(keys)}; is this file of another benchmark?")
            value = value[key]
        return value

    def _wrong(self, keys: tuple[str, ...], expected: str, value: Any) -> NoReturn:
        seen = repr(value)
        raise self.error(
            f"{'.'.join(keys)} should be {expected}, is {seen if len(seen) <= 60 else seen[:57] + '...'}; "
            "get the file again from its source"
        )


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file in their order; blank lines are skipped. A broken line is a :class:`UserError`."""
    # Bytes are split, not text: only a newline ends a row, and a row that is not UTF-8 has a number.
    with open(path, "rb") as handle:
        for number, line in enumerate(tqdm(handle, desc=path.name, unit=" rows", delay=2), 1):
            if line.strip():
                yield _row(f"{path}:{number}", line)


def sha256(path: Path) -> str:
    """What tells two versions of a file apart: benchmarks do change after publication."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _row(where: str, line: bytes) -> Row:
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 ({error.reason}); get the file again from its source") from None
    except (json.JSONDecodeError, RecursionError) as error:
        whole = "" if line.endswith(b"\n") else " and the file ends there: it is truncated"
        raise UserError(f"{where}: not a JSON record ({error}){whole}; get the file again from its source") from None
    if not isinstance(values, dict):
        raise UserError(f"{where}: a row should be a JSON object, is {type(values).__name__}")
    return Row(where, values)
