"""Function blanks: the whole body of a function (the paper's appendix D, algorithm 2)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from repoformer.code.blanks import Sampled, blank_at, holds_a_word
from repoformer.code.chunk_blanks import CLUSTERED
from repoformer.code.clusters import one_of_each_cluster
from repoformer.code.lines import lines_of
from repoformer.code.records import Chunk, Repository
from repoformer.code.syntax import function_bodies
from repoformer.seeding import generator


def function_blanks(
    repository: Repository, *, seed: int, most: int, lines: tuple[int, int] = (3, 30), clustered: int = CLUSTERED
) -> Sampled:
    """At most ``most`` bodies of ``lines[0]`` to ``lines[1]`` lines, one of each cluster of similar ones.

    Files are parsed in random order until there are ``clustered`` bodies, so that a blank of a large repository costs
    no more than one of a small repository.
    """
    rng = generator(seed, "function-blanks", repository.id)
    candidates: list[Chunk] = []
    dropped = Counter[str]()
    for body in _bodies(repository, rng):
        reason = _why_not(body, *lines)
        if reason:
            dropped[reason] += 1
        else:
            candidates.append(body)
        if len(candidates) == clustered:
            break
    drawn = one_of_each_cluster([body.text for body in candidates], rng)[:most]
    files = {file.path: file for file in repository.files}
    spans = sorted(
        (candidates[position].path, candidates[position].start, candidates[position].end) for position in drawn
    )
    return Sampled(tuple(blank_at(repository, files[path], "function", *span) for path, *span in spans), dropped)


def _bodies(repository: Repository, rng: random.Random) -> Iterator[Chunk]:
    files = sorted(repository.files, key=lambda file: file.path)
    for file in rng.sample(files, len(files)):
        lines = lines_of(file.text)
        for start, end in function_bodies(file.language, file.text):
            yield Chunk(file.path, start, end, "\n".join(lines[start:end]))


def _why_not(body: Chunk, shortest: int, longest: int) -> str | None:
    if body.end - body.start < shortest:
        return f"function of less than {shortest} lines"
    if body.end - body.start > longest:
        return f"function of more than {longest} lines"
    return None if holds_a_word(body.text) else "function without a word"
