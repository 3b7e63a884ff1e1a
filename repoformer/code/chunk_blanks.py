"""Chunk blanks: a few lines somewhere in a file (the paper's appendix D, algorithm 1).

10-line chunks of all files -> at most 1,000 of them -> clusters -> one chunk of each -> k of its lines, k ~ Poisson(3)
"""

from __future__ import annotations

import math
import random
from collections import Counter

from scipy.special import pdtrik

from repoformer.code.blanks import Sampled, blank_at, holds_a_word
from repoformer.code.chunking import non_overlapping_chunks
from repoformer.code.clusters import one_of_each_cluster
from repoformer.code.records import Chunk, Repository
from repoformer.seeding import generator

CHUNK_LINES = 10
CLUSTERED = 1_000


def chunk_blanks(
    repository: Repository, *, seed: int, most: int, lines_mean: float = 3.0, clustered: int = CLUSTERED
) -> Sampled:
    """At most ``most`` blanks of at most ten lines, drawn by the seed and the repository's name alone."""
    rng = generator(seed, "chunk-blanks", repository.id)
    files = {file.path: file for file in repository.files}
    chunks = [chunk for path in sorted(files) for chunk in non_overlapping_chunks(path, files[path].text, CHUNK_LINES)]
    useful = [chunk for chunk in chunks if holds_a_word(chunk.text)]
    dropped = Counter({"chunk without a word": len(chunks) - len(useful)})
    candidates = rng.sample(useful, min(clustered, len(useful)))
    drawn = one_of_each_cluster([chunk.text for chunk in candidates], rng)[:most]
    spans = sorted((candidates[position].path, *_target(candidates[position], lines_mean, rng)) for position in drawn)
    return Sampled(tuple(blank_at(repository, files[path], "chunk", *span) for path, *span in spans), +dropped)


def _target(chunk: Chunk, lines_mean: float, rng: random.Random) -> tuple[int, int]:
    """Random consecutive lines of the chunk, as a span in the file, never only blank ones."""
    lines = chunk.text.split("\n")
    poisson = math.ceil(pdtrik(rng.random(), lines_mean))  # the inverse of the distribution function
    length = min(max(1, poisson), len(lines))
    starts = range(len(lines) - length + 1)
    start = chunk.start + rng.choice([start for start in starts if "".join(lines[start : start + length]).strip()])
    return start, start + length
