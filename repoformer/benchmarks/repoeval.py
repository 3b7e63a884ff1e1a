"""RepoEval (RepoCoder): lines, API calls and function bodies of Python repositories.

A row holds the prompt, cropped to a number of tokens on its left, and the target: whole lines of the file. The right
context stands in the repository only, as does what of the left context was cropped. Repoformer's evaluation moves the
indentation of the target's first line into the prompt; here it stays in the target, as in every blank.
"""

from __future__ import annotations

from functools import partial

from repoformer.benchmarks.benchmark import BENCHMARKS, UNKNOWN_LICENCE, Benchmark, Problem
from repoformer.benchmarks.checkouts import OTHER_VERSION, Checkouts, Unusable
from repoformer.benchmarks.rows import Row
from repoformer.code.records import Blank, Kind

# Of the function level's repositories; the licence of the others is not stated with the benchmark.
_LICENCES = {
    "amazon-science_patchcore-inspection": "Apache-2.0",
    "CarperAI_trlx": "MIT",
    "deepmind_tracr": "Apache-2.0",
    "facebookresearch_omnivore": "CC-BY-NC-4.0",
    "google_lightweight_mmm": "Apache-2.0",
    "leopard-ai_betty": "Apache-2.0",
    "lucidrains_imagen-pytorch": "MIT",
    "maxhumber_redframes": "BSD-2-Clause",
}


@BENCHMARKS.register("repoeval-line")
def line() -> Benchmark:
    """Random lines of code, 200 of each of 8 repositories."""
    return _level("line", "lines of 8 Python repositories", ("2k_codex", "1k_codegen", "2k_codegen", "4k_codex"), 1600)


@BENCHMARKS.register("repoeval-api")
def api() -> Benchmark:
    """Lines that call a function which the repository itself defines."""
    return _level(
        "api", "calls of the repository's own functions", ("2k_codex", "1k_codegen", "2k_codegen", "4k_codex"), 1600
    )


@BENCHMARKS.register("repoeval-function")
def function() -> Benchmark:
    """Function bodies of 3 to 30 lines. RepoCoder's paper counts 373: without trlx and betty."""
    return _level("function", "function bodies of 8 Python repositories", ("2k_codex", "4k_codex"), 455)


def _level(kind: Kind, summary: str, lengths: tuple[str, ...], size: int) -> Benchmark:
    """One level, in variants by the length and the tokenizer that the prompts were cropped to."""
    return Benchmark(
        name=f"repoeval-{kind}",
        summary=summary,
        kind=kind,
        language="python",
        files={length: _file(kind, length) for length in lengths},
        source="https://github.com/microsoft/CodeT/tree/main/RepoCoder: datasets/datasets.zip, repositories/*.zip",
        licence="MIT; the repositories MIT, Apache-2.0, BSD-2-Clause, and CC-BY-NC-4.0 (omnivore)",
        size=size,
        postprocessing="as-inserted" if kind == "function" else "non-blank-lines",
        metrics=("em_repocoder", "es_repocoder", "em_repoformer", "es_levenshtein"),
        mean="repositories",
        new_tokens=256 if kind == "function" else 50,
        right_context="from the repositories",
        whole_lines=True,
        ids="own",
        parse=partial(_problem, kind),
    )


def _file(kind: Kind, length: str) -> str:
    tokens, tokenizer = length.split("_")
    return f"{kind}_level_completion_{tokens}_context_{tokenizer}.test.jsonl"


def _problem(kind: Kind, row: Row, variant: str, checkouts: Checkouts | None) -> Problem:
    folder, *parts = row.texts("metadata", "fpath_tuple") or [""]
    if not parts:
        raise row.error("metadata.fpath_tuple should name a repository and a path in it")
    path = "/".join(parts)
    prompt = row.text("prompt")
    target = row.text("metadata", "ground_truth").removesuffix("\n")
    start = row.number("metadata", "lineno" if kind == "function" else "line_no")
    count = _line_count(target)
    if checkouts is None:
        left, right = prompt + "\n" * _newlines_left_off(row, prompt, start), ""
    else:
        left, right = _around(checkouts.text(folder, path), prompt, start, target)
        start = left.count("\n")
    blank = Blank(
        id=f"{folder}/{path}:{start + 1}-{start + count}",
        repository=folder,
        revision="",
        licence=_LICENCES.get(folder, UNKNOWN_LICENCE),
        path=path,
        language="python",
        kind=kind,
        start=start,
        end=start + count,
        left=left,
        right=right,
        target=target,
    )
    return Problem(blank, None)


def _newlines_left_off(row: Row, prompt: str, start: int) -> int:
    """How many newlines stand between the prompt, which never ends in one, and the target."""
    missing = start - row.number("metadata", "context_start_lineno") - prompt.count("\n")
    return max(missing, 1 if prompt else 0)


def _around(text: str, prompt: str, start: int, target: str) -> tuple[str, str]:
    """What stands before and after the target in its file, if the file is the one that the problem was made of."""
    # RepoCoder numbers the lines of str.splitlines, which breaks lines at form feeds and the like too.
    lines = text.splitlines(keepends=True)
    end = start + _line_count(target)
    left, hole, right = ("".join(part) for part in (lines[:start], lines[start:end], lines[end:]))
    # Prompts are cut by tokens: the first may begin inside a character, which then reads U+FFFD.
    seen = prompt.lstrip("\ufffd").rstrip("\n")
    if hole.removesuffix("\n") != target or not left.rstrip("\n").endswith(seen):
        raise Unusable(OTHER_VERSION)
    return left, "\n" + right if hole.endswith("\n") else right


def _line_count(target: str) -> int:
    return len(f"{target}\n".splitlines())
