"""The loops over postings, compiled: what is left of a search once its words are numbers.

A posting is one text that holds one word; those of word ``w`` stand at ``[starts[w], starts[w + 1])`` of the posting
arrays, in the order of the texts. All arrays are int32 but ``starts`` (int64) and scores (float64).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Starts = NDArray[np.int64]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """``function`` as machine code, which is kept on disk where there is a place to write it."""
    try:
        return cast(Kernel, numba.njit(cache=True)(function))
    except RuntimeError:  # numba finds none: every process compiles anew
        return cast(Kernel, numba.njit(function))


@compiled
def invert(tokens: Numbers, lengths: Numbers, words: int) -> tuple[Starts, Numbers, Numbers, Numbers]:
    """From the words of each text, one text after the other, to the texts of each word.

    Returns ``starts`` [words + 1], each posting's text and how often the word stands in it, and the number of distinct
    words of each text.
    """
    starts = np.zeros(words + 1, np.int64)
    distinct = np.zeros(len(lengths), np.int32)
    last = np.full(words, -1, np.int32)  # the text in which a word was seen last
    place = 0
    for text in range(len(lengths)):
        for word in tokens[place : place + lengths[text]]:
            if last[word] != text:
                last[word] = text
                starts[word + 1] += 1
                distinct[text] += 1
        place += lengths[text]
    for word in range(words):
        starts[word + 1] += starts[word]
    texts = np.empty(starts[words], np.int32)
    counts = np.zeros(starts[words], np.int32)
    free = starts[:-1].copy()
    last[:] = -1
    place = 0
    for text in range(len(lengths)):
        for word in tokens[place : place + lengths[text]]:
            if last[word] != text:
                last[word] = text
                texts[free[word]] = text
                free[word] += 1
            counts[free[word] - 1] += 1
        place += lengths[text]
    return starts, texts, counts, distinct


@compiled
def shared_words(asked: Numbers, starts: Starts, texts: Numbers, size: int) -> tuple[Numbers, int]:
    """How many of the distinct ``asked`` words each of ``size`` texts holds, and how many those words are."""
    shared = np.zeros(size, np.int32)
    seen = np.zeros(len(starts) - 1, np.bool_)
    distinct = 0
    for word in asked:
        if not seen[word]:
            seen[word] = True
            distinct += 1
            for posting in range(starts[word], starts[word + 1]):
                shared[texts[posting]] += 1
    return shared, distinct


@compiled
def jaccard_scores(asked: Numbers, unknown: int, starts: Starts, texts: Numbers, sizes: Numbers) -> Scores:
    """``|a & b| / |a | b|`` of the query and every text; ``unknown`` words of the query stand in no text."""
    shared, distinct = shared_words(asked, starts, texts, len(sizes))
    scores = np.zeros(len(sizes))
    for text in range(len(sizes)):
        if shared[text]:
            scores[text] = shared[text] / (sizes[text] + distinct + unknown - shared[text])
    return scores


@compiled
def weighted_scores(asked: Numbers, starts: Starts, texts: Numbers, weights: Scores, size: int) -> tuple[Scores, Mask]:
    """Every text's sum of its postings' weights, once for each time that a word is asked for; and who has any."""
    scores, hits = np.zeros(size), np.zeros(size, np.bool_)
    times = np.zeros(len(starts) - 1, np.int32)
    for word in asked:
        times[word] += 1
    for word in asked:
        if times[word]:
            for posting in range(starts[word], starts[word + 1]):
                scores[texts[posting]] += times[word] * weights[posting]
                hits[texts[posting]] = True
            times[word] = 0
    return scores, hits


@compiled
def best(scores: Scores, hits: Mask, top: int) -> tuple[Starts, Scores]:
    """Positions and scores of the ``top`` best hits, best first, fewer where there are fewer; ties by position."""
    top = min(top, len(scores))
    positions, found = np.empty(top, np.int64), np.empty(top)
    filled = 0
    for position in range(len(scores)):
        if not hits[position] or (filled == top and scores[position] <= found[top - 1]):
            continue
        place = min(filled, top - 1)
        while place > 0 and found[place - 1] < scores[position]:
            found[place], positions[place] = found[place - 1], positions[place - 1]
            place -= 1
        found[place], positions[place] = scores[position], position
        filled = min(filled + 1, top)
    return positions[:filled], found[:filled]


@compiled
def search_jaccard(
    asked: Numbers, unknown: int, starts: Starts, texts: Numbers, sizes: Numbers, allowed: Mask, top: int
) -> tuple[Starts, Scores]:
    """The ``top`` best of the ``allowed`` texts that share a word with the query."""
    scores = jaccard_scores(asked, unknown, starts, texts, sizes)
    return best(scores, (scores > 0) & allowed, top)


@compiled
def search_weighted(
    asked: Numbers, starts: Starts, texts: Numbers, weights: Scores, allowed: Mask, top: int
) -> tuple[Starts, Scores]:
    """The same by sums of weights, which may be zero or negative."""
    scores, hits = weighted_scores(asked, starts, texts, weights, len(allowed))
    return best(scores, hits & allowed, top)
