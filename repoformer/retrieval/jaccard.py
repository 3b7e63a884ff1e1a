r"""Exact Jaccard similarity over sets of ``\w+`` (appendix A), as fast as an inverted index makes it."""

from __future__ import annotations

from collections.abc import Sequence

from repoformer.retrieval.compilation import Hits, Mask
from repoformer.retrieval.kernels import search_query, search_words
from repoformer.retrieval.postings import WordIndex, mask_over
from repoformer.retrieval.vocabulary import encoded


class JaccardIndex:
    """Searches texts by the overlap of their sets of words. Built once; nothing is approximate.

    A query whose words all stand in some text, as those of an indexed file do, is one call of compiled code. Nothing is
    kept from one query to the next, so threads may share an index.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        index = WordIndex(texts)
        postings = index.postings
        self._vocabulary, self._everything = index.vocabulary, index.everything
        self._texts = (postings.starts, postings.texts, postings.sizes, postings.rows())
        self._index = (*self._vocabulary.table, *self._texts)

    def search(self, query: str, top: int, allowed: Mask | None = None) -> Hits:
        """The ``top`` most similar of the ``allowed`` texts as (position, score), best first, ties by position.

        A text that shares no word with the query is no hit, so fewer may come back.
        """
        if top < 1:
            return []
        mask = mask_over(self._everything, allowed)
        hits = search_query(encoded(query), *self._index, mask, top)
        if hits is None:
            asked, unknown = self._vocabulary.asked(query, once=True)
            hits = search_words(asked, unknown, *self._texts, mask, top)
        return hits
