"""The Python distributions installed in an environment."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from repoformer.code.languages import language_of
from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, read_files
from repoformer.code.sources.candidate import Refused, source_files
from repoformer.code.sources.folders import file_stamps, read_licence
from repoformer.code.sources.licence_files import is_licence_file, metadata_evidence
from repoformer.errors import UserError


@dataclass(frozen=True, slots=True)
class InstalledCandidate:
    """A distribution in the environment: what it installed is taken as a repository."""

    id: str
    distribution: metadata.Distribution
    granted: str = ""

    @property
    def revision(self) -> str:
        """The version."""
        return self.distribution.version

    @property
    def root(self) -> Path:
        """The folder that packages are installed into."""
        return Path(str(self.distribution.locate_file("")))

    def stamp(self) -> object:
        """Sizes and times of the files that its record lists."""
        return self.evidence(), file_stamps(self.root, self._paths() or [])

    def evidence(self) -> LicenceEvidence:
        """What the metadata declare and the licence files beside them say."""
        texts = []
        for file in self.distribution.files or ():
            beside_metadata = file.parts[0].endswith((".dist-info", ".egg-info"))
            if beside_metadata and len(file.parts) <= 3 and is_licence_file(file):
                texts.append(read_licence(Path(str(file.locate()))).decode("utf-8", "replace"))
        return LicenceEvidence(*metadata_evidence(self.distribution.metadata), tuple(texts))

    def read(self, limits: Limits) -> Reading:
        """Source files that the distribution's record lists, without what it put outside of the root."""
        paths = self._paths()
        if paths is None:
            raise Refused("no list of its files")
        return read_files(self.root, source_files(paths, limits), limits.max_file_bytes)

    def _paths(self) -> list[str] | None:
        files = self.distribution.files
        if files is None:
            return None
        return sorted({file.as_posix() for file in files if language_of(file.name) and _is_inside(file)})


def installed_candidates(
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    site_packages: Sequence[str] = (),
    needed_by: str | None = None,
) -> list[InstalledCandidate]:
    """The distributions of this environment (or in the given folders), by name; an empty ``include`` takes them all.

    ``needed_by`` keeps only what this distribution needs, directly or not: the same whatever else is installed.
    """
    found: dict[NormalizedName, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=list(site_packages) or sys.path):
        name = distribution.metadata["Name"]
        if name:  # what is half uninstalled has none
            found.setdefault(canonicalize_name(name), distribution)
    wanted = {canonicalize_name(name) for name in include} or set(found)
    missing = sorted(wanted - set(found))
    if missing:
        raise UserError(f"sources: distribution {missing[0]!r} is not installed; install it or take it out of include")
    if needed_by is not None:
        wanted &= _needed_by(canonicalize_name(needed_by), found)
    unwanted_names = {canonicalize_name(name) for name in exclude}
    return [InstalledCandidate(name, found[name]) for name in sorted(wanted - unwanted_names)]


def _needed_by(name: NormalizedName, found: Mapping[NormalizedName, metadata.Distribution]) -> set[NormalizedName]:
    """The closure of a distribution's requirements, by the markers that hold here; without itself."""
    if name not in found:
        raise UserError(f"sources: distribution {name!r} is not installed; install it or take needed_by out")
    needed: set[tuple[NormalizedName, str]] = set()
    pending = [(name, "")]
    while pending:
        one, extra = pending.pop()
        if (one, extra) in needed or one not in found:
            continue
        needed.add((one, extra))
        for requirement in map(Requirement, found[one].requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                pending += [(canonicalize_name(requirement.name), each) for each in ("", *requirement.extras)]
    return {one for one, _ in needed} - {name}


def _is_inside(file: PurePosixPath) -> bool:
    return not file.is_absolute() and ".." not in file.parts
