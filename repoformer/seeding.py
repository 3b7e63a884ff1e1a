"""Randomness that depends on what is drawn for, never on the order or the number of workers."""

from __future__ import annotations

import hashlib
import random


def stable_hash(*parts: object) -> int:
    """A 64-bit hash of the parts' text that is the same in every process and on every machine."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def generator(*parts: object) -> random.Random:
    """A random generator of its own for, say, ``(seed, stage, record id)``."""
    return random.Random(stable_hash(*parts))
