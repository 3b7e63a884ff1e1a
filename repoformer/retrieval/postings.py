"""The inverted index under the exact scorers: for every word, the texts that hold it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from repoformer.retrieval.kernels import Mask, Numbers, Scores, invert, shared_words

_WORD = re.compile(r"\w+")

LINES_KEPT = 100_000
"""Lines whose words are remembered, some 25 MB; with more lines, finding the words is a small part of a search."""


def words(text: str) -> list[str]:
    r"""The ``\w+`` runs of a text, in order and case-sensitive: identifiers, keywords, numbers, words of comments."""
    return _WORD.findall(text)


class Postings:
    """Which of ``size`` texts hold which term, from the numbers of their terms, one text after the other."""

    def __init__(self, tokens: Numbers, lengths: Numbers, terms: int) -> None:
        self.starts, self.texts, self.counts, self.sizes = invert(tokens, lengths, terms)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def terms(self) -> Numbers:
        """The term of each posting."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))


class TermIndex:
    """Texts given as terms of any kind, and how many of some terms each of them holds."""

    def __init__(self, documents: Iterable[Iterable[str]]) -> None:
        self._numbers: dict[str, int] = {}
        number = self._numbers.setdefault
        tokens = [[number(term, len(self._numbers)) for term in document] for document in documents]
        lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
        flat = np.fromiter((token for each in tokens for token in each), np.int32, int(lengths.sum()))
        self._postings = Postings(flat, lengths, len(self._numbers))

    @property
    def sizes(self) -> Numbers:
        """Number of distinct terms of each text."""
        return self._postings.sizes

    def shared(self, terms: Iterable[str]) -> Numbers:
        """How many of the distinct ``terms`` each text holds."""
        asked = np.array([self._numbers[term] for term in terms if term in self._numbers], dtype=np.int32)
        shared, _ = shared_words(asked, self._postings.starts, self._postings.texts, len(self._postings))
        return shared


class WordIndex:
    r"""Texts by their ``\w+`` words. A word ends with its line, so a line in many windows is split once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.numbers: dict[str, int] = {}
        self._lines: dict[str, bytes] = {}
        tokens = [b"".join([self._numbered(line) for line in text.split("\n")]) for text in texts]
        lengths = np.fromiter((len(each) // 4 for each in tokens), np.int32, len(tokens))
        self.postings = Postings(np.frombuffer(b"".join(tokens), np.int32), lengths, len(self.numbers))
        self.everything: Mask = np.ones(len(texts), dtype=np.bool_)
        """The mask that allows all texts."""

    def asked(self, query: str) -> tuple[Numbers, int]:
        """The known words of a query, repeated ones repeated, and the number of distinct words that no text holds."""
        lines = self._lines
        try:
            return np.frombuffer(b"".join([lines[line] for line in query.split("\n")]), np.int32), 0
        except KeyError:
            found = words(query)
            known = [self.numbers[word] for word in found if word in self.numbers]
            unknown = sum(word not in self.numbers for word in set(found))
            return np.array(known, dtype=np.int32), unknown

    def _numbered(self, line: str) -> bytes:
        """The numbers of a line's words as int32."""
        known = self._lines.get(line)
        if known is not None:
            return known
        number = self.numbers.setdefault
        found = np.array([number(word, len(self.numbers)) for word in words(line)], dtype=np.int32).tobytes()
        if len(self._lines) < LINES_KEPT:
            self._lines[line] = found
        return found


def ranked(found: tuple[NDArray[np.int64], Scores]) -> list[tuple[int, float]]:
    """Positions and scores as pairs."""
    positions, scores = found
    return list(zip(positions.tolist(), scores.tolist(), strict=True))
