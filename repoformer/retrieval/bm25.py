r"""BM25 as rank-bm25's ``BM25Okapi`` defines it, scored through an inverted index.

rank-bm25 computes the corpus statistics, so its treatment of small corpora is kept: a word in more than half of the
texts has a negative IDF, which is replaced by a quarter of the average IDF. With one text every IDF is negative, with
two none is positive; then scores are zero or negative, and texts that share *more* with the query can rank lower. Such
scores are reported as they are: compare them with nothing, and prefer Jaccard for repositories of a few chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from repoformer.retrieval.postings import Mask, Postings, Scores, best, words


class BM25Index:
    r"""Searches texts by BM25 over ``\w+``, case-sensitive on both sides. Built once."""

    def __init__(self, texts: Sequence[str]) -> None:
        documents = [words(text) for text in texts]
        counts = [Counter(document) for document in documents]
        self._postings = Postings(counts)
        self._weights = self._term_weights(documents, counts)

    def scores(self, query: str) -> Scores:
        """``BM25Okapi.get_scores`` of every text, in the order of the texts; a repeated query word counts again."""
        total = np.zeros(len(self._postings))
        for word, count in Counter(words(query)).items():
            for found in self._postings.of([word]):
                # A word stands once among a text's postings, so plain indexed addition is safe.
                total[self._postings.documents[found]] += count * self._weights[found]
        return total

    def search(self, query: str, top: int, allowed: Mask | None = None) -> list[tuple[int, float]]:
        """The ``top`` best-scored of the ``allowed`` texts as (position, score), best first, ties by position.

        A text that shares no word with the query is no hit, so fewer may come back; one that shares a word is a hit
        whatever its score.
        """
        hits = self._postings.shared(set(words(query))) > 0
        return best(self.scores(query), hits if allowed is None else hits & allowed, top)

    def _term_weights(self, documents: list[list[str]], counts: list[Counter[str]]) -> Scores:
        """What each posting adds to its text's score when its word is asked for once."""
        postings = self._postings
        if not postings.vocabulary:  # rank-bm25 divides by the number of words
            return np.zeros(0)
        statistics = BM25Okapi(documents)
        flat = [count for document in counts for count in document.values()]
        frequency = np.asarray(flat, dtype=np.float64)[postings.order]
        idf = np.fromiter((statistics.idf[word] for word in postings.vocabulary), np.float64, len(postings.vocabulary))
        length = np.asarray(statistics.doc_len)[postings.documents]
        norm = statistics.k1 * (1 - statistics.b + statistics.b * length / statistics.avgdl)
        weights: Scores = (
            np.repeat(idf, np.diff(postings.starts)) * frequency * (statistics.k1 + 1) / (frequency + norm)
        )
        return weights
