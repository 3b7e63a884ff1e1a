r"""A query's words, as the compiled loop finds them, against ``\w+``."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.retrieval.kernels import first_slot, shift_to
from repoformer.retrieval.vocabulary import Vocabulary

# The compiled loop knows bytes only. Beyond ASCII there are letters, digits, and signs of two to four bytes, line ends
# that are none here, and halves of pairs; the long words have equal keys, and beginnings and ends in common.
PIECES = [
    *("a", "b", "_", "0", "é", "漢", "٣", "𝒳", "ªº"),
    *(" ", "\n", "\r\n", "\t", "\x0b", "\x00", "\x85", "\u2028", "\ud800", "“", "—", "+", "."),
    *("axxxxxxb", "cxxxxxxc", "xaxxxxxxb", "xcxxxxxxc", "xxxxxxP", "bxxxxxxa"),
]
texts = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PIECES), max_size=15).map("".join))


@given(st.lists(texts, max_size=5), texts)
def test_known_and_unknown_words_are_those_of_the_pattern(corpus: list[str], query: str) -> None:
    known = list(dict.fromkeys(word for text in corpus for word in re.findall(r"\w+", text)))
    asked = Counter(re.findall(r"\w+", query))
    numbers, unknown = Vocabulary(known).asked(query, once=False)
    assert Counter(known[number] for number in numbers) == {word: asked[word] for word in asked if word in known}
    assert unknown == len(asked.keys() - known)


@given(st.lists(texts, max_size=5), texts)
def test_once_leaves_out_repetitions(corpus: list[str], query: str) -> None:
    vocabulary = Vocabulary(list(dict.fromkeys(word for text in corpus for word in re.findall(r"\w+", text))))
    once, unknown = vocabulary.asked(query, once=True)
    repeated, also_unknown = vocabulary.asked(query, once=False)
    assert sorted(once.tolist()) == sorted(set(repeated.tolist()))
    assert unknown == also_unknown


@pytest.mark.parametrize(("one", "other"), [("axxxxxxb", "cxxxxxxc"), ("xxxxxxP", "bxxxxxxa")])
def test_words_of_one_key_are_told_apart(one: str, other: str) -> None:
    vocabulary = Vocabulary([one, other])
    keys, *_ = vocabulary.table
    assert keys[0] == keys[1]
    assert vocabulary.asked(f"{other} {one}", once=False)[0].tolist() == [1, 0]
    assert Vocabulary([one]).asked(other, once=True)[1] == 1
    assert Vocabulary([other]).asked(one, once=True)[1] == 1


def test_a_full_table_finds_every_word() -> None:
    known = [f"word{number}" for number in range(1000)]
    numbers, unknown = Vocabulary(known).asked(" ".join(reversed(known)), once=False)
    np.testing.assert_array_equal(numbers, np.arange(1000)[::-1])
    assert unknown == 0


@pytest.mark.parametrize("pattern", ["{}{}aaaaa", "{}aaaaa{}", "aaaaa{}{}", "0x{}{}000000"])
def test_words_that_differ_in_two_places_share_few_slots(pattern: str) -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEF"
    vocabulary = Vocabulary([pattern.format(one, other) for one in letters for other in letters])
    keys, slots, *_ = vocabulary.table
    by_chance = len(slots) * (1 - (1 - 1 / len(slots)) ** len(keys))
    assert len({first_slot(key, shift_to(slots)) for key in keys}) > by_chance / 2


@pytest.mark.parametrize("slots", [2, 4, 64, 1 << 20])
def test_slots_fill_the_table(slots: int) -> None:
    keys = np.random.default_rng(0).integers(1 << 63, size=1000, dtype=np.uint64)
    found = [first_slot(key, shift_to(np.empty(slots, np.int32))) for key in keys]
    assert 0 <= min(found) <= slots // 64
    assert slots - 1 - slots // 64 <= max(found) < slots


def test_no_words_know_none() -> None:
    numbers, unknown = Vocabulary([]).asked("a b a", once=True)
    assert (len(numbers), unknown) == (0, 2)
