"""The training data format of the original Repoformer release: JSON Lines, a repository on each.

    {"repo_name": "owner/name", "files": [{"filepath": "a/b.py", "content": "..."}, ...]}

The release says nothing of licences. A ``license`` or ``licenses`` field is heeded where there is one; without, the
repository is refused unless the recipe grants its use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, SetAside
from repoformer.code.sources.candidate import Refused, read_loaded, repository_name, source_files
from repoformer.code.sources.file_rows import text_bytes
from repoformer.errors import UserError

_STARTS_WITH_NAME = re.compile(rb'\s*\{\s*"repo_name"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class LineCandidate:
    """The repository on one line of a file."""

    id: str
    file: Path
    offset: int
    """Where the line begins, in bytes."""
    granted: str = ""
    revision: str = ""

    def stamp(self) -> object:
        """Size and time of the file, and the line's place."""
        status = self.file.stat()
        return status.st_size, status.st_mtime_ns, self.offset

    def evidence(self) -> LicenceEvidence:
        """The row's own fields, where it has any."""
        row = self._row()
        given = row.get("licenses") or row.get("license") or ()
        named = [given] if isinstance(given, str) else given
        return LicenceEvidence(detected=tuple(str(licence) for licence in named))

    def read(self, limits: Limits) -> Reading:
        """The files of the row; the repository's name is taken off paths that begin with it."""
        row = self._row()
        files = row["files"]
        if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
            raise Refused("its files are no list of objects")
        contents = {
            str(file.get("filepath", file.get("path", ""))).removeprefix(f"{self.id}/"): file.get("content")
            for file in files
        }
        found: dict[str, bytes | SetAside] = {
            path: text_bytes(contents[path], limits) for path in source_files(contents, limits)
        }
        return read_loaded(found)

    def _row(self) -> dict[str, Any]:
        with open(self.file, "rb") as handle:
            handle.seek(self.offset)
            row = _parsed(handle.readline())
        if not isinstance(row.get("repo_name"), str) or "files" not in row:
            raise Refused("its row has no repo_name or no files")
        return row


def line_candidates(place: Path, *, granted: str = "") -> list[LineCandidate]:
    """A candidate per line of a file, or of every ``.jsonl`` file of a folder; what is broken is refused later."""
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    if not files or not all(file.is_file() for file in files):
        raise UserError(f"{place}: no such file and no folder of .jsonl files; one repository stands on each line")
    return [LineCandidate(name, file, offset, granted) for file in files for name, offset in _lines(file)]


def _lines(file: Path) -> Iterator[tuple[str, int]]:
    with open(file, "rb") as handle:
        offset = 0
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield _name(line) or f"{file.name}:{number}", offset
            offset += len(line)


def _name(line: bytes) -> str | None:
    """The repository's name, without parsing its files where it stands first, as in the release."""
    try:
        match = _STARTS_WITH_NAME.match(line)
        name = json.loads(match[1]) if match else _parsed(line).get("repo_name")
    except (Refused, ValueError):
        return None
    return repository_name(name) if isinstance(name, str) and name else None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refused(f"its line is no JSON ({error})") from None
    if not isinstance(row, dict):
        raise Refused(f"its line is no JSON object but {type(row).__name__}")
    return row
