"""Candidates become repositories: a licence that allows their use, files that can be read, enough of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from repoformer.code.filters import Requirements, compiled, count_imports, unwanted
from repoformer.code.licences import licence_of, refusal
from repoformer.code.reading import Reading
from repoformer.code.records import Repository, SourceFile
from repoformer.code.sources.candidate import Candidate, Refused
from repoformer.seeding import stable_hash


@dataclass(frozen=True, slots=True)
class Collected:
    """One candidate after collection: a repository, or the reason why it was refused."""

    id: str
    repository: Repository | None
    refused: str = ""
    dropped: Counter[str] = field(default_factory=Counter)
    """Files set aside, by reason."""


def collect(
    candidate: Candidate,
    licences: Collection[str],
    requirements: Requirements,
    left_out: Callable[[SourceFile], str | None] = lambda _: None,
) -> Collected:
    """The candidate's repository, if its licence is one of ``licences`` and it is worth it.

    ``left_out`` gives a reason against a file beside the usual ones; it may also raise `Refused` against them all.

    Whatever is wrong with a candidate is its own affair: it is refused with the reason, and the next one's turn comes.
    """
    try:
        return _collect(candidate, licences, requirements, left_out)
    except Refused as reason:
        return Collected(candidate.id, None, str(reason))
    except OSError as error:
        return Collected(candidate.id, None, f"cannot be read ({error.strerror or error})")


def fingerprint(candidate: Candidate) -> int:
    """A number that changes when the candidate does, told without reading its files where that can be."""
    try:
        stamp = candidate.stamp()
    except OSError as error:
        stamp = str(error)
    return stable_hash(candidate.id, candidate.granted, stamp)


def _collect(
    candidate: Candidate,
    licences: Collection[str],
    requirements: Requirements,
    left_out: Callable[[SourceFile], str | None],
) -> Collected:
    licence: str | None = candidate.granted
    if not licence:
        evidence = candidate.evidence()
        licence = licence_of(evidence)
        reason = refusal(licence, evidence, licences)
        if reason:
            return Collected(candidate.id, None, reason)
    reading = candidate.read(requirements.limits)
    outputs = compiled(reading.paths)
    reading = _without(reading, lambda file: "compiled" if file.path in outputs else unwanted(file.path, file.text))
    reading = _without(reading, left_out)
    reason = count_imports(reading.files, reading.paths).refusal(requirements)
    if reason:
        return Collected(candidate.id, None, reason, reading.dropped)
    repository = Repository(candidate.id, candidate.revision, str(licence), reading.files)
    return Collected(candidate.id, repository, dropped=reading.dropped)


def _without(reading: Reading, why: Callable[[SourceFile], str | None]) -> Reading:
    """The reading without the files that there is a reason against."""
    dropped = Counter(reading.dropped)
    files = []
    for file in reading.files:
        reason = why(file)
        if reason:
            dropped[reason] += 1
        else:
            files.append(file)
    return Reading(tuple(files), reading.paths, dropped)
