r"""Exact Jaccard similarity over sets of ``\w+`` (appendix A), as fast as an inverted index makes it."""

from __future__ import annotations

from collections.abc import Sequence

from repoformer.retrieval.kernels import Mask, Scores, jaccard_scores, search_jaccard
from repoformer.retrieval.postings import WordIndex, ranked


class JaccardIndex:
    """Searches texts by the overlap of their sets of words. Built once; nothing is approximate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = WordIndex(texts)

    def scores(self, query: str) -> Scores:
        """``|a & b| / |a | b|`` with every text, in the order of the texts; 0 for a query without words."""
        postings = self._words.postings
        return jaccard_scores(*self._words.asked(query), postings.starts, postings.texts, postings.sizes)

    def search(self, query: str, top: int, allowed: Mask | None = None) -> list[tuple[int, float]]:
        """The ``top`` most similar of the ``allowed`` texts as (position, score), best first, ties by position.

        A text that shares no word with the query is no hit, so fewer may come back.
        """
        if top < 1:
            return []
        postings, asked = self._words.postings, self._words.asked(query)
        mask = self._words.everything if allowed is None else allowed
        return ranked(search_jaccard(*asked, postings.starts, postings.texts, postings.sizes, mask, top))
