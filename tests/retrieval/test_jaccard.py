"""The index against the loop that it replaces."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.chunking import windows
from repoformer.retrieval import postings
from repoformer.retrieval.jaccard import JaccardIndex

# Few words, so that ties and full overlaps are common; signs, line ends and spaces that are no words; letters and signs
# beyond ASCII; long words of equal keys.
PIECES = [
    "a",
    "b",
    "A",
    "self",
    "x1",
    "_",
    "é",
    "+",
    " ",
    "\n",
    "\r\n",
    "\x0b",
    "\u2028",
    "(",
    "漢字",
    "axxxxxxb",
    "cxxxxxxc",
]
texts = st.builds(str.join, st.sampled_from(["", " ", "\n"]), st.lists(st.sampled_from(PIECES), max_size=12))


def loop(corpus: list[str], query: str, top: int, allowed: list[bool]) -> list[tuple[int, float]]:
    asked = set(re.findall(r"\w+", query))
    scored = []
    for position, text in enumerate(corpus):
        found = set(re.findall(r"\w+", text))
        if allowed[position] and asked & found:
            scored.append((position, len(asked & found) / len(asked | found)))
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:top]


def index_with(rows: int, corpus: list[str]) -> JaccardIndex:
    """The index if only so many words may have rows: the others are looked for in their postings."""
    with patch.object(postings, "ROWS", rows):
        return JaccardIndex(corpus)


@pytest.mark.parametrize("rows", [0, 2, 255])
@given(st.lists(st.tuples(texts, st.booleans()), max_size=20), texts, st.integers(-1, 25))
def test_search_is_the_loop(rows: int, corpus: list[tuple[str, bool]], query: str, top: int) -> None:
    chunks, allowed = [text for text, _ in corpus], [each for _, each in corpus]
    found = index_with(rows, chunks).search(query, top, np.array(allowed, dtype=np.bool_))
    assert found == loop(chunks, query, max(top, 0), allowed)


@pytest.mark.parametrize("rows", [0, 2, 255])
@given(st.lists(texts, min_size=1, max_size=6), st.integers(0, 2**32), texts, st.integers(1, 40))
def test_search_is_the_loop_among_many_that_are_alike(
    rows: int, different: list[str], seed: int, query: str, top: int
) -> None:
    random = np.random.default_rng(seed)
    chunks = [different[place] for place in random.integers(len(different), size=200)]
    allowed = random.random(200) < random.random()
    assert index_with(rows, chunks).search(query, top, allowed) == loop(chunks, query, top, allowed.tolist())


def test_search_is_the_loop_on_real_code(python_sources: list[str]) -> None:
    chunks = [chunk.text for n, text in enumerate(python_sources) for chunk in windows(f"{n}.py", text, 20, 10)]
    index = JaccardIndex(chunks)
    for query in chunks[::97]:
        assert index.search(query, 10) == loop(chunks, query, 10, [True] * len(chunks))


@pytest.mark.parametrize("rows", [0, postings.ROWS])
def test_more_words_than_a_byte_can_count(rows: int) -> None:
    text = " ".join(f"w{number}" for number in range(600))
    chunks = [text, text + " other", "w0", text]
    assert index_with(rows, chunks).search(text, 4) == loop(chunks, text, 4, [True] * 4)


def test_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    index = postings.WordIndex([f"a b c{number} d" for number in range(100)])
    assert index.postings.rows().shape == (3, 100)
    monkeypatch.setattr(postings, "ROW_BYTES", 250)
    assert index.postings.rows().shape == (2, 100)


def test_threads_may_share_an_index(python_sources: list[str]) -> None:
    chunks = [chunk.text for n, text in enumerate(python_sources) for chunk in windows(f"{n}.py", text, 20, 10)]
    index, queries = JaccardIndex(chunks), chunks[::31]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda query: index.search(query, 10), queries))
    assert together == [index.search(query, 10) for query in queries]


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
