"""Source files from a folder: what is read, what is set aside and why.

Text is UTF-8, a byte order mark is taken off, and newlines are made ``\\n`` as Python itself does when it reads source:
``\\r\\n`` and a lone ``\\r`` both end a line. Nothing is read through a symbolic link that leaves the folder.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from repoformer.code.languages import language_of
from repoformer.code.records import SourceFile

MAX_FILE_BYTES = 1_000_000
_NOT_OF_THE_PROJECT = {"__pycache__", "node_modules", "site-packages"}


@dataclass(frozen=True, slots=True)
class Reading:
    """The source files of a folder, in order of their paths."""

    files: tuple[SourceFile, ...]
    paths: tuple[str, ...]
    """All source files that were found, those set aside included: an import may refer to any of them."""
    dropped: Counter[str] = field(default_factory=Counter)
    """How many files were set aside, by reason."""


def read_folder(root: Path, max_file_bytes: int = MAX_FILE_BYTES) -> Reading:
    """All source files under ``root``; see :func:`source_paths` for where it looks."""
    return read_files(root, source_paths(root), max_file_bytes)


def source_paths(root: Path) -> list[str]:
    """Paths of all files in a known language, relative to ``root`` with forward slashes, sorted.

    Hidden folders, virtual environments, installed packages and caches are not of the project and not entered.
    """
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if _is_of_the_project(Path(folder, name))]
        found += [Path(folder, name).relative_to(root).as_posix() for name in names if language_of(name)]
    return sorted(found)


def read_files(root: Path, paths: Iterable[str], max_file_bytes: int = MAX_FILE_BYTES) -> Reading:
    """The files of ``root`` at ``paths``, as far as they are text that can be used."""
    ordered = sorted(set(paths))
    inside = root.resolve()
    files, dropped = [], Counter[str]()
    for path in ordered:
        language = language_of(path)
        assert language is not None, f"{path} is in no known language"
        try:
            files.append(SourceFile(path, _read_text(root / path, inside, max_file_bytes), language.name))
        except _SetAside as reason:
            dropped[str(reason)] += 1
    return Reading(tuple(files), tuple(ordered), dropped)


class _SetAside(Exception):
    """A file that is not used; the message is the reason under which it is counted."""


def _read_text(path: Path, root: Path, max_file_bytes: int) -> str:
    try:
        if not path.resolve().is_relative_to(root):
            raise _SetAside("link out of the repository")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _SetAside("not a regular file")
        if status.st_size > max_file_bytes:
            raise _SetAside(f"larger than {max_file_bytes} bytes")
        data = path.read_bytes()
    except OSError:
        raise _SetAside("unreadable") from None
    return _decode(data)


def _decode(data: bytes) -> str:
    if b"\0" in data:
        raise _SetAside("holds NUL bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _SetAside("not UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise _SetAside("empty")
    return text


def _is_of_the_project(folder: Path) -> bool:
    return (
        not folder.name.startswith(".")
        and folder.name not in _NOT_OF_THE_PROJECT
        and not (folder / "pyvenv.cfg").is_file()
    )
