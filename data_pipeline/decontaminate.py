"""Decontamination: what benchmarks are made of must not be trained on.

By *name*: a repository that a benchmark names is refused. Benchmarks write names as ``owner_name`` or
``owner-name-commit``, sources often without the owner; punctuation and case do not count, and a name without an owner
matches that of any. By *content*: a file that is a copy of a benchmark's file (by the definition of the leak rule) is
left out, and where it also stands at the same path the repository is a copy of the benchmark's and refused.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from repoformer.benchmarks.benchmark import benchmark
from repoformer.benchmarks.rows import sha256
from repoformer.code.records import Blank, SourceFile
from repoformer.code.sources.candidate import Refused
from repoformer.context.leaks import is_copy, telling_lines

from .recipe import BenchmarkFiles

_COMMIT = re.compile("-[0-9a-f]{7}$")


class Contamination:
    """The repositories and files of some benchmarks."""

    def __init__(self, blanks: Iterable[tuple[str, Blank]]) -> None:
        """``blanks``: each with the name of its benchmark."""
        self._repositories: dict[str, str] = {}
        lines: dict[tuple[str, str, str], frozenset[str]] = {}
        for name, blank in blanks:
            self._repositories.setdefault(_spelled(_COMMIT.sub("", blank.repository)), name)
            file = name, blank.repository, blank.path
            text = blank.left + blank.target + blank.right
            # Problems show parts of their file, which add up.
            lines[file] = lines.get(file, frozenset()) | telling_lines(blank.path, text)
        self._files, self._lines = list(lines), list(lines.values())
        self._holders: dict[str, list[int]] = defaultdict(list)
        for place, held in enumerate(self._lines):
            for line in held:
                self._holders[line].append(place)

    def refusal(self, repository: str) -> str | None:
        """Why a repository of this name must not be used."""
        name = _spelled(repository)
        for known, source in self._repositories.items():
            if name == known or ("/" not in repository and known.endswith(f"-{name}")):
                return f"repository of {source} ({known})"
        return None

    def copied(self, file: SourceFile) -> tuple[str, str] | None:
        """The benchmark that a file is a copy from, and the place there; a copy at its own path refuses all."""
        own = telling_lines(file.path, file.text)
        shared = Counter(holder for line in own for holder in self._holders.get(line, ()))
        for place, _ in shared.most_common():
            if is_copy(own, self._lines[place]):
                name, repository, path = self._files[place]
                if path == file.path:
                    raise Refused(f"copy of a repository of {name} ({path} of {repository})")
                return name, f"{repository}/{path}"
        return None


def contamination(wanted: Sequence[BenchmarkFiles]) -> Contamination:
    """What stands in the benchmarks of a recipe."""
    return Contamination((each.name, blank) for each in wanted for blank in _blanks(each))


def leave_out(known: Contamination, report: Callable[[str, str], object]) -> Callable[[SourceFile], str | None]:
    """Why a file is left out; each is also told to ``report`` with its path and what it is a copy of."""

    def reason(file: SourceFile) -> str | None:
        found = known.copied(file)
        if found is None:
            return None
        name, original = found
        report(file.path, f"copy of {original} of {name}")
        return f"copy of a file of {name}"

    return reason


def benchmark_hashes(wanted: Sequence[BenchmarkFiles]) -> list[str]:
    """Hashes of the benchmarks' own files, in order."""
    return [sha256(benchmark(each.name).file(_place(each.path), each.variant)) for each in wanted]


def _blanks(each: BenchmarkFiles) -> list[Blank]:
    repositories = _place(each.repositories) if each.repositories else None
    read = benchmark(each.name).load(_place(each.path), variant=each.variant, repositories=repositories)
    return [problem.blank for problem in read.problems]


def _place(path: str) -> Path:
    return Path(path).expanduser()


def _spelled(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower().removesuffix(".git")).strip("-")
