"""Wheels that a manifest names by version and hash, so that whoever builds on them has the same code.

Wheels without compiled parts only: they are archives, nothing of a package is run to have them.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Self

from packaging.utils import canonicalize_name, parse_wheel_filename
from pydantic import Field, model_validator
from tqdm import tqdm

from repoformer.code.sources.archives import ArchiveCandidate
from repoformer.config import Section
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


class Manifest(Section):
    """Packages, each with one use."""

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
    there = wheels_in(folder)
    for package in packages:
        if wheel_key(package) in there:
            _check_hash(package, there[wheel_key(package)])
    missing = [package for package in packages if wheel_key(package) not in there]
    for package in tqdm(missing, desc="fetch", unit="package", disable=not missing):
        _download(package, folder)


def manifest_candidates(packages: Sequence[Package], folder: Path, *, download: bool = False) -> list[ArchiveCandidate]:
    """The packages as repositories, from their wheels in ``folder``; with ``download`` pip fetches what it lacks."""
    if download:
        fetch(packages, folder)
    there = wheels_in(folder)
    candidates = []
    for package in packages:
        wheel = there.get(wheel_key(package))
        if wheel is None:
            raise UserError(
                f"{folder}: no wheel of {package.name}=={package.version}; put it there or set download: true"
            )
        _check_hash(package, wheel)
        candidates.append(ArchiveCandidate(str(canonicalize_name(package.name)), wheel, package.version))
    return candidates


def wheels_in(folder: Path) -> dict[tuple[str, str], Path]:
    """Wheels by name and version."""
    found = {}
    for path in folder.glob("*.whl"):
        name, version, *_ = parse_wheel_filename(path.name)
        found[(str(name), str(version))] = path
    return found


def _download(package: Package, folder: Path) -> None:
    """Into a folder of its own and then moved: several processes may want the same wheel."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as aside:
        requirement = Path(aside, "requirement.txt")
        requirement.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", *_ANY_PLATFORM, "--dest", aside, "--requirement", str(requirement)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            reason = next((line for line in result.stderr.splitlines() if "ERROR" in line), "no reason given")
            raise UserError(
                f"{package.name}=={package.version}: pip cannot download it ({reason}); run again or check it"
            )
        for wheel in Path(aside).glob("*.whl"):
            wheel.replace(folder / wheel.name)


def _check_hash(package: Package, wheel: Path) -> None:
    status = wheel.stat()
    found = _digest(wheel, status.st_size, status.st_mtime_ns)
    if found != package.sha256:
        raise UserError(f"{wheel}: sha256 {found}, the manifest says {package.sha256}; delete it and run again")


def wheel_key(package: Package) -> tuple[str, str]:
    """The name and version under which :func:`wheels_in` has a package."""
    return str(canonicalize_name(package.name)), package.version


@cache
def _digest(wheel: Path, size: int, time: int) -> str:
    """Read once as long as the file stays as it is: candidates are listed for every shard."""
    with open(wheel, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
