"""The pocket model's corpus: packages named in a manifest, fetched by hash, without copies of what is held out."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from repoformer.code.collect import collect
from repoformer.code.filters import Requirements
from repoformer.code.records import Repository, SourceFile
from repoformer.code.sources import installed_candidates
from repoformer.code.sources.manifest import Package, wheel_key, wheels_in
from repoformer.context.leaks import CopyFinder
from repoformer.errors import UserError


def repositories(packages: Sequence[Package], wheels: Path, unpacked: Path) -> list[Repository]:
    """The packages' source files; one whose metadata no longer declare the manifest's licence is refused."""
    there = wheels_in(wheels)
    found = []
    for package in tqdm(packages, desc="collect", unit="package"):
        folder = _unpack(there[wheel_key(package)], unpacked / package.name)
        (candidate,) = installed_candidates([package.name], site_packages=[str(folder)])
        collected = collect(candidate, [package.licence, *package.licence.split(" OR ")], _ANY_CODE)
        if collected.repository is None:
            raise UserError(f"{package.name}=={package.version}: {collected.refused}; take it out of the manifest")
        found.append(collected.repository)
    return found


def without_copies(
    trained_on: Sequence[Repository], held_out: Sequence[Repository]
) -> tuple[list[Repository], dict[str, str]]:
    """``trained_on`` without files that are copies of held-out files, and what was taken out because of which file.

    A copy is what the leak rule calls one: an equal file, or one that shares most of its telling lines.
    """
    held_files = [
        SourceFile(f"{repository.id}/{file.path}", file.text, file.language)
        for repository in held_out
        for file in repository.files
    ]
    finder = CopyFinder(held_files)
    kept, removed = [], {}
    for repository in tqdm(trained_on, desc="compare", unit="package"):
        files = []
        for file in repository.files:
            copies = finder.copies_of("", file.text)
            if copies:
                removed[f"{repository.id}/{file.path}"] = min(copies)
            else:
                files.append(file)
        kept.append(Repository(repository.id, repository.revision, repository.licence, tuple(files)))
    return kept, removed


def installed_repositories(licences: Sequence[str]) -> list[Repository]:
    """What is installed where the corpus is built, because the quickstart evaluates on it."""
    candidates = tqdm(installed_candidates(), desc="collect installed", unit="package")
    collected = [collect(candidate, licences, Requirements(files=1, max_files=1500)) for candidate in candidates]
    return [one.repository for one in collected if one.repository is not None]


_ANY_CODE = Requirements(files=1, imports_per_file=0.0, local_imports_per_file=0.0)


def _unpack(wheel: Path, folder: Path) -> Path:
    if not folder.is_dir():
        aside = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(aside, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(aside, [name for name in archive.namelist() if _wanted(name)])
        aside.rename(folder)
    return folder


def _wanted(name: str) -> bool:
    return name.endswith(".py") or ".dist-info/" in name
