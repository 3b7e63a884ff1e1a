"""What a search does, compiled: from the bytes of a query to its words, to the texts that share them, to the best.

A posting is one text that holds one word; those of word ``w`` stand at ``[starts[w], starts[w + 1])`` of the posting
arrays, in the order of the texts. The most frequent words, which have the lowest numbers, also have a row each: a one
for every text that holds the word and a zero for every other, which vector instructions add up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repoformer.retrieval.compilation import Bytes, Hits, Keys, Mask, Numbers, Scores, Starts, compiled

IS_WORD = np.array([byte >= 128 or chr(byte).isalnum() or byte == ord("_") for byte in range(256)])
r"""Which bytes of UTF-8 may stand in a word. For ASCII that is ``\w``; beyond it, see ``known_words``."""

KEY_BYTES = 7
"""A key of so many bytes holds them all, each in nine bits of its own."""

LANES = 16
"""Texts that vector instructions look at together."""


# From bytes to words.


@compiled
def extended(key: np.uint64, byte: np.uint8) -> np.uint64:
    """The key of a word with one more byte at its end; that of no bytes is 0."""
    return ((key << np.uint64(9)) | (key >> np.uint64(55))) ^ np.uint64(byte)


@compiled
def shift_to(slots: Numbers) -> np.uint64:
    """By how much 64 bits are too many for a place in a hash table of 2^n slots, two at least."""
    shift, places = np.uint64(63), len(slots) >> 2
    while places:
        shift, places = shift - np.uint64(1), places >> 1
    return shift


@compiled
def first_slot(key: np.uint64, shift: np.uint64) -> np.int64:
    """Where the search for a key starts, by Fibonacci hashing: only the highest bits depend on all of the key's."""
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> shift)


@compiled
def hashed_words(spelling: Bytes, begins: Numbers, slots: Numbers) -> Keys:
    """Each word's key; ``slots``, all -1, gets each word's number at the first free slot from its key's on.

    Word ``w`` is spelt at ``[begins[w], begins[w + 1])``. Keys of long words need not differ.
    """
    keys, shift = np.zeros(len(begins) - 1, np.uint64), shift_to(slots)
    for word in range(len(keys)):
        for byte in spelling[begins[word] : begins[word + 1]]:
            keys[word] = extended(keys[word], byte)
        slot = first_slot(keys[word], shift)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = word
    return keys


@compiled
def word_edges(text: Bytes) -> tuple[Numbers, Keys]:
    """Where words begin and end, by turns, and at each end the key of its word.

    Every place is written down and overwritten unless it is an edge: no processor foresees a branch at a word's end.
    """
    edges, keys = np.empty(len(text) + 2, np.int32), np.empty(len(text) + 2, np.uint64)
    count, inside, key = 0, False, np.uint64(0)
    for place in range(len(text)):
        byte = text[place]
        is_word = IS_WORD[byte]
        edges[count], keys[count] = place, key
        count += is_word != inside
        inside = is_word
        key = extended(key, byte) if is_word else np.uint64(0)
    edges[count], keys[count] = len(text), key
    count += inside
    return edges[:count], keys[:count]


@compiled
def spelt_alike(source: Bytes, begin: int, end: int, spelling: Bytes, at: int, until: int) -> bool:
    """Whether words of equal keys, at ``[begin, end)`` and ``[at, until)``, are equal: short ones of one length are."""
    if end - begin != until - at:
        return False
    if end - begin > KEY_BYTES:
        while begin < end:
            if source[begin] != spelling[at]:
                return False
            begin, at = begin + 1, at + 1
    return True


