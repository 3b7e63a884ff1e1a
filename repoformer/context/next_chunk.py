"""Repoformer's context: find what resembles the lines above the hole, and show what followed it there (appendix A)."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal

import numpy as np

from repoformer.code.chunking import windows
from repoformer.code.languages import family_of
from repoformer.code.lines import lines_of
from repoformer.code.records import Blank, Chunk, RankedChunk, RetrievedContext, SourceFile
from repoformer.context.leaks import CopyFinder
from repoformer.retrieval.compilation import Mask
from repoformer.retrieval.scorers import Scorer, build_index

Neighbour = Literal["next", "same"]


class NextChunk:
    """The windows of one repository, indexed once and searched for each of its blanks.

    A hit is replaced by the window that follows it in its file (one stride further down), by itself at the file's end;
    ``neighbour="same"`` keeps the hit. The hole's file and its copies are not searched (see ``context/leaks.py``), nor
    are files in a language that cannot import the hole's.
    """

    def __init__(
        self,
        files: Sequence[SourceFile],
        *,
        window: int = 20,
        stride: int = 10,
        top: int = 10,
        neighbour: Neighbour = "next",
        query_lines: int = 20,
        scorer: Scorer = "jaccard",
        copies: CopyFinder | None = None,
    ) -> None:
        """``copies`` shares one finder among several window sizes over the same files."""
        ordered = sorted(files, key=lambda file: file.path)
        self.top, self.neighbour, self.query_lines = top, neighbour, query_lines
        self.strategy = f"next-chunk({scorer}, {window}/{stride}, {neighbour}, query {query_lines})"
        self._chunks = [chunk for file in ordered for chunk in windows(file.path, file.text, window, stride)]
        self._paths = [chunk.path for chunk in self._chunks]
        families = np.array([family_of(file.language) for file in ordered], dtype=np.str_)
        sizes = [len(range(*self._windows_of(file.path).indices(len(self._paths)))) for file in ordered]
        self._of_family = {str(family): np.repeat(families == family, sizes) for family in set(families)}
        self._index = build_index(scorer, [chunk.text for chunk in self._chunks])
        self._copies = copies or CopyFinder(ordered)

    def retrieve(
        self,
        blank: Blank,
        *,
        query_holds_target: bool = False,
        top: int | None = None,
        first_line: int | None = None,
    ) -> RetrievedContext:
        """The best chunks for a blank, best first; ``seconds`` is the time from the blank to the chunks.

        ``top`` counts chunks that are given: those of equal text, or reached by two hits, count once, and the next
        best take their place. ``first_line`` (0-based) is where the left context starts in the prompt: the hole's own
        file is then searched above that line, else not at all.
        """
        start = time.perf_counter()
        query = self.query(blank, query_holds_target)
        chunks = self._distinct(query, self._allowed(blank, first_line), self.top if top is None else top)
        return RetrievedContext(chunks, query, query_holds_target, self.strategy, time.perf_counter() - start)

    def query(self, blank: Blank, holds_target: bool) -> str:
        """The last lines of the left context and, in half of the training queries, the target (appendix D)."""
        lines = lines_of(blank.left)[-self.query_lines :]
        return "\n".join([*lines, blank.target] if holds_target else lines)

    def _allowed(self, blank: Blank, first_line: int | None) -> Mask:
        """The windows that may be shown: the leak rule as a mask over all windows."""
        nothing = np.zeros(len(self._chunks), dtype=np.bool_)
        allowed = self._of_family.get(family_of(blank.language), nothing).copy()
        for path in self._copies.copies_of(blank.path, blank.left + blank.target + blank.right):
            allowed[self._windows_of(path)] = False
        own = self._windows_of(blank.path)
        above = min(first_line or 0, blank.start)
        allowed[own] = [chunk.end <= above for chunk in self._chunks[own]]
        return allowed

    def _windows_of(self, path: str) -> slice:
        return slice(bisect_left(self._paths, path), bisect_right(self._paths, path))

    def _distinct(self, query: str, allowed: Mask, top: int) -> tuple[RankedChunk, ...]:
        """The ``top`` best chunks of different text, each with the score of the best hit that led to it."""
        asked = top
        while True:
            hits = self._index.search(query, asked, allowed)
            shown: dict[str, RankedChunk] = {}
            for position, score in hits:
                chunk = self._shown(position, allowed)
                if chunk.text.strip():
                    shown.setdefault(chunk.text, RankedChunk(chunk, score))
            if len(shown) >= top or len(hits) < asked:
                return tuple(shown.values())[:top]
            asked *= 2

    def _shown(self, hit: int, allowed: Mask) -> Chunk:
        following = hit + 1
        if self.neighbour == "same" or following == len(self._chunks):
            return self._chunks[hit]
        same_file = self._paths[following] == self._paths[hit]
        return self._chunks[following if same_file and allowed[following] else hit]
