"""MinHash: how much two sets have in common, told from short signatures (Broder 1997) without comparing all pairs.

The share of equal places in two signatures estimates the Jaccard similarity of the sets, to about 0.04; the signature
of a union is the smaller of both, place by place.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from repoformer.seeding import stable_hash

Signature = NDArray[np.uint32]

HASHES = 128
BANDS = 32
"""Of four places each: sets of similarity 0.7 agree in one of them with probability 0.9998, of 0.2 with 0.05."""
_PAIRS_AT_ONCE = 100_000

_FACTORS, _SHIFTS = (
    np.array([stable_hash("minhash", what, place) | odd for place in range(HASHES)], dtype=np.uint64)
    for what, odd in (("factor", 1), ("shift", 0))
)


def signature(members: Iterable[int]) -> Signature:
    """The signature, shape [HASHES], of a set of 64-bit hashes."""
    hashes = np.fromiter(members, dtype=np.uint64)
    # Multiply-shift hashing: the upper half of a product that overflows is as good as random.
    mixed = (hashes[:, None] * _FACTORS + _SHIFTS) >> np.uint64(32)
    smallest: Signature = mixed.min(axis=0, initial=np.iinfo(np.uint32).max).astype(np.uint32)
    return smallest


def similarity(one: Signature, other: Signature) -> NDArray[np.float64]:
    """Estimated Jaccard similarity; signatures stand in the last axis, the others broadcast."""
    shares: NDArray[np.float64] = (one == other).mean(axis=-1)
    return shares


def first_alike(signatures: Signature, owners: NDArray[np.intp], least: float) -> NDArray[np.intp]:
    """For every row the first one of another owner above it that is at least so similar; -1 where there is none.

    ``signatures``: [rows, HASHES]. Compared are rows that agree in a band with the first row of their bucket only, so
    the cost is that of sorting, however often a set is repeated.
    """
    first: NDArray[np.intp] = np.full(len(signatures), len(signatures))
    for band in np.split(signatures, BANDS, axis=1):
        head = _heads_of_buckets(band)
        rows = np.flatnonzero((owners[head] != owners) & (head < first))
        for start in range(0, len(rows), _PAIRS_AT_ONCE):
            some = rows[start : start + _PAIRS_AT_ONCE]
            alike = some[similarity(signatures[some], signatures[head[some]]) >= least]
            first[alike] = head[alike]
    first[first == len(signatures)] = -1
    return first


def _heads_of_buckets(band: Signature) -> NDArray[np.intp]:
    """For every row the first one that equals it; should two be mixed up by chance, they are compared anyhow."""
    keys = (band * _FACTORS[: band.shape[1]]).sum(axis=1)
    _, heads, buckets = np.unique(keys, return_index=True, return_inverse=True)
    found: NDArray[np.intp] = heads[buckets]
    return found
