r"""What a word is, and the numbers of the words of an index."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from repoformer.retrieval.compilation import Bytes, Keys, Numbers
from repoformer.retrieval.kernels import hashed_words, known_words

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    r"""The ``\w+`` runs of a text, in order and case-sensitive: identifiers, keywords, numbers, words of comments."""
    return _WORD.findall(text)


def encoded(text: str) -> bytes:
    """A text as the compiled loops read it. Every string has such bytes, and no two have the same."""
    return text.encode("utf-8", "surrogatepass")


class Vocabulary:
    """The words of an index by number, and those of any other text by the same numbers."""

    def __init__(self, distinct: Sequence[str]) -> None:
        """The words, in the order of their numbers."""
        self.numbers = {word: number for number, word in enumerate(distinct)}
        self.table = _table([encoded(word) for word in distinct])
        """The keys, slots, begins and spelling that ``kernels.known_words`` takes."""

    def __len__(self) -> int:
        return len(self.numbers)

    def asked(self, text: str, *, once: bool) -> tuple[Numbers, int]:
        """The known words of a text, repeated ones ``once`` or repeated, and how many distinct others there are."""
        source = encoded(text)
        found, edges = known_words(source, *self.table, once)
        if not len(edges):
            return found, 0
        runs = [source[begin:end] for begin, end in edges.reshape(-1, 2)]
        others = words(b" ".join(runs).decode("utf-8", "surrogatepass"))
        known = [*found.tolist(), *(self.numbers[word] for word in others if word in self.numbers)]
        unknown = {word for word in others if word not in self.numbers}
        return np.array(list(dict.fromkeys(known)) if once else known, dtype=np.int32), len(unknown)


def _table(spelt: list[bytes]) -> tuple[Keys, Numbers, Numbers, Bytes]:
    """The hash table of words by their bytes, half full at most."""
    begins = np.cumsum([0, *map(len, spelt)], dtype=np.int32)
    spelling = np.frombuffer(b"".join(spelt), np.uint8)
    slots = np.full(1 << (2 * len(spelt) + 1).bit_length(), -1, np.int32)
    return hashed_words(spelling, begins, slots), slots, begins, spelling
