"""What every source offers: candidates, each of which may become a repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, SetAside, in_the_project, read_each


class Candidate(Protocol):
    """Something that may become a repository. Making one reads nothing; what cannot be read raises `Refused`."""

    @property
    def id(self) -> str:
        """The repository's name, unique within a collection."""

    @property
    def revision(self) -> str:
        """Commit or version, empty where there is none."""

    @property
    def granted(self) -> str:
        """The licence under which whoever runs this says it may be used; usually empty."""

    def stamp(self) -> object:
        """What changes when the candidate does, told without reading its files."""

    def evidence(self) -> LicenceEvidence:
        """What it says about its licence."""

    def read(self, limits: Limits) -> Reading:
        """Its source files, as far as they can be used."""


class Refused(Exception):
    """A candidate that cannot become a repository; the message is the reason."""


def repository_name(name: str) -> str:
    """A file's or a folder's name as text, whatever bytes it is made of."""
    return name.encode("utf-8", "replace").decode()


def source_files(paths: Iterable[str], limits: Limits) -> list[str]:
    """Those of the paths that are source files of the project; too many of them refuse the candidate."""
    found = [path for path in paths if limits.wants(path) and in_the_project(path)]
    if limits.max_files and len(found) > limits.max_files:
        raise Refused(f"{len(found)} files, at most {limits.max_files} are wanted")
    return found


def read_loaded(files: Mapping[str, bytes | SetAside]) -> Reading:
    """The text of files whose bytes are in memory already, or the reason why they are not."""

    def load(path: str) -> bytes:
        data = files[path]
        if isinstance(data, SetAside):
            raise data
        return data

    return read_each(files, load)
