"""The pocket model's corpus: packages named in a manifest, fetched by hash, without copies of what is held out."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from packaging.utils import canonicalize_name, parse_wheel_filename
from pydantic import Field, model_validator
from tqdm import tqdm

from repoformer.code.collect import collect
from repoformer.code.filters import Requirements
from repoformer.code.records import Repository, SourceFile
from repoformer.code.sources import installed_candidates
from repoformer.config import Section
from repoformer.context.leaks import CopyFinder
from repoformer.errors import UserError

Use = Literal["pretrain", "probe", "label", "evaluate"]

_ANY_PLATFORM = ("--platform", "any", "--python-version", "3.11", "--implementation", "py", "--abi", "none")
"""Only wheels without compiled parts, the same for whoever rebuilds."""


class Package(Section):
    """One wheel."""

    name: str
    version: str
    use: Use
    licence: str
    """SPDX expression."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Corpus(Section):
    """The manifest."""

    packages: list[Package] = Field(min_length=1)

    @model_validator(mode="after")
    def _no_name_twice(self) -> Self:
        names = [canonicalize_name(package.name) for package in self.packages]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"packages: {twice[0]} stands there twice; a package has one use")
        return self

    def used_for(self, *uses: Use) -> list[Package]:
        """The packages with one of these uses, in order of the manifest."""
        return [package for package in self.packages if package.use in uses]


def fetch(packages: Sequence[Package], folder: Path) -> None:
    """Download what is missing as wheels into ``folder``; a wheel of another hash than the manifest's is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    there = _wheels(folder)
    for package in packages:
        if _key(package) in there:
            _check_hash(package, there[_key(package)])
    missing = [package for package in packages if _key(package) not in there]
    for package in tqdm(missing, desc="fetch", unit="package", disable=not missing):
        requirement = folder / f".{package.name}.txt"
        requirement.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", *_ANY_PLATFORM, "--dest", str(folder), "--requirement", str(requirement)]
        result = subprocess.run(command, capture_output=True, text=True)
        requirement.unlink()
        if result.returncode:
            reason = next((line for line in result.stderr.splitlines() if "ERROR" in line), "no reason given")
            raise UserError(
                f"{package.name}=={package.version}: pip cannot download it ({reason}); run again or check it"
            )


def repositories(packages: Sequence[Package], wheels: Path, unpacked: Path) -> list[Repository]:
    """The packages' source files; one whose metadata no longer declare the manifest's licence is refused."""
    there = _wheels(wheels)
    found = []
    for package in tqdm(packages, desc="collect", unit="package"):
        folder = _unpack(there[_key(package)], unpacked / package.name)
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


def _wheels(folder: Path) -> dict[tuple[str, str], Path]:
    """Wheels in a folder by name and version."""
    found = {}
    for path in folder.glob("*.whl"):
        name, version, *_ = parse_wheel_filename(path.name)
        found[(str(name), str(version))] = path
    return found


def _check_hash(package: Package, wheel: Path) -> None:
    with open(wheel, "rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    if found != package.sha256:
        raise UserError(f"{wheel}: sha256 {found}, the manifest says {package.sha256}; delete it and run again")


def _key(package: Package) -> tuple[str, str]:
    return str(canonicalize_name(package.name)), package.version


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
