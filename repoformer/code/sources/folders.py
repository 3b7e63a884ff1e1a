"""Repositories that lie in a folder as folders of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, read_files, source_paths
from repoformer.code.sources.candidate import repository_name, source_files
from repoformer.code.sources.git import head_of_checkout
from repoformer.code.sources.licence_files import MAX_LICENCE_BYTES, evidence_in, tells_licence
from repoformer.errors import UserError


@dataclass(frozen=True, slots=True)
class FolderCandidate:
    """A folder with source files, perhaps a git checkout."""

    id: str
    root: Path
    granted: str = ""

    @property
    def revision(self) -> str:
        """The commit that is checked out."""
        return head_of_checkout(self.root)

    def stamp(self) -> object:
        """Sizes and times of its files."""
        return self.evidence(), file_stamps(self.root, source_paths(self.root))

    def evidence(self) -> LicenceEvidence:
        """What the manifests and the licence files in the root say."""
        names = sorted(path.name for path in self.root.iterdir() if path.is_file() and tells_licence(path.name))
        return evidence_in({name: read_licence(self.root / name) for name in names})

    def read(self, limits: Limits) -> Reading:
        """Source files of the project, without environments and caches."""
        return read_files(self.root, source_files(source_paths(self.root), limits), limits.max_file_bytes)


def folder_candidates(directory: Path, *, each: bool = True, granted: str = "") -> list[FolderCandidate]:
    """Every folder in ``directory`` as a repository, or with ``each=False`` the directory itself as the only one."""
    folders = folders_in(directory) if each else [directory]
    if not folders:
        raise UserError(f"{directory}: no folder in it; with `each: false` it is taken as one repository itself")
    return [FolderCandidate(repository_name(folder.resolve().name), folder, granted) for folder in folders]


def folders_in(directory: Path) -> list[Path]:
    """The folders that lie in a directory, hidden ones and links left out."""
    if not directory.is_dir():
        raise UserError(f"{directory}: no such folder; name a folder of repositories")
    return sorted(
        path
        for path in directory.iterdir()
        if path.is_dir() and not path.name.startswith(".") and not path.is_symlink()
    )


def file_stamps(root: Path, paths: list[str]) -> list[tuple[str, int, int]]:
    """Path, size and time of each file; -1 of one that is not there."""
    stamps = []
    for path in paths:
        try:
            status = os.stat(root / path)
            stamps.append((path, status.st_size, status.st_mtime_ns))
        except OSError:
            stamps.append((path, -1, -1))
    return stamps


def read_licence(path: Path) -> bytes:
    """A licence file; empty, so that it grants nothing, where it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read(MAX_LICENCE_BYTES)
    except OSError:
        return b""