@compiled
def known_words(
    text: bytes, keys: Keys, slots: Numbers, begins: Numbers, spelling: Bytes, once: bool
) -> tuple[Numbers, Numbers]:
    r"""The known words of a text in UTF-8, repeated ones ``once`` or repeated, and the edges of what else it holds.

    A run of bytes that may stand in words is a word of ``\w+`` if it is a known one, for those were found by ``\w+``.
    Any other run is a new word, or several words with signs beyond ASCII between them, which is for Python to say.
    """
    source = np.frombuffer(text, np.uint8)
    edges, edge_keys = word_edges(source)
    found, seen = np.empty(len(edges) // 2, np.int32), np.zeros(len(keys), np.bool_)
    shift, count, others = shift_to(slots), 0, 0
    for turn in range(len(found)):
        begin, end, key = edges[2 * turn], edges[2 * turn + 1], edge_keys[2 * turn + 1]
        slot = first_slot(key, shift)
        word = slots[slot]
        while word >= 0 and not (
            keys[word] == key and spelt_alike(source, begin, end, spelling, begins[word], begins[word + 1])
        ):
            slot = (slot + 1) & (len(slots) - 1)
            word = slots[slot]
        if word < 0:
            edges[2 * others], edges[2 * others + 1] = begin, end
            others += 1
        else:
            found[count] = word  # a repetition is overwritten by the next word
            count += not (once and seen[word])
            seen[word] = True
    return found[:count], edges[: 2 * others]


# From words to texts.


@compiled
def add_postings(shared: Numbers, asked: Numbers, starts: Starts, texts: Numbers) -> None:
    """One more shared word for each text that holds an asked one."""
    for word in asked:
        for posting in range(starts[word], starts[word + 1]):
            shared[texts[posting]] += 1


@compiled
def shared_words(asked: Numbers, starts: Starts, texts: Numbers, size: int) -> Numbers:
    """How many of the distinct ``asked`` words each of ``size`` texts holds."""
    shared = np.zeros(size, np.int32)
    add_postings(shared, asked, starts, texts)
    return shared


@compiled
def parted(asked: Numbers, limit: int) -> tuple[Numbers, Numbers]:
    """The numbers below the limit, and the others."""
    below, others = np.empty(len(asked), np.int32), np.empty(len(asked), np.int32)
    count = 0
    for turn in range(len(asked)):
        below[count], others[turn - count] = asked[turn], asked[turn]
        count += asked[turn] < limit
    return below[:count], others[: len(asked) - count]


@compiled
def sum_of_rows(asked: Numbers, rows: Bytes) -> Numbers:
    """How many of the distinct ``asked`` words, all of which have rows, each text holds. A byte holds 255 rows' sum."""
    sums = np.zeros(rows.shape[1], np.uint8)
    for word in asked:
        row = rows[word]
        for text in range(len(sums)):
            sums[text] += row[text]
    return sums.astype(np.int32)


@compiled
def weighted_scores(asked: Numbers, starts: Starts, texts: Numbers, weights: Scores, size: int) -> tuple[Scores, Mask]:
    """Every text's sum of its postings' weights, once for each time that a word is asked for; and who has any."""
    scores, hits = np.zeros(size), np.zeros(size, np.bool_)
    times = np.zeros(len(starts) - 1, np.int32)
    for word in asked:
        times[word] += 1
    for word in asked:
        if times[word]:
            for posting in range(starts[word], starts[word + 1]):
                scores[texts[posting]] += times[word] * weights[posting]
                hits[texts[posting]] = True
            times[word] = 0
    return scores, hits


# From texts to the best of them.


@compiled
def insert(position: int, score: float, positions: Starts, scores: Scores, filled: int) -> int:
    """Puts a text in its place among the ``filled`` best, after those of equal score; how many there are now."""
    place = min(filled, len(scores) - 1)
    while place > 0 and scores[place - 1] < score:
        scores[place], positions[place] = scores[place - 1], positions[place - 1]
        place -= 1
    scores[place], positions[place] = score, position
    return min(filled + 1, len(scores))


@compiled
def closeness(shared: Numbers, distinct: int, sizes: Numbers, allowed: Mask) -> NDArray[np.float32]:
    """``|a & b| / (|a| + |b|)``, which grows with the Jaccard similarity; 0 for texts that are not allowed.

    In single precision, of which a vector holds more. Rounding may make two texts equal and never turns them round,
    as long as they have fewer than 2^24 words.
    """
    close = np.empty(len(sizes), np.float32)
    for text in range(len(sizes)):
        close[text] = np.float32(shared[text] * allowed[text]) / (np.float32(sizes[text]) + np.float32(distinct))
    return close


@compiled
def reached(close: NDArray[np.float32], top: int) -> np.float32:
    """A closeness that at least ``top`` texts reach, and few others: the top-th best of the lanes' best; or 0."""
    best = np.zeros(LANES, np.float32)
    for start in range(0, len(close) - LANES + 1, LANES):
        for lane in range(LANES):
            text = close[start + lane]
            best[lane] = text if text > best[lane] else best[lane]
    least = np.float32(0)
    for bound in best:
        reaching = 0
        for each in best:
            reaching += int(each >= bound)
        if reaching >= top and bound > least:
            least = bound
    return least


@compiled
def nearest(shared: Numbers, distinct: int, sizes: Numbers, allowed: Mask, top: int) -> Hits:
    """The ``top`` most similar texts, given how many of the query's ``distinct`` words each shares.

    Only a text that is close enough to be among them is scored.
    """
    close = closeness(shared, distinct, sizes, allowed)
    least = max(reached(close, top), np.finfo(np.float32).tiny)  # a text that shares nothing is no hit
    positions, found = np.empty(top, np.int64), np.zeros(top)
    filled = 0
    for text in range(len(close)):
        if close[text] >= least:
            score = shared[text] / (sizes[text] + distinct - shared[text])
            if score > found[top - 1]:
                filled = insert(text, score, positions, found, filled)
                if filled == top:
                    least = max(least, close[positions[top - 1]])
    return [(positions[place], found[place]) for place in range(filled)]


@compiled
def search_words(
    asked: Numbers, unknown: int, starts: Starts, texts: Numbers, sizes: Numbers, rows: Bytes, allowed: Mask, top: int
) -> Hits:
    """The ``top`` of the ``allowed`` texts whose words are most like the distinct ``asked`` and ``unknown`` ones."""
    frequent, others = parted(asked, len(rows))
    shared = sum_of_rows(frequent, rows)
    add_postings(shared, others, starts, texts)
    return nearest(shared, len(asked) + unknown, sizes, allowed, min(top, len(sizes)))


@compiled
def search_query(
    query: bytes,
    keys: Keys,
    slots: Numbers,
    begins: Numbers,
    spelling: Bytes,
    starts: Starts,
    texts: Numbers,
    sizes: Numbers,
    rows: Bytes,
    allowed: Mask,
    top: int,
) -> Hits | None:
    """The same for a query in UTF-8; None if it holds anything but known words."""
    asked, others = known_words(query, keys, slots, begins, spelling, True)
    if len(others):
        return None
    return search_words(asked, 0, starts, texts, sizes, rows, allowed, top)


@compiled
def search_weighted(asked: Numbers, starts: Starts, texts: Numbers, weights: Scores, allowed: Mask, top: int) -> Hits:
    """The ``top`` best of the ``allowed`` texts by sums of weights, which may be zero or negative."""
    scores, hits = weighted_scores(asked, starts, texts, weights, len(allowed))
    top = min(top, len(scores))
    positions, found = np.empty(top, np.int64), np.empty(top)
    filled = 0
    for text in range(len(scores)):
        if hits[text] and allowed[text] and (filled < top or scores[text] > found[top - 1]):
            filled = insert(text, scores[text], positions, found, filled)
    return [(positions[place], found[place]) for place in range(filled)]
