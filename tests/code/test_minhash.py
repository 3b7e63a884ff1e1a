"""Signatures tell how much sets have in common, to within what chance allows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.minhash import HASHES, first_alike, signature, similarity
from repoformer.seeding import stable_hash


def hashes(numbers: range) -> set[int]:
    return {stable_hash(number) for number in numbers}


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 300))
def test_equal_places_estimate_the_jaccard_similarity(left: int, shared: int, right: int) -> None:
    one, other = hashes(range(left + shared)), hashes(range(left, left + shared + right))
    exact = len(one & other) / len(one | other)
    assert abs(float(similarity(signature(one), signature(other))) - exact) < 5 * 0.5 / HASHES**0.5


@given(st.sets(st.integers(0, 2**64 - 1), max_size=20), st.sets(st.integers(0, 2**64 - 1), max_size=20))
def test_the_signature_of_a_union_is_the_smaller_of_both(one: set[int], other: set[int]) -> None:
    assert (signature(one | other) == np.minimum(signature(one), signature(other))).all()


def test_the_order_of_the_members_does_not_matter() -> None:
    assert (signature([1, 2, 3]) == signature([3, 1, 2, 1])).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
def test_the_first_alike_of_another_owner_is_found(drawn: list[tuple[int, int]]) -> None:
    drawn = sorted(drawn)
    owners = np.array([owner for owner, _ in drawn], dtype=np.intp)
    rows = [signature(hashes(range(1000 * content, 1000 * content + 50))) for _, content in drawn]
    found = first_alike(np.array(rows, dtype=np.uint32).reshape(-1, HASHES), owners, 0.7)
    first = {content: place for place, (_, content) in reversed(list(enumerate(drawn)))}
    wanted = [first[content] if drawn[first[content]][0] != owner else -1 for owner, content in drawn]
    assert found.tolist() == wanted
