"""The index against the loop that it replaces."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.chunking import windows
from repoformer.retrieval.jaccard import JaccardIndex

# Few words, so that ties and full overlaps are common; signs and spaces that are no words; letters beyond ASCII.
texts = st.lists(
    st.sampled_from(["a", "b", "A", "self", "x1", "_", "é", "+", " ", "\n", "(", "漢字"]), max_size=12
).map(" ".join)


def loop(corpus: list[str], query: str, top: int, allowed: list[bool]) -> list[tuple[int, float]]:
    asked = set(re.findall(r"\w+", query))
    scored = []
    for position, text in enumerate(corpus):
        found = set(re.findall(r"\w+", text))
        if allowed[position] and asked & found:
            scored.append((position, len(asked & found) / len(asked | found)))
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:top]


@given(st.lists(st.tuples(texts, st.booleans()), max_size=20), texts, st.integers(-1, 25))
def test_search_is_the_loop(corpus: list[tuple[str, bool]], query: str, top: int) -> None:
    chunks, allowed = [text for text, _ in corpus], [each for _, each in corpus]
    found = JaccardIndex(chunks).search(query, top, np.array(allowed, dtype=np.bool_))
    assert found == loop(chunks, query, max(top, 0), allowed)


def test_search_is_the_loop_on_real_code(python_sources: list[str]) -> None:
    chunks = [chunk.text for n, text in enumerate(python_sources) for chunk in windows(f"{n}.py", text, 20, 10)]
    index = JaccardIndex(chunks)
    for query in chunks[::97]:
        assert index.search(query, 10) == loop(chunks, query, 10, [True] * len(chunks))


def test_ties_go_by_position() -> None:
    assert JaccardIndex(["b a", "c", "a b", "a b"]).search("a b", 2) == [(0, 1.0), (2, 1.0)]


def test_words_are_case_sensitive() -> None:
    assert JaccardIndex(["Name", "name"]).search("name", 2) == [(1, 1.0)]


@pytest.mark.parametrize("corpus", [[], [""], ["+ -", ""]])
def test_a_corpus_without_words_has_no_hits(corpus: list[str]) -> None:
    assert JaccardIndex(corpus).search("a", 3) == []


def test_a_query_without_words_has_no_hits() -> None:
    assert JaccardIndex(["a", ""]).search(" + ", 3) == []


def test_the_same_index_answers_the_same(python_sources: list[str]) -> None:
    chunks = [chunk.text for chunk in windows("a.py", python_sources[0], 20, 10)]
    assert JaccardIndex(chunks).search(chunks[3], 10) == JaccardIndex(list(chunks)).search(chunks[3], 10)
