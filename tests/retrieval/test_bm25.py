"""The index against rank-bm25, whose definition it takes over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from repoformer.code.chunking import windows
from repoformer.retrieval.bm25 import BM25Index
from repoformer.retrieval.vocabulary import words

texts = st.lists(st.sampled_from(["a", "b", "A", "self", "x1", "+", "\n"]), max_size=12).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8).filter(lambda corpus: any(map(words, corpus))), texts)
def test_scores_are_those_of_rank_bm25(corpus: list[str], query: str) -> None:
    reference = BM25Okapi([words(text) for text in corpus]).get_scores(words(query))
    np.testing.assert_allclose(BM25Index(corpus).scores(query), reference, rtol=0, atol=1e-9)


def test_scores_are_those_of_rank_bm25_on_real_code(python_sources: list[str]) -> None:
    chunks = [chunk.text for n, text in enumerate(python_sources) for chunk in windows(f"{n}.py", text, 20, 10)]
    index, reference = BM25Index(chunks), BM25Okapi([words(text) for text in chunks])
    for query in chunks[::211]:
        np.testing.assert_allclose(index.scores(query), reference.get_scores(words(query)), rtol=0, atol=1e-9)


def test_search_ranks_what_shares_a_word_by_score_then_position() -> None:
    corpus = ["a x", "a a a", "q", "a x", "z y"]
    scores = BM25Index(corpus).scores("a x")
    assert [position for position, _ in BM25Index(corpus).search("a x", 9)] == sorted(
        [0, 1, 3], key=lambda position: (-scores[position], position)
    )


def test_a_masked_text_is_not_found() -> None:
    allowed = np.array([True, False, True])
    assert {position for position, _ in BM25Index(["a b", "a", "c"]).search("a", 3, allowed)} == {0}


def test_one_text_scores_below_zero_and_is_still_found() -> None:
    [(position, score)] = BM25Index(["a b"]).search("a", 3)
    assert position == 0
    assert score < 0


def test_of_two_texts_a_word_of_one_scores_zero_and_is_still_found() -> None:
    assert BM25Index(["a b", "c d"]).search("a", 3) == [(0, 0.0)]


@pytest.mark.parametrize("corpus", [[], [""], ["+ -", ""]])
def test_a_corpus_without_words_has_no_hits(corpus: list[str]) -> None:
    assert BM25Index(corpus).search("a", 3) == []
