"""The context collection competition of ASE 2025 (JetBrains): the context is ours, the organisers complete with it.

A completion point is a place in a file that a commit has changed; the repository's folder holds the state before that
commit, so the stale file is legal context and does not contain the prefix. The cursor may stand inside a line. The
answer (``middle``) comes only with the data of finished stages; without it a point can be submitted, not scored. The
score is the mean of chrF over points, then over the organisers' three models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from repoformer.benchmarks.benchmark import BENCHMARKS, UNKNOWN_LICENCE, Benchmark, Problem
from repoformer.benchmarks.checkouts import Checkouts
from repoformer.benchmarks.rows import Row
from repoformer.code.records import Blank, Chunk
from repoformer.code.storage import written_aside
from repoformer.errors import UserError

FILE_SEPARATOR = "<|file_sep|>"


@BENCHMARKS.register("ase2025-python")
def python() -> Benchmark:
    """The Python track, in variants by the competition's stages."""
    return Benchmark(
        name="ase2025-python",
        summary="context collection for completions inside of real commits",
        kind="chunk",
        language="python",
        files={stage: f"python-{stage}.jsonl" for stage in ("public", "private", "practice", "start")},
        source="https://zenodo.org/records/16964765, first points in github.com/JetBrains-Research/ase2025-starter-kit",
        licence="CC-BY-4.0; the repositories under permissive licences that the file does not name",
        size=None,
        postprocessing="none",
        metrics=("chrf",),
        mean="instances",
        new_tokens=384,
        whole_lines=False,
        ids="own",
        parse=_problem,
        folder=_folder,
    )


def _problem(row: Row, variant: str, checkouts: Checkouts | None) -> Problem:
    repository, revision, path = row.text("repo"), row.text("revision"), row.text("path")
    left, right = row.text("prefix"), row.text("suffix")
    target = row.text("middle") if row.get("middle") is not None else ""
    start = left.count("\n")
    blank = Blank(
        id=row.text("id") if row.get("id") is not None else f"{repository}@{revision[:7]}/{path}",
        repository=repository,
        revision=revision,
        licence=UNKNOWN_LICENCE,
        path=path,
        language="python",
        kind="chunk",
        start=start,
        end=start + target.count("\n") + 1,
        left=left,
        right=right,
        target=target,
    )
    if checkouts is not None:
        checkouts.require(_folder(blank))
    return Problem(blank, None)


def _folder(blank: Blank) -> str:
    """Every revision of a repository lies in a folder of its own."""
    return f"{blank.repository.replace('/', '__')}-{blank.revision}"


def submitted_context(chunks: Iterable[Chunk]) -> str:
    """Chunks, best first, as the text of a submission: best last, because the organisers cut at the beginning.

    (For Mellum they turn the order of the files round before they cut.)
    """
    parts = [f"{FILE_SEPARATOR}{chunk.path}\n{chunk.text}\n" for chunk in chunks]
    return "".join(reversed(parts))


@dataclass(frozen=True, slots=True)
class SubmittedPoint:
    """What is handed in for one point. A prefix or suffix replaces the file's own: shorter, to leave room."""

    context: str
    prefix: str | None = None
    suffix: str | None = None


def write_submission(path: Path, problems: Sequence[Problem], points: Mapping[str, SubmittedPoint]) -> None:
    """One row for every problem in the order of its file, found in ``points`` by the problem's id; none may be missing.

    A submission of another length or order is invalid as a whole, so nothing is written then.
    """
    missing = [problem.blank.id for problem in problems if problem.blank.id not in points]
    if missing:
        raise UserError(
            f"{path}: nothing to submit for {len(missing)} of {len(problems)} points, the first is {missing[0]}; "
            "a submission holds every point of its stage, those with an empty context included"
        )
    with written_aside(path) as aside, open(aside, "w", encoding="utf-8") as handle:
        for problem in problems:
            fields = asdict(points[problem.blank.id]).items()
            handle.write(json.dumps({name: text for name, text in fields if text is not None}) + "\n")
