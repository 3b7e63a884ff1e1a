"""``PATH:LINE[:COL]``: where in a repository to complete, as people write it (1-based), and the blank it means."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from repoformer.code.languages import LANGUAGES, language_of
from repoformer.code.lines import cut, lines_of
from repoformer.code.reading import read_files
from repoformer.code.records import Blank
from repoformer.errors import UserError

_FORM = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """A place between two characters of a file; without a column it is the start of the line. 1-based."""

    path: str
    """Relative to the repository, with forward slashes."""
    line: int
    column: int | None = None

    @classmethod
    def parse(cls, text: str) -> InsertionPoint:
        """The insertion point that ``PATH:LINE`` or ``PATH:LINE:COL`` names."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise UserError(
                f"{text!r} is no place in a file; write PATH:LINE or PATH:LINE:COL, for example src/a.py:12"
            )
        column = match["column"]
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(f"{text!r}: the file's name is not UTF-8; rename the file") from None
        return cls(match["path"], int(match["line"]), int(column) if column else None)

    def blank(self, repository: Path, *, replace: int = 0, lines: int = 1) -> Blank:
        """The hole at this place of a working tree.

        What stands behind the place is the right context. ``replace`` holds out that many lines from here on: they are
        the blank's target, which no prompt and no query holds. Otherwise the target is empty, and ``lines`` says only
        whether one line or a chunk is asked for.
        """
        path = _inside(repository, self.path)
        language = language_of(path)
        if language is None:
            known = ", ".join(suffix for one in LANGUAGES.values() for suffix in one.suffixes)
            raise UserError(f"{self.path}: not a file in a known language; known are {known}")
        text = _read(repository, path)
        if replace:
            left, target, right = self._hold_out(text, replace)
        else:
            offset = self._offset(text)
            left, target, right = text[:offset], "", text[offset:]
        start = self.line - 1
        return Blank(
            id=f"{path}:{self.line}" + (f":{self.column}" if self.column else ""),
            repository=str(repository),
            revision="",
            licence="",
            path=path,
            language=language.name,
            kind="line" if (replace or lines) == 1 else "chunk",
            start=start,
            end=start + replace,
            left=left,
            right=right,
            target=target,
        )

    def _offset(self, text: str) -> int:
        """The character that the place stands in front of."""
        lines = text.split("\n")
        self._check_line(len(lines))
        line = lines[self.line - 1]
        column = 1 if self.column is None else self.column
        if not 1 <= column <= len(line) + 1:
            raise UserError(
                f"{self.path}:{self.line} has {len(line)} characters; choose a column from 1 to {len(line) + 1}"
            )
        return sum(len(above) + 1 for above in lines[: self.line - 1]) + column - 1

    def _hold_out(self, text: str, count: int) -> tuple[str, str, str]:
        if count < 0:
            raise UserError(f"cannot replace {count} lines; choose 0 or more")
        if self.column is not None:
            raise UserError(f"{self.path}: whole lines are replaced; leave out the column ({self.column})")
        total = len(lines_of(text))
        self._check_line(total)
        if self.line - 1 + count > total:
            raise UserError(
                f"{self.path} has {total} lines, {count} from line {self.line} on are not there; "
                f"replace at most {total - self.line + 1}"
            )
        return cut(text, self.line - 1, self.line - 1 + count)

    def _check_line(self, last: int) -> None:
        if not 1 <= self.line <= last:
            raise UserError(f"{self.path} has no line {self.line}; choose one from 1 to {last}")


def _inside(repository: Path, path: str) -> str:
    """The path relative to the repository; one that leads out of it is refused."""
    if not repository.is_dir():
        raise UserError(f"{repository}: no such folder; name the repository's folder")
    root = os.path.abspath(repository)
    relative = os.path.relpath(os.path.join(root, path), root)
    if relative.split(os.sep)[0] == os.pardir:
        raise UserError(f"{path} is not in the repository {repository}; name a file in it")
    return PurePath(relative).as_posix()


def _read(repository: Path, path: str) -> str:
    file = repository / path
    if not file.is_file():
        raise UserError(f"{file}: no such file; the path is relative to the repository")
    reading = read_files(repository, [path])
    if reading.files:
        return reading.files[0].text
    (reason,) = reading.dropped
    if reason == "empty":  # nothing to learn from or to retrieve, but a fine place to begin
        return file.read_text(encoding="utf-8-sig")
    raise UserError(f"{file}: cannot complete in this file, {reason}")
