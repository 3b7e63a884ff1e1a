"""Source files as text: what is read, what is set aside and why.

Text is UTF-8, a byte order mark is taken off, and newlines are made ``\\n`` as Python itself does when it reads source:
``\\r\\n`` and a lone ``\\r`` both end a line. Nothing is read through a symbolic link that leaves the folder.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from repoformer.code.languages import language_of
from repoformer.code.records import SourceFile

MAX_FILE_BYTES = 1_000_000
_NOT_OF_THE_PROJECT = {"__pycache__", "node_modules", "site-packages"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a repository is read. Zero or nothing sets no limit."""

    max_file_bytes: int = MAX_FILE_BYTES
    max_files: int = 0
    languages: tuple[str, ...] = ()

    def wants(self, path: str) -> bool:
        """Whether this is a source file in one of the languages."""
        language = language_of(path)
        return language is not None and (not self.languages or language.name in self.languages)

    def check_size(self, count: int) -> None:
        """Set a file of so many bytes aside if they are too many."""
        if count > self.max_file_bytes:
            raise SetAside(f"larger than {self.max_file_bytes} bytes")


@dataclass(frozen=True, slots=True)
class Reading:
    """The source files of a repository, in order of their paths."""

    files: tuple[SourceFile, ...]
    paths: tuple[str, ...]
    """All source files that were found, those set aside included: an import may refer to any of them."""
    dropped: Counter[str] = field(default_factory=Counter)
    """How many files were set aside, by reason."""


class SetAside(Exception):
    """A file that is not used; the message is the reason under which it is counted."""


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


def in_the_project(path: str) -> bool:
    """Whether a path leads through no hidden folder and no folder of installed packages or caches."""
    return not any(part.startswith(".") or part in _NOT_OF_THE_PROJECT for part in path.split("/")[:-1])


def read_files(root: Path, paths: Iterable[str], max_file_bytes: int = MAX_FILE_BYTES) -> Reading:
    """The files of ``root`` at ``paths``, as far as they are text that can be used."""
    return read_each(paths, partial(_load, root, root.resolve(), Limits(max_file_bytes)))


def read_each(paths: Iterable[str], load: Callable[[str], bytes]) -> Reading:
    """The text at ``paths``; ``load`` gives a file's bytes or raises :class:`SetAside`."""
    ordered = sorted(set(paths))
    files, dropped = [], Counter[str]()
    for path in ordered:
        language = language_of(path)
        assert language is not None, f"{path} is in no known language"
        try:
            _check_name(path)
            files.append(SourceFile(path, _decode(load(path)), language.name))
        except SetAside as reason:
            dropped[str(reason)] += 1
    return Reading(tuple(files), tuple(ordered), dropped)


def _load(root: Path, inside: Path, limits: Limits, path: str) -> bytes:
    file = root / path
    try:
        if not file.resolve().is_relative_to(inside):
            raise SetAside("link out of the repository")
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SetAside("not a regular file")
        limits.check_size(status.st_size)
        return file.read_bytes()
    except OSError:
        raise SetAside("unreadable") from None


def _check_name(path: str) -> None:
    """File systems and archives hold any bytes as names; records, as JSON and Parquet, hold text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SetAside("name is not UTF-8") from None


def _decode(data: bytes) -> str:
    if data.startswith(_UTF_16):
        raise SetAside("UTF-16, not UTF-8")
    if b"\0" in data:
        raise SetAside("holds NUL bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SetAside("not UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise SetAside("empty")
    return text


def _is_of_the_project(folder: Path) -> bool:
    return (
        not folder.name.startswith(".")
        and folder.name not in _NOT_OF_THE_PROJECT
        and not (folder / "pyvenv.cfg").is_file()
    )
