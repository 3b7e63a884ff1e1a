"""CrossCodeEval: one statement that needs another file, in Python, Java, TypeScript and C#.

The file's text is prompt + target + right context. The cursor usually stands inside a line, behind ``object.``, so
these blanks are not whole lines: the left context does not end in a newline, and ``[start, end)`` are the lines that
the target touches. The repositories are given out by e-mail only, so the variants with the authors' own retrieval
matter: ``rg1_*`` looks for what resembles the prompt's last lines, ``oracle_*`` for what resembles the answer too.
"""

from __future__ import annotations

import re
from functools import partial

from repoformer.benchmarks.benchmark import BENCHMARKS, UNKNOWN_LICENCE, Benchmark, Problem
from repoformer.benchmarks.checkouts import OTHER_VERSION, Checkouts, Unusable
from repoformer.benchmarks.rows import Row
from repoformer.code.records import Blank, Chunk, RankedChunk, RetrievedContext

_VARIANTS = (
    *("rg1_bm25", "rg1_unixcoder_cosine_sim", "rg1_openai_cosine_sim"),
    *("oracle_bm25", "oracle_unixcoder_cosine_sim", "oracle_openai_cosine_sim"),
)
_QUERY_LINES = 10


@BENCHMARKS.register("crosscodeeval-python")
def python() -> Benchmark:
    """Statements of Python repositories."""
    return _language("python", 2665)


@BENCHMARKS.register("crosscodeeval-java")
def java() -> Benchmark:
    """Statements of Java repositories."""
    return _language("java", 2139)


@BENCHMARKS.register("crosscodeeval-typescript")
def typescript() -> Benchmark:
    """Statements of TypeScript repositories."""
    return _language("typescript", 3356)


@BENCHMARKS.register("crosscodeeval-csharp")
def csharp() -> Benchmark:
    """Statements of C# repositories."""
    return _language("csharp", 1768)


def _language(language: str, size: int) -> Benchmark:
    """One language, in variants by who retrieved the context and with what; ``none`` holds no context."""
    retrieved = {variant: f"{language}/line_completion_{variant}.jsonl" for variant in _VARIANTS}
    return Benchmark(
        name=f"crosscodeeval-{language}",
        summary="statements that need another file",
        kind="line",
        language=language,
        files=retrieved | {"none": f"{language}/line_completion.jsonl"},
        source="https://github.com/amazon-science/cceval: data/crosscodeeval_data.tar.xz",
        licence="Apache-2.0; the repositories under permissive licences that the file does not name",
        size=size,
        postprocessing="first-statement",
        metrics=("em_crosscodeeval", "es_crosscodeeval", "identifier_em", "identifier_f1", "es_levenshtein"),
        mean="instances",
        new_tokens=50,
        whole_lines=False,
        parse=partial(_problem, language),
    )


def _problem(language: str, row: Row, variant: str, checkouts: Checkouts | None) -> Problem:
    left, target, right = row.text("prompt"), row.text("groundtruth"), row.text("right_context")
    repository, path = row.text("metadata", "repository"), row.text("metadata", "file")
    cropped = row.number("metadata", "context_start_lineno")
    if checkouts is not None:
        text, ours = checkouts.text(repository, path), left + target + right
        if not (text.endswith(ours) if cropped else text == ours):
            raise Unusable(OTHER_VERSION)
    start = cropped + left.count("\n")
    blank = Blank(
        id=row.text("metadata", "task_id"),
        repository=repository,
        revision=revision_in(repository),
        licence=UNKNOWN_LICENCE,
        path=path,
        language=language,
        kind="line",
        start=start,
        end=start + target.count("\n") + 1,
        left=left,
        right=right,
        target=target,
    )
    return Problem(blank, official_context(row, blank, variant))


def revision_in(repository: str) -> str:
    """The beginning of the commit in ``owner-name-sha7``; empty where there is none."""
    commit = re.search("-([0-9a-f]{7})$", repository)
    return commit.group(1) if commit else ""


def official_context(row: Row, blank: Blank, variant: str) -> RetrievedContext | None:
    """The row's ``crossfile_context``, best chunk first; None if the file has no such field.

    The chunks are ten non-blank lines each, whose place in their file is not given: they stand at lines ``[0, 0)``.
    Rendered by :func:`repoformer.prompt.cross_file.cross_file_text` they are the row's own text again.
    """
    given = row.get("crossfile_context")
    if given is None:
        return None
    found = row.rows("crossfile_context", "list") if given else []  # an empty value: nothing was found
    chunks = tuple(
        RankedChunk(Chunk(chunk.text("filename"), 0, 0, chunk.text("retrieved_chunk")), chunk.real("score"))
        for chunk in found
    )
    holds_target = variant.startswith("oracle")
    lines = [*blank.left.split("\n"), *(blank.target.split("\n") if holds_target else ())]
    query = "\n".join([line for line in lines if line.strip()][-_QUERY_LINES:])
    return RetrievedContext(chunks, query, holds_target, f"official {variant}", seconds=0.0)
