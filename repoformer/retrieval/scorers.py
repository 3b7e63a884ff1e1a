"""The similarity functions that a recipe can name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from repoformer.retrieval.bm25 import BM25Index
from repoformer.retrieval.compilation import Hits, Mask
from repoformer.retrieval.jaccard import JaccardIndex

Scorer = Literal["jaccard", "bm25"]


class Index(Protocol):
    """Texts that can be searched by similarity."""

    def search(self, query: str, top: int, allowed: Mask | None = None) -> Hits:
        """(position, score) of the best allowed texts, best first, ties by position."""


_INDEXES: dict[Scorer, Callable[[Sequence[str]], Index]] = {"jaccard": JaccardIndex, "bm25": BM25Index}


def build_index(scorer: Scorer, texts: Sequence[str]) -> Index:
    """An index over ``texts`` for the scorer of this name."""
    return _INDEXES[scorer](texts)


def compile_search(scorer: Scorer) -> None:
    """Compiles what a search with this scorer runs, or reads it from the disk, so that no measured search waits for it.

    A query with words that no text holds takes a way of its own.
    """
    index = build_index(scorer, ["known"])
    for query in ("known", "unknown"):
        index.search(query, top=1)
