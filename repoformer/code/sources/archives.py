"""Repositories in archives: read in place, entry by entry, and never unpacked to the disk.

An archive is a stranger's: entries with a path out of it and links are left alone, and what unpacks to more than was
agreed is refused while it is read, whatever its headers promise.
"""

from __future__ import annotations

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, SetAside
from repoformer.code.sources.candidate import Refused, read_loaded, repository_name, source_files
from repoformer.code.sources.licence_files import MAX_LICENCE_BYTES, evidence_in, tells_licence
from repoformer.errors import UserError

_ZIPS = (".zip", ".whl")
_TARS = (".tar.gz", ".tgz", ".tar.zst")
SUFFIXES = (*_ZIPS, *_TARS)
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
"""RuntimeError: zipfile raises it, or a child of it, for an encrypted zip and for a compression it does not know."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What an archive may hold before it is refused."""

    max_entries: int = 100_000
    max_bytes: int = 1_000_000_000
    """Of all that is unpacked on the way, whether it is wanted or not."""


GUARD = Guard()


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in an archive; ``read`` must be called before the next entry is asked for."""

    path: str
    kind: str
    """``file``, ``link`` or ``other``."""
    size: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class ArchiveCandidate:
    """An archive with one repository in it."""

    id: str
    file: Path
    revision: str = ""
    granted: str = ""
    guard: Guard = GUARD

    def stamp(self) -> object:
        """Size and time of the archive, and its limits."""
        status = self.file.stat()
        return status.st_size, status.st_mtime_ns, self.guard

    def evidence(self) -> LicenceEvidence:
        """What the manifests and the licence files in the root say."""
        loaded: dict[str, bytes] = {}
        paths = []
        with self._entries() as entries:
            for entry in entries:
                paths.append(entry.path)
                may_tell = tells_licence(entry.path) or tells_licence(entry.path.partition("/")[2])
                if may_tell and entry.kind == "file" and entry.size <= MAX_LICENCE_BYTES:
                    loaded[entry.path] = entry.read()
        root = self._root(paths)
        stripped = {path.removeprefix(root): data for path, data in loaded.items()}
        return evidence_in({path: data for path, data in stripped.items() if tells_licence(path)})

    def read(self, limits: Limits) -> Reading:
        """The source files; entries that lead out of the archive are counted whatever they are."""
        found: dict[str, bytes | SetAside] = {}
        paths, outside = [], 0
        with self._entries() as entries:
            for entry in entries:
                paths.append(entry.path)
                if not _is_inside(entry.path):
                    outside += 1
                elif entry.kind != "other" and limits.wants(entry.path):
                    found[entry.path] = _loaded(entry, limits)
        root = self._root(paths)
        stripped = {path.removeprefix(root): data for path, data in found.items()}
        reading = read_loaded({path: stripped[path] for path in source_files(stripped, limits)})
        return replace(reading, dropped=reading.dropped + Counter({"path out of the archive": outside}))

    @contextmanager
    def _entries(self) -> Iterator[Iterator[Entry]]:
        """All entries; damage of any kind refuses the archive, wherever it is come upon."""
        try:
            with _opened(self.file, self.guard) as entries:
                yield _counted(entries, self.guard.max_entries)
        except _DAMAGE as error:
            raise Refused(f"archive cannot be read to its end ({str(error) or type(error).__name__})") from None

    def _root(self, paths: Iterable[str]) -> str:
        """The folder that archives of a repository put around it; empty if there is none.

        A folder that is a package is part of the repository, as are all folders of a wheel.
        """
        inside = [path for path in paths if _is_inside(path)]
        tops = {path.partition("/")[0] for path in inside}
        if self.file.name.endswith(".whl") or len(tops) != 1:
            return ""
        (top,) = tops
        return "" if top in inside or f"{top}/__init__.py" in inside else f"{top}/"


def archive_candidates(place: Path, *, granted: str = "", guard: Guard = GUARD) -> list[ArchiveCandidate]:
    """An archive, or every archive in a folder, as a repository."""
    if not place.exists():
        raise UserError(f"{place}: no such archive or folder")
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    archives = [file for file in files if file.name.lower().endswith(SUFFIXES) and file.is_file()]
    if not archives:
        raise UserError(f"{place}: no archive ({', '.join(SUFFIXES)})")
    return [
        ArchiveCandidate(_stem(repository_name(file.name)), file, granted=granted, guard=guard) for file in archives
    ]


def _stem(name: str) -> str:
    suffix = next(suffix for suffix in SUFFIXES if name.lower().endswith(suffix))
    return name[: -len(suffix)]


def _counted(entries: Iterator[Entry], most: int) -> Iterator[Entry]:
    for count, entry in enumerate(entries, 1):
        if count > most:
            raise Refused(f"more than {most} entries in the archive")
        yield entry


def _loaded(entry: Entry, limits: Limits) -> bytes | SetAside:
    try:
        if entry.kind == "link":
            raise SetAside("link")
        limits.check_size(entry.size)
    except SetAside as reason:
        return reason
    return entry.read()


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and ":" not in parts[0]


def _normal(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


# -- zip -------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(file: Path, guard: Guard) -> Iterator[Iterator[Entry]]:
    if file.name.lower().endswith(_ZIPS):
        with zipfile.ZipFile(file) as archive:
            yield _zip_entries(archive, guard)
    else:
        with _decompressed(file) as stream:
            guarded: Any = _Guarded(stream, guard.max_bytes)
            with tarfile.open(fileobj=guarded, mode="r|") as archive:
                yield _tar_entries(archive)


def _zip_entries(archive: zipfile.ZipFile, guard: Guard) -> Iterator[Entry]:
    """Nothing is unpacked but what is read, and never more of it than its header says."""
    unpacked = 0

    def read(entry: zipfile.ZipInfo) -> bytes:
        nonlocal unpacked
        unpacked += entry.file_size
        if unpacked > guard.max_bytes:
            raise Refused(f"unpacks to more than {guard.max_bytes} bytes")
        return archive.read(entry)

    for entry in archive.infolist():
        mode = entry.external_attr >> 16
        kind = "other" if entry.is_dir() else "link" if stat.S_ISLNK(mode) else "file"
        yield Entry(_normal(entry.filename), kind, entry.file_size, partial(read, entry))


# -- tar -------------------------------------------------------------------------------------------------------------


class _Guarded:
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._most, self._seen = stream, most, 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data: bytes = self._stream.read(size)
        self._seen += len(data)
        if self._seen > self._most:
            raise Refused(f"unpacks to more than {self._most} bytes")
        return data


def _decompressed(file: Path) -> Any:
    if not file.name.lower().endswith(".zst"):
        return gzip.open(file)
    import pyarrow

    return pyarrow.input_stream(str(file), compression="zstd")


def _tar_entries(archive: tarfile.TarFile) -> Iterator[Entry]:
    def read(member: tarfile.TarInfo) -> bytes:
        content = archive.extractfile(member)
        assert content is not None
        return content.read()

    for member in archive:
        kind = "file" if member.isfile() else "link" if member.issym() or member.islnk() else "other"
        yield Entry(_normal(member.name), kind, member.size, partial(read, member))
