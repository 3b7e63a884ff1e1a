r"""BM25 as rank-bm25's ``BM25Okapi`` defines it, scored through an inverted index.

rank-bm25 computes the corpus statistics, so its treatment of small corpora is kept: a word in more than half of the
texts has a negative IDF, which is replaced by a quarter of the average IDF. With one text every IDF is negative, with
two none is positive; then scores are zero or negative, and texts that share *more* with the query can rank lower. Such
scores are reported as they are: compare them with nothing, and prefer Jaccard for repositories of a few chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from repoformer.retrieval.compilation import Hits, Mask, Scores
from repoformer.retrieval.kernels import search_weighted, weighted_scores
from repoformer.retrieval.postings import WordIndex, mask_over
from repoformer.retrieval.vocabulary import words


class BM25Index:
    r"""Searches texts by BM25 over ``\w+``, case-sensitive on both sides. Built once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = WordIndex(texts)
        self._weights = self._posting_weights(texts)

    def scores(self, query: str) -> Scores:
        """``BM25Okapi.get_scores`` of every text, in the order of the texts; a repeated query word counts again."""
        postings, (asked, _) = self._words.postings, self._words.vocabulary.asked(query, once=False)
        scores, _ = weighted_scores(asked, postings.starts, postings.texts, self._weights, len(postings))
        return scores

    def search(self, query: str, top: int, allowed: Mask | None = None) -> Hits:
        """The ``top`` best-scored of the ``allowed`` texts as (position, score), best first, ties by position.

        A text that shares no word with the query is no hit, so fewer may come back; one that shares a word is a hit
        whatever its score.
        """
        if top < 1:
            return []
        postings, (asked, _) = self._words.postings, self._words.vocabulary.asked(query, once=False)
        mask = mask_over(self._words.everything, allowed)
        return search_weighted(asked, postings.starts, postings.texts, self._weights, mask, top)

    def _posting_weights(self, texts: Sequence[str]) -> Scores:
        """What each posting adds to its text's score when its word is asked for once."""
        postings = self._words.postings
        numbers = self._words.vocabulary.numbers
        if not numbers:  # rank-bm25 divides by the number of words
            return np.zeros(0)
        statistics = BM25Okapi([words(text) for text in texts])
        idf = np.fromiter((statistics.idf[word] for word in numbers), np.float64, len(numbers))
        length = np.asarray(statistics.doc_len)[postings.texts]
        norm = statistics.k1 * (1 - statistics.b + statistics.b * length / statistics.avgdl)
        weights: Scores = idf[postings.terms] * postings.counts * (statistics.k1 + 1) / (postings.counts + norm)
        return weights
