"""Search through the inverted indexes against the plain ways, and what a blank costs as repositories grow.

    OMP_NUM_THREADS=1 python tests/performance/retrieval.py [--package sympy] [--queries 400]

Jaccard against a loop over cached Python sets, BM25 against rank-bm25's ``get_scores``, over 20-line windows of a
package's random files, as many as make 1,000 to 60,000 of them; rankings and scores are compared. Then the cost of a
sampled blank in repositories of so many windows. Ways take turns in one process and time is the process's own, without
garbage collection, as timeit has it. Exits with 1 where a ratio is missed or a result differs.

Every query is the 20 lines above a random place of the indexed files, as a hole's are. All ways build what they know of
the windows once (the index; each window's set of words; rank-bm25's statistics), find the words of a query in its text
every time, and keep nothing of a query.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

from repoformer.code.chunk_blanks import chunk_blanks
from repoformer.code.chunking import windows
from repoformer.code.function_blanks import function_blanks
from repoformer.code.records import Repository, SourceFile
from repoformer.retrieval.bm25 import BM25Index
from repoformer.retrieval.jaccard import JaccardIndex
from repoformer.retrieval.vocabulary import words

TOP = 10
WANTED = 300
SIZES = (1_000, 10_000, 60_000)
Hits = list[tuple[int, float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--package", default="sympy")
    parser.add_argument("--queries", type=int, default=400)
    arguments = parser.parse_args()
    files = package_files(arguments.package)
    good = True
    print(f"{'chunks':>7} {'scorer':8} {'build':>7} {'index':>10} {'plain':>11} {'ratio':>6}")
    for size in SIZES:
        some = files_of(files, size)
        texts = [chunk.text for file in some for chunk in windows(file.path, file.text, 20, 10)]
        queries = [last_lines(some, random.Random(number)) for number in range(arguments.queries)]
        good &= compare("jaccard", texts, queries, JaccardIndex, set_loop, exact=True)
        good &= compare("bm25", texts, queries, BM25Index, rank_bm25, exact=False)
    sampling(files)
    return 0 if good else 1


def package_files(name: str) -> list[SourceFile]:
    """The Python files of an installed package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"{name} is not installed")
    root = Path(spec.origin).parent
    paths = sorted(root.rglob("*.py"))
    return [SourceFile(path.relative_to(root).as_posix(), path.read_text("utf-8"), "python") for path in paths]


def files_of(files: Sequence[SourceFile], size: int) -> list[SourceFile]:
    """Random files that make about so many windows."""
    chosen: list[SourceFile] = []
    for file in random.Random(0).sample(files, len(files)):
        count = len(windows(file.path, file.text, 20, 10))
        if count <= size:
            chosen.append(file)
            size -= count
    return sorted(chosen, key=lambda file: file.path)


def last_lines(files: Sequence[SourceFile], rng: random.Random) -> str:
    """A query: the 20 lines above a random place."""
    lines = rng.choice([file for file in files if file.text]).text.split("\n")
    end = rng.randint(1, len(lines))
    return "\n".join(lines[max(0, end - 20) : end])


def set_loop(texts: Sequence[str]) -> Callable[[str], Hits]:
    """Jaccard by a loop over sets that are made once."""
    sets = [set(words(text)) for text in texts]

    def search(query: str) -> Hits:
        asked = set(words(query))
        scores = [len(asked & each) / len(asked | each) if each else 0.0 for each in sets]
        return ranking(scores)

    return search


def rank_bm25(texts: Sequence[str]) -> Callable[[str], Hits]:
    """BM25 as rank-bm25 gives it."""
    reference = BM25Okapi([words(text) for text in texts])
    return lambda query: ranking(reference.get_scores(words(query)).tolist())


def ranking(scores: Sequence[float]) -> Hits:
    best = sorted(range(len(scores)), key=lambda place: -scores[place])[:TOP]
    return [(place, scores[place]) for place in best]


def compare(
    name: str,
    texts: Sequence[str],
    queries: Sequence[str],
    index: Callable[[Sequence[str]], JaccardIndex | BM25Index],
    plain: Callable[[Sequence[str]], Callable[[str], Hits]],
    *,
    exact: bool,
) -> bool:
    started = time.process_time()
    ours = index(texts)
    build = time.process_time() - started
    theirs = plain(texts)
    some = queries[: max(4, 40_000 // len(texts))]
    for query in queries:  # compiles what this machine has not compiled before
        ours.search(query, TOP)
    # The plain way is slow: it takes some of the queries, in turns with all of them through the index.
    fast = slow = 0.0
    rounds = 4
    for number in range(rounds):
        fast += seconds(lambda: [ours.search(query, TOP) for query in queries])
        share = some[number::rounds]
        slow += seconds(lambda share=share: [theirs(query) for query in share])  # type: ignore[misc]
    fast, slow = fast / rounds / len(queries), slow / len(some)
    ratio = slow / fast
    same = all(equal(ours.search(query, TOP), theirs(query), exact=exact) for query in some[:20])
    verdict = "" if same and ratio >= WANTED else "  RESULTS DIFFER" if not same else f"  under {WANTED}"
    print(
        f"{len(texts):7} {name:8} {build:6.2f}s {fast * 1e6:8.1f}us {slow * 1e3:9.2f}ms {ratio:6.0f}{verdict}",
        flush=True,
    )
    return same and ratio >= WANTED


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    started = time.process_time()
    work()
    took = time.process_time() - started
    gc.enable()
    return took


def equal(ours: Hits, theirs: Hits, *, exact: bool) -> bool:
    """The same ranking and scores; where sums of floats differ in their last bits, ties may be broken otherwise."""
    if exact:
        return ours == theirs
    return np.allclose([score for _, score in ours], [score for _, score in theirs], rtol=0, atol=1e-9)


def sampling(files: Sequence[SourceFile]) -> None:
    """Seconds per sampled blank as a repository grows: clustering takes at most 1,000 pieces."""
    print(f"{'chunks':>7} {'blanks':>6} {'seconds':>8} {'ms a blank':>11}")
    for size in (1_000, 3_000, *SIZES[1:]):
        some = tuple(files_of(files, size))
        repository = Repository("r", "", "MIT", some)
        count = sum(len(windows(file.path, file.text, 20, 10)) for file in some)
        started = time.process_time()
        blanks = [
            *chunk_blanks(repository, seed=0, most=100_000).blanks,
            *function_blanks(repository, seed=0, most=100_000).blanks,
        ]
        took = time.process_time() - started
        print(f"{count:7} {len(blanks):6} {took:8.2f} {1e3 * took / len(blanks):11.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
