"""The inverted index under the exact scorers: for every term, the documents that hold it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    r"""The ``\w+`` runs of a text, in order and case-sensitive: identifiers, keywords, numbers, words of comments."""
    return _WORD.findall(text)


class Postings:
    """Which documents hold which term, as two flat arrays: those of term ``t`` stand at ``[starts[t], starts[t + 1])``.

    ``documents`` gives each document's *distinct* terms; positions are in the order given.
    """

    def __init__(self, documents: Iterable[Iterable[str]]) -> None:
        self.vocabulary: dict[str, int] = {}
        number = self.vocabulary.setdefault
        terms = [[number(term, len(self.vocabulary)) for term in document] for document in documents]
        self.sizes: Positions = np.fromiter(map(len, terms), dtype=np.intp, count=len(terms))
        flat: Positions = np.fromiter(chain.from_iterable(terms), dtype=np.intp, count=int(self.sizes.sum()))
        self.order: Positions = np.argsort(flat, kind="stable")
        """Where each posting stood in the documents' concatenation: brings other per-posting values into this order."""
        self.documents: Positions = np.repeat(np.arange(len(terms)), self.sizes)[self.order]
        self.starts: Positions = np.zeros(len(self.vocabulary) + 1, dtype=np.intp)
        np.cumsum(np.bincount(flat, minlength=len(self.vocabulary)), out=self.starts[1:])

    def __len__(self) -> int:
        return len(self.sizes)

    def of(self, terms: Iterable[str]) -> list[slice]:
        """The postings of each known term, as slices of ``documents``."""
        known = [self.vocabulary[term] for term in terms if term in self.vocabulary]
        return [slice(self.starts[term], self.starts[term + 1]) for term in known]

    def shared(self, terms: Iterable[str]) -> Positions:
        """How many of the distinct ``terms`` each document holds."""
        return np.bincount(self._gather(self.of(terms)), minlength=len(self))

    def _gather(self, slices: Sequence[slice]) -> Positions:
        found = [self.documents[piece] for piece in slices]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.intp)


def best(scores: Scores, hits: Mask, top: int) -> list[tuple[int, float]]:
    """Positions and scores of the ``top`` best hits, fewer where there are fewer; ties by position."""
    positions = np.flatnonzero(hits)
    if top < 1 or not len(positions):
        return []
    candidates = scores[positions]
    if top < len(positions):
        # All that reach the last place's score: which of its ties stay is decided by position, not by the partition.
        reached = candidates >= np.partition(candidates, -top)[-top]
        positions, candidates = positions[reached], candidates[reached]
    ranking = np.argsort(-candidates, kind="stable")[:top]
    return [(int(positions[place]), float(candidates[place])) for place in ranking]
