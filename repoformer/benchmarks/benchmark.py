"""What a benchmark is: where its files come from, how their rows become problems, and how it is scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from repoformer.benchmarks.checkouts import Checkouts, Unusable
from repoformer.benchmarks.rows import Row, read_rows, sha256
from repoformer.code.records import Blank, Kind, RetrievedContext
from repoformer.errors import UserError
from repoformer.registry import Registry

UNKNOWN_LICENCE = "NOASSERTION"
"""SPDX for: the benchmark does not say under which licence the repository is."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A blank of a benchmark, and the cross-file context that the benchmark itself gives for it, if it gives one."""

    schema: ClassVar[int] = 1
    blank: Blank
    context: RetrievedContext | None


@dataclass(frozen=True, slots=True)
class Problems:
    """What was read from one file of a benchmark, and what a report on it has to say."""

    benchmark: str
    variant: str
    """One of the benchmark's variants, or the name of the file where that is none of them."""
    version: int
    sha256: str
    """Of the file that was read."""
    problems: tuple[Problem, ...]
    """In the order of the file."""
    set_aside: Mapping[str, int]
    """How many problems of the file are not among them, by reason."""
    notes: tuple[str, ...]
    """Sentences that belong beside every figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A public benchmark of one kind and language."""

    name: str
    summary: str
    kind: Kind
    language: str
    files: Mapping[str, str]
    """The file of each variant, under the folder that the benchmark's data unpacks to. The first is the default."""
    source: str
    licence: str
    """Of the data, and of the code in it."""
    size: int | None
    """Problems in the full benchmark, the same in every variant; None where they differ or are not known."""
    postprocessing: str
    """How output is cut before scoring, as published: a name in ``metrics/catalogue.py``."""
    metrics: tuple[str, ...]
    """What is reported on it: names in ``metrics/catalogue.py``, its own first."""
    mean: Literal["instances", "repositories"]
    """What the benchmark's authors average over."""
    new_tokens: int
    """Limit of a completion."""
    right_context: Literal["given", "from the repositories"] = "given"
    whole_lines: bool
    """Whether the blanks keep the rule of whole lines; if not, the cursor may stand inside a line."""
    ids: Literal["official", "own"] = "official"
    """``own`` where the file's ids are not unique: then made of repository, path and line."""
    version: int = 1
    """Of this reader: raised when the same file yields other problems than before."""
    parse: Callable[[Row, str, Checkouts | None], Problem]
    """From a row of a variant's file to its problem; raises :class:`Unusable` for one to set aside."""
    folder: Callable[[Blank], str] = lambda blank: blank.repository
    """The name of the folder that holds a blank's repository, among the benchmark's repositories."""

    def file(self, place: Path, variant: str | None = None) -> Path:
        """The file of a variant under ``place``, which may also be the file itself; a missing one is explained."""
        path = place / self.files[self.variant(place, variant)] if place.is_dir() else place
        if not path.is_file():
            raise UserError(
                f"{path}: no such file; {self.name} is read from it. Source: {self.source} ({self.licence})"
            )
        return path

    def variant(self, place: Path, name: str | None = None) -> str:
        """``name`` if there is such a variant; for None the first one, or what a single file's own name says."""
        if name is not None:
            if name not in self.files:
                raise UserError(f"{self.name} has no variant {name!r}; there are {', '.join(self.files)}")
            return name
        if place.is_dir():
            return next(iter(self.files))
        return next((variant for variant, file in self.files.items() if Path(file).name == place.name), place.name)

    def load(self, place: Path, *, variant: str | None = None, repositories: Path | None = None) -> Problems:
        """All problems of a variant's file, found under the folder ``place`` or being ``place`` itself.

        With ``repositories``, the folder of the benchmark's checkouts, every file is compared with what the problem
        says of it, and problems from another version of it are set aside. Context is not retrieved here.
        """
        path, variant = self.file(place, variant), self.variant(place, variant)
        checkouts = Checkouts(repositories) if repositories else None
        problems: dict[str, Problem] = {}
        set_aside: Counter[str] = Counter()
        for row in read_rows(path):
            try:
                problem = self.parse(row, variant, checkouts)
            except Unusable as reason:
                set_aside[str(reason)] += 1
                continue
            identity = self._unique(problem.blank.id, problems, row)
            problems[identity] = _renamed(problem, identity)
        if not problems:
            why = f"all set aside: {set_aside.most_common(1)[0][0]}" if set_aside else "it is empty"
            raise UserError(f"{path}: no problem of {self.name} can be used ({why})")
        notes = tuple(self._notes(problems, repositories))
        return Problems(
            self.name, variant, self.version, sha256(path), tuple(problems.values()), dict(set_aside), notes
        )

    def _unique(self, identity: str, taken: Mapping[str, Problem], row: Row) -> str:
        if identity not in taken:
            return identity
        if self.ids == "official":
            raise row.error(f"a second problem with the id {identity}; get the file again from its source")
        # Two calls on one line are two problems of the API level; the order of the file tells them apart.
        return next(new for count in range(2, len(taken) + 3) if (new := f"{identity}#{count}") not in taken)

    def _notes(self, problems: Mapping[str, Problem], repositories: Path | None) -> list[str]:
        notes = []
        if self.size is not None and len(problems) != self.size:
            notes.append(f"{len(problems)} problems where the full benchmark has {self.size}: not comparable with it")
        if self.right_context == "from the repositories" and repositories is None:
            notes.append("no right context: the file holds none, and the folder of the repositories was not given")
        unanswered = sum(not problem.blank.target for problem in problems.values())
        if unanswered:
            notes.append(f"{unanswered} of {len(problems)} problems come without their answer and cannot be scored")
        return notes


def _renamed(problem: Problem, identity: str) -> Problem:
    return problem if problem.blank.id == identity else replace(problem, blank=replace(problem.blank, id=identity))


BENCHMARKS: Registry[Callable[[], Benchmark]] = Registry("benchmark", "repoformer.benchmarks")


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; an unknown one raises a :class:`UserError` that suggests the closest."""
    return BENCHMARKS.get(name)()
