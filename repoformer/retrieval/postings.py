"""The inverted index under the exact scorers: for every word, the texts that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from repoformer.retrieval.compilation import Bytes, Mask, Numbers, Starts, compiled
from repoformer.retrieval.kernels import shared_words
from repoformer.retrieval.vocabulary import Vocabulary, words

LINES_KEPT = 100_000
"""Lines whose words are remembered while an index is built, some 25 MB."""

ROWS = 255
"""Most words that have a row: a byte holds the sum of so many ones."""

ROW_BYTES = 4_000_000
"""Most memory for rows: larger ones leave the processor's caches, and gain little over postings."""

ROW_SHARE = 32
"""A word is frequent if more than one text in so many holds it: then its row is added up faster than its postings."""


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

    def rows(self) -> Bytes:
        """Ones for the texts that hold a term, and zeros, for as many of the first terms as there are frequent ones."""
        frequent = np.diff(self.starts) > len(self) // ROW_SHARE
        most = min(ROWS, ROW_BYTES // max(len(self), 1), int(np.count_nonzero(frequent)))
        rows = np.zeros((most, len(self)), np.uint8)
        for term, row in enumerate(rows):
            row[self.texts[self.starts[term] : self.starts[term + 1]]] = 1
        return rows


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
        asked = np.array([self._numbers[term] for term in set(terms) if term in self._numbers], dtype=np.int32)
        return shared_words(asked, self._postings.starts, self._postings.texts, len(self._postings))


class WordIndex:
    r"""Texts by their ``\w+`` words, which have numbers in the order of their frequency."""

    def __init__(self, texts: Sequence[str]) -> None:
        lines = _NumberedLines()
        encoded = [b"".join(map(lines.words_of, text.split("\n"))) for text in texts]
        lengths = np.fromiter((len(each) // 4 for each in encoded), np.int32, len(encoded))
        tokens = np.frombuffer(b"".join(encoded), np.int32)
        order = np.argsort(-np.bincount(tokens, minlength=len(lines.numbers)), kind="stable")
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        found = list(lines.numbers)
        self.vocabulary = Vocabulary([found[place] for place in order])
        self.postings = Postings(rank[tokens], lengths, len(order))
        self.everything: Mask = np.ones(len(texts), dtype=np.bool_)
        """The mask that allows all texts."""


def mask_over(everything: Mask, allowed: Mask | None) -> Mask:
    """``allowed``, by default everything. Compiled code would run past the end of a mask of another length."""
    if allowed is None:
        return everything
    if allowed.shape != everything.shape:
        raise ValueError(f"a mask of shape {allowed.shape} does not fit an index of {len(everything)} texts")
    return allowed


class _NumberedLines:
    """Lines as the numbers of their words. A word ends with its line, so a line in many windows is split once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._known: dict[str, bytes] = {}

    def words_of(self, line: str) -> bytes:
        """The numbers of a line's words as int32; a word that is new gets the next number."""
        known = self._known.get(line)
        if known is not None:
            return known
        number = self.numbers.setdefault
        found = np.array([number(word, len(self.numbers)) for word in words(line)], dtype=np.int32).tobytes()
        if len(self._known) < LINES_KEPT:
            self._known[line] = found
        return found


@compiled
def invert(tokens: Numbers, lengths: Numbers, words: int) -> tuple[Starts, Numbers, Numbers, Numbers]:
    """From the words of each text, one text after the other, to the texts of each word.

    Returns ``starts`` [words + 1], each posting's text and how often the word stands in it, and the number of distinct
    words of each text.
    """
    starts = np.zeros(words + 1, np.int64)
    distinct = np.zeros(len(lengths), np.int32)
    last = np.full(words, -1, np.int32)  # the text in which a word was seen last
    place = 0
    for text in range(len(lengths)):
        for word in tokens[place : place + lengths[text]]:
            if last[word] != text:
                last[word] = text
                starts[word + 1] += 1
                distinct[text] += 1
        place += lengths[text]
    for word in range(words):
        starts[word + 1] += starts[word]
    texts = np.empty(starts[words], np.int32)
    counts = np.zeros(starts[words], np.int32)
    free = starts[:-1].copy()
    last[:] = -1
    place = 0
    for text in range(len(lengths)):
        for word in tokens[place : place + lengths[text]]:
            if last[word] != text:
                last[word] = text
                texts[free[word]] = text
                free[word] += 1
            counts[free[word] - 1] += 1
        place += lengths[text]
    return starts, texts, counts, distinct
