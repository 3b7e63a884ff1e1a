"""The leak rule: no line of the context comes from the hole, from later text of its file, or from a copy of its file.

A copy is a *file*: a vendored or built duplicate, an older version, one with another header, other indentation, other
line ends, or other quotes and commas, as formatters leave it. A passage that also stands in a file of its own right is
no copy; a quarter of short targets do, a completion in an editor sees them too, and finding them is what retrieval is
for.

``CopyFinder`` decides through an inverted index which files are left out of the search; ``leaks`` checks a finished
context the slow way, file by file, and shares with it only the definition of a copy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from repoformer.code.languages import language_of
from repoformer.code.lines import lines_of
from repoformer.code.records import Blank, Chunk, RetrievedContext, SourceFile
from repoformer.retrieval.postings import TermIndex
from repoformer.seeding import stable_hash

SHARED_SHARE = 0.7
"""Share of the smaller file's telling lines that make the other file its copy. Siblings written after one pattern,
which retrieval should find, mostly stay below two thirds."""
SHARED_LINES = 5
"""Fewer shared telling lines make no copy, unless they are most of both files'."""
TELLING_CHARACTERS = 10
"""A line with fewer characters in its words says nothing about where it comes from."""

_WORDS = re.compile(r"\w+")


def telling_lines(path: str, text: str) -> frozenset[str]:
    """The lines by which a file is recognised, as their words alone: no imports, comments, or short lines.

    Words are what retrieval finds lines by, so nothing that it takes for equal is told apart here. Imports and licence
    headers are alike in files that have nothing else in common, and differ in copies.
    """
    language = language_of(path)
    skipped = language.unremarkable if language else ("#",)
    stripped = (line.strip() for line in lines_of(text))
    kept = (_WORDS.findall(line) for line in stripped if not line.startswith(skipped))
    return frozenset(" ".join(words) for words in kept if sum(map(len, words)) >= TELLING_CHARACTERS)


def squeezed(text: str) -> str:
    """A text without its white space: what indentation and line ends cannot change."""
    return "".join(text.split())


def is_copy(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether files with these telling lines are copies of each other: they share most of both, or of the smaller's.

    Of the smaller's only where they are more than a few, which may stand in any file.
    """
    shared, smaller, larger = len(one & other), *sorted((len(one), len(other)))
    return shared > 0 and shared >= SHARED_SHARE * (smaller if shared >= SHARED_LINES else larger)


class CopyFinder:
    """Finds a file's copies among the files of its repository. The index is built once, results are kept per file."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._paths = [file.path for file in files]
        self._exact: dict[int, list[str]] = defaultdict(list)
        for file in files:
            self._exact[stable_hash(squeezed(file.text))].append(file.path)
        self._lines = TermIndex(telling_lines(file.path, file.text) for file in files)
        self._known: dict[str, tuple[str, frozenset[str]]] = {}

    def copies_of(self, path: str, text: str) -> frozenset[str]:
        """Paths of the files that are copies of this one, which need not be among them; never ``path`` itself."""
        known = self._known.get(path)
        if known is None or known[0] != text:  # an editor's buffer changes: only its latest text is kept
            known = self._known[path] = (text, self._find(path, text))
        return known[1]

    def _find(self, path: str, text: str) -> frozenset[str]:
        lines = telling_lines(path, text)
        shared = self._lines.shared(lines)
        smaller, larger = (pick(self._lines.sizes, len(lines)) for pick in (np.minimum, np.maximum))
        copies = (shared > 0) & (shared >= SHARED_SHARE * np.where(shared >= SHARED_LINES, smaller, larger))
        found = {self._paths[position] for position in np.flatnonzero(copies)}
        found.update(self._exact.get(stable_hash(squeezed(text)), ()))
        return frozenset(found - {path})


def leaks(blank: Blank, context: RetrievedContext, files: Sequence[SourceFile]) -> list[str]:
    """Every chunk of ``context`` that breaks the leak rule, in words; empty when all is well.

    A chunk that is not what stands at its place in ``files`` is reported as well: nothing can be said about where its
    text comes from. Lines in the messages are 1-based.
    """
    texts = {file.path: file.text for file in files}
    hole_file = blank.left + blank.target + blank.right
    return [
        f"{chunk.path}:{chunk.start + 1}-{chunk.end}: {problem}"
        for chunk in (ranked.chunk for ranked in context.chunks)
        if (problem := _problem(blank, hole_file, chunk, texts))
    ]


def _problem(blank: Blank, hole_file: str, chunk: Chunk, texts: dict[str, str]) -> str | None:
    text = texts.get(chunk.path)
    if text is None or lines_of(text)[chunk.start : chunk.end] != lines_of(chunk.text + "\n"):
        return "is not what stands there"
    if chunk.path == blank.path:
        return "holds the blank or text behind it" if chunk.end > blank.start else None
    if squeezed(text) == squeezed(hole_file):
        return f"comes from an exact copy of {blank.path}"
    if is_copy(telling_lines(chunk.path, text), telling_lines(blank.path, hole_file)):
        return f"comes from a copy of {blank.path}"
    return None
