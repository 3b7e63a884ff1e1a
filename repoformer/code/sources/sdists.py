"""Source distributions of Python packages by name: from a folder, or fetched into it by pip where that is asked for.

The package index is whatever pip is configured to use. To fetch a source distribution pip asks it for its metadata,
and for that *runs the package's own build script*: fetch only what you would install.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidSdistFilename, NormalizedName, canonicalize_name, parse_sdist_filename
from packaging.version import Version

from repoformer.code.sources.archives import GUARD, ArchiveCandidate, Guard
from repoformer.errors import UserError

_DISTRIBUTIONS = (".tar.gz", ".zip")


def sdist_candidates(
    folder: Path,
    names: Sequence[str] = (),
    *,
    download: bool = False,
    granted: str = "",
    guard: Guard = GUARD,
) -> list[ArchiveCandidate]:
    """The newest source distribution in ``folder`` for each of ``names``, or of everything there.

    A name may say which versions it allows (``name==1.2``). With ``download`` pip fetches what the folder lacks.
    """
    wanted = [_requirement(name) for name in names]
    if not wanted and not folder.is_dir():
        raise UserError(f"{folder}: no such folder; name the one that holds source distributions")
    missing = [requirement for requirement in wanted if _newest(folder, requirement) is None]
    if missing and download:
        _download(missing, folder)
    if not wanted:
        wanted = [Requirement(name) for name in sorted({name for name, _ in _found(folder)})]
    candidates = []
    for requirement in wanted:
        newest = _newest(folder, requirement)
        if newest is None:
            raise UserError(f"{folder}: no source distribution of {requirement}; put it there or set download: true")
        name, version, file = canonicalize_name(requirement.name), *newest
        candidates.append(ArchiveCandidate(name, file, str(version), granted, guard))
    return candidates


def _requirement(name: str) -> Requirement:
    try:
        requirement = Requirement(name)
    except InvalidRequirement as error:
        raise UserError(f"sources: {name!r} is no name of a distribution ({str(error).splitlines()[0]})") from None
    if requirement.url:
        raise UserError(f"sources: {name!r} names an address; put the file into the folder instead")
    return requirement


def _found(folder: Path) -> dict[tuple[NormalizedName, Version], Path]:
    found = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.name.endswith(_DISTRIBUTIONS):
            try:
                found[parse_sdist_filename(file.name)] = file
            except InvalidSdistFilename:
                continue  # another archive
    return found


def _newest(folder: Path, requirement: Requirement) -> tuple[Version, Path] | None:
    name = canonicalize_name(requirement.name)
    found = _found(folder).items()
    return max(
        ((version, file) for (each, version), file in found if each == name and version in requirement.specifier),
        default=None,
    )


def _download(missing: Sequence[Requirement], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(folder), *map(str, missing)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().split("\n")[-1]
        names = ", ".join(map(str, missing))
        raise UserError(f"sources: pip could not fetch {names} ({said}); check the names and pip's configuration")
