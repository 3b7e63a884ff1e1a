"""CrossCodeLongEval (Repoformer): chunks and functions of CrossCodeEval's Python repositories.

Rows are those of CrossCodeEval. Chunk problems are cut from files *without their blank lines*: context and target have
none, and ``[start, end)`` count the lines that are left. The release replaced this data once after publication, so a
result needs the file's hash beside it.
"""

from __future__ import annotations

import re
from functools import partial

from repoformer.benchmarks.benchmark import BENCHMARKS, UNKNOWN_LICENCE, Benchmark, Problem
from repoformer.benchmarks.checkouts import OTHER_VERSION, Checkouts, Unusable
from repoformer.benchmarks.crosscodeeval import official_context, revision_in
from repoformer.benchmarks.rows import Row
from repoformer.benchmarks.splits import on_whole_lines
from repoformer.code.records import Blank, Kind

_SPAN = re.compile(r"/(\d+)_(\d+)_[^/]*$")


@BENCHMARKS.register("crosscodelongeval-chunk")
def chunk() -> Benchmark:
    """One to a few lines each."""
    return _task("chunk", "short runs of lines, in files without blank lines")


@BENCHMARKS.register("crosscodelongeval-function")
def function() -> Benchmark:
    """Function bodies, docstrings included."""
    return _task("function", "function bodies, docstrings included")


def _task(kind: Kind, summary: str) -> Benchmark:
    """One task, in variants by the query of the context that comes with it."""
    return Benchmark(
        name=f"crosscodelongeval-{kind}",
        summary=summary,
        kind=kind,
        language="python",
        files={variant: f"python_{kind}_completion_sparse_{variant}.jsonl" for variant in ("rg1", "oracle")},
        source="https://github.com/amazon-science/Repoformer: crosscodelongeval/, unpacked by its own script",
        licence="Apache-2.0; the repositories under permissive licences that the file does not name",
        size=5000,
        postprocessing="as-inserted" if kind == "function" else "non-blank-lines",
        metrics=("em_repoformer", "es_levenshtein", "em_repocoder", "es_fuzz_ratio"),
        mean="instances",
        new_tokens=256 if kind == "function" else 50,
        whole_lines=True,
        parse=partial(_problem, kind),
    )


def _problem(kind: Kind, row: Row, variant: str, checkouts: Checkouts | None) -> Problem:
    identity = row.text("metadata", "task_id")
    repository, path = row.text("metadata", "repository"), row.text("metadata", "file")
    span = _SPAN.search(identity)
    if span is None:
        raise row.error(f"metadata.task_id should end in START_END_..., is {identity!r}")
    given = row.text("prompt"), row.text("groundtruth"), row.text("right_context")
    if checkouts is not None:
        text = checkouts.text(repository, path)
        ours = _without_blank_lines(text) if kind == "chunk" else text
        if ours.strip("\n") != "".join(given).strip("\n"):
            raise Unusable(OTHER_VERSION)
    left, target, right = on_whole_lines(*given)
    blank = Blank(
        id=identity,
        repository=repository,
        revision=revision_in(repository),
        licence=UNKNOWN_LICENCE,
        path=path,
        language="python",
        kind=kind,
        start=int(span.group(1)),
        end=int(span.group(2)),
        left=left,
        right=right,
        target=target,
    )
    return Problem(blank, official_context(row, blank, variant))


def _without_blank_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip())
