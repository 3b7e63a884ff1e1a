"""Contexts with a relative of the blank: what stands in them, and what a change may touch."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Chunk
from repoformer.models.pretraining.twins import relative, renamed, with_twin
from repoformer.prompt.cross_file import cross_file_text

LINES = st.lists(st.sampled_from(["total = price * count", "    return total", "", "for item in items:"]), max_size=12)
SEEDS = st.integers(0, 2**32)
CONTEXT = cross_file_text([Chunk("pkg/other.py", 0, 2, "import os\nprint(os.name)")], "#")


def _blank(above: list[str], target: list[str], below: list[str]) -> tuple[str, str, str]:
    return "".join(f"{line}\n" for line in above), "\n".join(target), "".join(f"\n{line}" for line in below)


@given(LINES, LINES, LINES, SEEDS)
def test_every_line_of_the_context_stays_in_its_order(above, target, below, seed):
    lines = iter(with_twin(CONTEXT, *_blank(above, target, below), random.Random(seed)).split("\n"))
    assert all(line in lines for line in CONTEXT.split("\n"))  # `in` an iterator goes on behind what it found


@given(LINES, LINES, LINES, SEEDS)
def test_what_is_added_are_comments(above, target, below, seed):
    added = with_twin(CONTEXT, *_blank(above, target, below), random.Random(seed)).split("\n")
    assert all(not line or line.startswith("#") for line in added)


@given(LINES, LINES, LINES, SEEDS)
def test_it_stands_below_the_first_path(above, target, below, seed):
    text = with_twin(CONTEXT, *_blank(above, target, below), random.Random(seed))
    assert text.startswith(CONTEXT.partition("# import os")[0])


def test_some_relatives_hold_the_target_as_it_is():
    drawn = [relative("a = 1\n", "bee = see(dee)", "\n", random.Random(seed)) for seed in range(50)]
    assert 10 < sum("bee = see(dee)" in lines for lines in drawn) < 50


def test_a_context_cut_before_its_first_path_is_no_error():
    assert with_twin("# Here are", "", "x = 1", "", random.Random(0)).startswith("# Here are")


@given(SEEDS)
def test_a_name_is_replaced_throughout(seed):
    changed = renamed("value = load(value)\nprint(value)", ["fresh"], random.Random(seed))
    assert changed.count("value") in (0, 3)


@given(SEEDS)
def test_keywords_are_never_replaced(seed):
    assert renamed("for x in y:\n    return", ["fresh"], random.Random(seed)) == "for x in y:\n    return"
