"""What an evaluation is made on: the held-out blanks of a data run, or the problems of a public benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from repoformer.benchmarks.benchmark import Benchmark, Problem, Problems, benchmark
from repoformer.code.languages import LANGUAGES
from repoformer.code.reading import read_folder
from repoformer.code.records import Blank, Repository, RetrievedContext
from repoformer.code.storage import files_hash
from repoformer.errors import UserError
from repoformer.inference.arms import Length
from repoformer.metrics.catalogue import AS_INSERTED

from .blanks import balanced_order, held_out_blanks, parts_of, repositories
from .recipe import EvalRecipe, PublicBenchmark


@dataclass(frozen=True, slots=True)
class Source:
    """What every step and the report need to know about where the blanks come from; kept beside the contexts."""

    name: str
    path: str
    variant: str = ""
    version: int = 0
    sha256: str = ""
    """Of the benchmark's file."""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    postprocessing: str = AS_INSERTED
    """A name in ``metrics/catalogue.py``."""
    metrics: tuple[str, ...] = ()
    """Published metrics to report beside edit similarity, the benchmark's own first."""
    mean: str = "instances"
    """What the benchmark's authors average over."""
    new_tokens: int | None = None
    public: bool = False

    @property
    def length(self) -> Length:
        """How long completions may get."""
        return Length(self.new_tokens, to_the_limit=self.postprocessing != AS_INSERTED)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"notes": list(self.notes), "metrics": list(self.metrics)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Source:
        """The inverse of :meth:`to_json`."""
        return cls(**(dict(values) | {"notes": tuple(values["notes"]), "metrics": tuple(values["metrics"])}))


@dataclass(frozen=True, slots=True)
class Asked:
    """All blanks that could be asked, in an order that may be cut anywhere, and what context can be found for them in.

    ``given``: contexts that the benchmark itself brings, by the blank's id. ``folder`` names the repository that a
    blank is retrieved from; ``repositories`` yields the wanted ones and is None where there is nothing to search.
    """

    source: Source
    blanks: list[Blank]
    made_with: Mapping[str, Any]
    given: Mapping[str, RetrievedContext]
    folder: Callable[[Blank], str]
    repositories: Callable[[Set[str]], Iterator[Repository]] | None


def asked(recipe: EvalRecipe) -> Asked:
    """The blanks that a recipe names."""
    if recipe.benchmark is not None:
        return _with_answers(recipe.benchmark, problems_of(recipe.benchmark), recipe.seed)
    assert recipe.data is not None
    data = Path(recipe.data)
    blanks = held_out_blanks(data, recipe.seed)
    made_with = {
        "repositories": files_hash(parts_of(data / "collect")),
        "blanks": files_hash(parts_of(data / "sample")),
    }
    source = Source("held-out repositories", str(data))
    return Asked(source, blanks, made_with, {}, lambda blank: blank.repository, partial(repositories, data))


def problems_of(named: PublicBenchmark) -> Problems:
    """All problems of a benchmark, those without an answer included."""
    described = benchmark(named.name)
    if described.language not in LANGUAGES:
        raise UserError(f"{named.name}: no prompts for {described.language} yet; there are {', '.join(LANGUAGES)}")
    return described.load(Path(named.data), variant=named.variant, repositories=_root(named))


def asked_of_problems(named: PublicBenchmark, source: Source, problems: Sequence[Problem], seed: int) -> Asked:
    """These problems, with the contexts that they bring or the repositories to search."""
    described, root = benchmark(named.name), _root(named)
    return Asked(
        source,
        balanced_order([problem.blank for problem in problems], seed),
        {"benchmark": [named.name, source.variant, source.version, source.sha256, named.repositories, named.context]},
        _given(problems) if named.context == "given" else {},
        described.folder,
        partial(_checkouts, root, _first_blanks(described, problems)) if root else None,
    )


def _with_answers(named: PublicBenchmark, read: Problems, seed: int) -> Asked:
    described = benchmark(named.name)
    answered = [problem for problem in read.problems if problem.blank.target]
    if not answered:
        raise UserError(
            f"{named.data}: no problem of {named.name} comes with its answer, so nothing can be scored; "
            "`repoformer eval submit` writes what is handed in"
        )
    unanswered = len(read.problems) - len(answered)
    source = Source(
        name=named.name,
        path=named.data,
        variant=read.variant,
        version=read.version,
        sha256=read.sha256,
        set_aside=dict(Counter(read.set_aside) + Counter({"no answer": unanswered})),
        notes=read.notes,
        postprocessing=described.postprocessing,
        metrics=described.metrics,
        mean=described.mean,
        new_tokens=described.new_tokens,
        public=True,
    )
    return asked_of_problems(named, source, answered, seed)


def _root(named: PublicBenchmark) -> Path | None:
    return Path(named.repositories) if named.repositories else None


def _given(problems: Sequence[Problem]) -> dict[str, RetrievedContext]:
    return {problem.blank.id: problem.context for problem in problems if problem.context is not None}


def _first_blanks(described: Benchmark, problems: Sequence[Problem]) -> dict[str, Blank]:
    """For each folder one of its blanks, which knows revision and licence."""
    return {described.folder(problem.blank): problem.blank for problem in reversed(problems)}


def _checkouts(root: Path, known: Mapping[str, Blank], wanted: Set[str]) -> Iterator[Repository]:
    for folder in sorted(wanted):
        blank = known[folder]
        files = read_folder(root / folder).files
        yield Repository(folder, blank.revision, blank.licence, files)
