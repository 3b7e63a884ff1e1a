r"""Exact Jaccard similarity over sets of ``\w+`` (appendix A), as fast as an inverted index makes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repoformer.retrieval.postings import Mask, Postings, Scores, best, words


class JaccardIndex:
    """Searches texts by the overlap of their sets of words. Built once; nothing is approximate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._postings = Postings(dict.fromkeys(words(text)) for text in texts)

    def scores(self, query: str) -> Scores:
        """``|a & b| / |a | b|`` with every text, in the order of the texts; 0 for a query without words."""
        asked = set(words(query))
        if not asked:
            return np.zeros(len(self._postings))
        shared = self._postings.shared(asked)
        similarity: Scores = shared / (self._postings.sizes + len(asked) - shared)
        return similarity

    def search(self, query: str, top: int, allowed: Mask | None = None) -> list[tuple[int, float]]:
        """The ``top`` most similar of the ``allowed`` texts as (position, score), best first, ties by position.

        A text that shares no word with the query is no hit, so fewer may come back.
        """
        scores = self.scores(query)
        hits = scores > 0
        return best(scores, hits if allowed is None else hits & allowed, top)
