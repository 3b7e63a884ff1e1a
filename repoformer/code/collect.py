"""Candidates become repositories: a licence that allows their use, files that can be read, enough of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from repoformer.code.filters import Requirements, count_imports, unwanted
from repoformer.code.licences import LicenceEvidence, licence_of, refusal
from repoformer.code.reading import Reading, read_files
from repoformer.code.records import Repository
from repoformer.seeding import stable_hash


@dataclass(frozen=True, slots=True)
class Collected:
    """One candidate after collection: a repository, or the reason why it was refused."""

    id: str
    repository: Repository | None
    refused: str = ""
    dropped: Counter[str] = field(default_factory=Counter)
    """Files set aside, by reason."""


class Candidate(Protocol):
    """Something that may become a repository."""

    @property
    def id(self) -> str:
        """The repository's name, unique within a collection."""

    @property
    def revision(self) -> str:
        """Commit or version, empty where there is none."""

    @property
    def root(self) -> Path:
        """What the files' paths are relative to."""

    @property
    def granted(self) -> str:
        """The licence under which whoever runs this says it may be used; usually empty."""

    def paths(self) -> list[str] | None:
        """Source files relative to the root; None where they are not known."""

    def evidence(self) -> LicenceEvidence:
        """What it says about its licence."""


def collect(candidate: Candidate, licences: Collection[str], requirements: Requirements) -> Collected:
    """The candidate's repository, if its licence is one of ``licences`` and it is worth it."""
    evidence = candidate.evidence()
    licence = candidate.granted or licence_of(evidence)
    reason = None if candidate.granted else refusal(licence, evidence, licences)
    if reason:
        return Collected(candidate.id, None, reason)
    paths = candidate.paths()
    if paths is None:
        return Collected(candidate.id, None, "no list of its files")
    if requirements.max_files and len(paths) > requirements.max_files:
        return Collected(candidate.id, None, f"{len(paths)} files, at most {requirements.max_files} are wanted")
    reading = _without_unwanted(read_files(candidate.root, paths, requirements.max_file_bytes))
    reason = count_imports(reading.files, reading.paths).refusal(requirements)
    if reason:
        return Collected(candidate.id, None, reason, reading.dropped)
    repository = Repository(candidate.id, candidate.revision, str(licence), reading.files)
    return Collected(candidate.id, repository, dropped=reading.dropped)


def fingerprint(candidate: Candidate) -> int:
    """A number that changes when the candidate does: by its files' sizes and times, without reading them."""
    stamps = []
    for path in candidate.paths() or ():
        try:
            status = (candidate.root / path).stat()
            stamps.append((path, status.st_size, status.st_mtime_ns))
        except OSError:
            stamps.append((path, -1, -1))
    return stable_hash(candidate.id, candidate.revision, candidate.granted, candidate.evidence(), stamps)


def _without_unwanted(reading: Reading) -> Reading:
    dropped = Counter(reading.dropped)
    files = []
    for file in reading.files:
        reason = unwanted(file.path, file.text)
        if reason:
            dropped[reason] += 1
        else:
            files.append(file)
    return Reading(tuple(files), reading.paths, dropped)
