"""``repoformer eval build``: a leak-free chunk, function and line benchmark from any repositories.

    OUT/collect/, sample/, split.json    laid out like a data run of which every repository is held out
    OUT/benchmark.json                   how it was made, and what was set aside with the reason

What could not be believed is left out: repositories that are mostly copies of another one, and blanks in files that are
copies of files which a model was trained on (``--against``). Copies inside of a repository stay: retrieval does not
search them, and every evaluation checks that no context holds its hole.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from repoformer.code.chunk_blanks import chunk_blanks
from repoformer.code.filters import unwanted
from repoformer.code.function_blanks import function_blanks
from repoformer.code.licences import licence_of
from repoformer.code.line_blanks import line_blanks
from repoformer.code.reading import read_folder
from repoformer.code.records import Blank, Repository, SourceFile
from repoformer.code.sources.folders import FolderCandidate, folder_candidates
from repoformer.code.storage import files_hash, read_json, read_parquet, write_json, write_parquet
from repoformer.context.leaks import CopyFinder
from repoformer.errors import UserError

from .blanks import parts_of

LEAST_FILES = 2
"""A repository of one file has no other that context could come from."""
MOSTLY = 0.5
"""Share of its files that are copies of another repository's from which a repository counts as its copy."""
_UNKNOWN = "NOASSERTION"


@dataclass
class Built:
    """What became of the repositories."""

    kinds: Counter[str] = field(default_factory=Counter)
    repositories: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    set_aside: Counter[str] = field(default_factory=Counter)
    """Files and candidates for blanks, by reason."""

    def lines(self) -> Iterator[str]:
        """For people."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        yield f"{self.kinds.total()} blanks ({counts}) of {len(self.repositories)} repositories"
        yield from (f"refused: {name}: {reason}" for name, reason in self.refused.items())
        yield from (f"set aside: {count} {reason}" for reason, count in sorted(self.set_aside.items()))


def build(repos: Path, out: Path, each: int, seed: int, against: Sequence[Path] = ()) -> Built:
    """Make the benchmark; the same folders and seed give the same bytes. An earlier one in ``out`` is replaced."""
    built = Built()
    trained_on = _FilesElsewhere(repository for data in against for repository in _trained_on(data))
    repositories = list(_distinct(_read(repos, built), built))
    if not repositories:
        raise UserError(f"{repos}: no repository can be used; {next(iter(built.refused.items()), 'it is empty')}")
    blanks: list[Blank] = []
    for repository in tqdm(repositories, desc="sample", unit="repository"):
        blanks += _without_known(_blanks(repository, each, seed, built), trained_on, built)
    built.kinds.update(blank.kind for blank in blanks)
    built.repositories = [repository.id for repository in repositories]
    if not blanks:
        raise UserError(f"{repos}: no blank can be drawn from {len(repositories)} repositories")
    _write(out, repositories, blanks)
    write_json(out / "benchmark.json", _card(out, each, seed, against, built))
    return built


def _read(repos: Path, built: Built) -> Iterator[Repository]:
    for candidate in tqdm(folder_candidates(repos), desc="read", unit="repository"):
        reading = read_folder(candidate.root)
        built.set_aside.update(reading.dropped)
        files = []
        for file in reading.files:
            reason = unwanted(file.path, file.text)
            if reason:
                built.set_aside[reason] += 1
            else:
                files.append(file)
        if len(files) < LEAST_FILES:
            built.refused[candidate.id] = f"{len(files)} usable files, context needs {LEAST_FILES}"
        else:
            yield Repository(candidate.id, candidate.revision, _licence(candidate), tuple(files))


def _licence(candidate: FolderCandidate) -> str:
    return str(licence_of(candidate.evidence()) or _UNKNOWN)


def _distinct(repositories: Iterable[Repository], built: Built) -> Iterator[Repository]:
    """Without repositories most of whose files are copies of files of an earlier one."""
    kept: list[Repository] = []
    for repository in repositories:
        earlier = _FilesElsewhere(kept)
        copies = sum(earlier.has(file) for file in repository.files)
        if copies > MOSTLY * len(repository.files):
            built.refused[repository.id] = f"{copies} of its {len(repository.files)} files are copies of another's"
            continue
        kept.append(repository)
        yield repository


class _FilesElsewhere:
    """The files of some repositories, asked whether one of them is a copy of a file of another repository."""

    def __init__(self, repositories: Iterable[Repository]) -> None:
        self._finder = CopyFinder(
            [
                SourceFile(f"{repository.id}//{file.path}", file.text, file.language)
                for repository in repositories
                for file in repository.files
            ]
        )

    def has(self, file: SourceFile) -> bool:
        """Whether there is a copy; tiny files, which are alike everywhere, are none."""
        return bool(file.text.strip()) and bool(self._finder.copies_of(file.path, file.text))


def _trained_on(data: Path) -> Iterator[Repository]:
    split = read_json(data / "split.json")
    seen = {*split.get("train", ()), *split.get("validation", ())}
    for part in parts_of(data / "collect"):
        yield from (repository for repository in read_parquet(Repository, part) if repository.id in seen)


def _blanks(repository: Repository, each: int, seed: int, built: Built) -> Iterator[Blank]:
    for sampled in (
        chunk_blanks(repository, seed=seed, most=each),
        function_blanks(repository, seed=seed, most=each),
        line_blanks(repository, seed=seed, most=each),
    ):
        built.set_aside.update(sampled.dropped)
        yield from sampled.blanks


def _without_known(blanks: Iterable[Blank], trained_on: _FilesElsewhere, built: Built) -> Iterator[Blank]:
    for blank in blanks:
        file = SourceFile(blank.path, blank.left + blank.target + blank.right, blank.language)
        if trained_on.has(file):
            built.set_aside["blank in a copy of a file that was trained on"] += 1
        else:
            yield blank


def _write(out: Path, repositories: Sequence[Repository], blanks: Sequence[Blank]) -> None:
    for stage, records, cls in (("collect", repositories, Repository), ("sample", blanks, Blank)):
        shutil.rmtree(out / stage, ignore_errors=True)
        write_parquet(out / stage / "part-00000-of-00001.parquet", records, cls)
        write_json(out / stage / "part-00000-of-00001.done.json", {"rows": len(records)})
    held_out = [repository.id for repository in repositories]
    write_json(out / "split.json", {"train": [], "validation": [], "test": held_out})


def _card(out: Path, each: int, seed: int, against: Sequence[Path], built: Built) -> dict[str, object]:
    return {
        "schema": 1,
        "seed": seed,
        "each": each,
        "against": [str(data) for data in against],
        "blanks": dict(sorted(built.kinds.items())),
        "repositories": built.repositories,
        "refused": built.refused,
        "set_aside": dict(sorted(built.set_aside.items())),
        "hash": files_hash([*parts_of(out / "collect"), *parts_of(out / "sample")]),
    }
