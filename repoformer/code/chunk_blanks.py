"""Chunk blanks: a few lines somewhere in a file (the paper's appendix D, algorithm 1).

10-line chunks of all files -> 1,000 random ones -> clusters -> one chunk of each -> k of its lines, k ~ Poisson(3)
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from itertools import accumulate

from scipy.special import pdtrik

from repoformer.code.blanks import Sampled, blank_at, holds_a_word
from repoformer.code.chunking import chunk_of
from repoformer.code.clusters import one_of_each_cluster
from repoformer.code.lines import line_count, lines_of
from repoformer.code.records import Chunk, Repository, SourceFile
from repoformer.seeding import generator

CHUNK_LINES = 10
CLUSTERED = 1_000


def chunk_blanks(
    repository: Repository, *, seed: int, most: int, lines_mean: float = 3.0, clustered: int = CLUSTERED
) -> Sampled:
    """At most ``most`` blanks of at most ten lines, drawn by the seed and the repository's name alone."""
    rng = generator(seed, "chunk-blanks", repository.id)
    files = {file.path: file for file in repository.files}
    candidates, dropped = _candidates(files, clustered, rng)
    drawn = one_of_each_cluster([chunk.text for chunk in candidates], rng)[:most]
    spans = sorted((candidates[position].path, *_target(candidates[position], lines_mean, rng)) for position in drawn)
    return Sampled(tuple(blank_at(repository, files[path], "chunk", *span) for path, *span in spans), dropped)


def _candidates(files: dict[str, SourceFile], most: int, rng: random.Random) -> tuple[list[Chunk], Counter[str]]:
    """Random chunks with a word in them, and how many of those looked at had none.

    Chunks are drawn by their numbers and only those that are drawn are cut out, so that a blank of a large repository
    costs no more than one of a small repository.
    """
    paths = sorted(files)
    ends = list(accumulate(-(-line_count(files[path].text) // CHUNK_LINES) for path in paths))
    numbers = range(ends[-1] if ends else 0)
    lines: dict[str, list[str]] = {}
    found: list[Chunk] = []
    dropped = Counter[str]()
    for number in rng.sample(numbers, min(2 * most, len(numbers))):
        place = bisect_right(ends, number)
        path = paths[place]
        if path not in lines:
            lines[path] = lines_of(files[path].text)
        start = (number - (ends[place - 1] if place else 0)) * CHUNK_LINES
        chunk = chunk_of(path, lines[path], start, start + CHUNK_LINES)
        if holds_a_word(chunk.text):
            found.append(chunk)
        else:
            dropped["chunk without a word"] += 1
        if len(found) == most:
            break
    return found, dropped


def _target(chunk: Chunk, lines_mean: float, rng: random.Random) -> tuple[int, int]:
    """Random consecutive lines of the chunk, as a span in the file, never only blank ones."""
    lines = chunk.text.split("\n")
    poisson = math.ceil(pdtrik(rng.random(), lines_mean))  # the inverse of the distribution function
    length = min(max(1, poisson), len(lines))
    starts = range(len(lines) - length + 1)
    start = chunk.start + rng.choice([start for start in starts if "".join(lines[start : start + length]).strip()])
    return start, start + length
