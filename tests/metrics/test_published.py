"""What the exact matches of three papers let pass, and how their edit similarities differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.metrics.published import (
    crosscodeeval_edit_similarity,
    crosscodeeval_exact_match,
    repocoder_edit_similarity,
    repocoder_exact_match,
    repoformer_exact_match,
)

text = st.text(st.sampled_from("ab \n\t'\"(x1A_"), max_size=25)


@pytest.mark.parametrize(
    ("completion", "target", "repocoder", "repoformer", "crosscodeeval"),
    [
        ("x = 1", "x = 1", True, True, True),
        ("  x = 1\n\ny = 2", "x = 1\n  y = 2", True, True, True),  # blank lines and indentation
        ("x = 1\ny = 2", "x = 1", True, False, False),  # writes on
        ("x=1", "x = 1", False, True, False),  # spaces inside of a line
        ("f('a')", 'f("a")', False, True, False),  # quotes
        ("foo Bar", "fooBar", False, True, False),  # case splits
        ("x = 1", "x = 2", False, False, False),
        ("", "", True, True, True),
    ],
)
def test_each_exact_match_has_its_own_idea_of_equal(
    completion: str, target: str, repocoder: bool, repoformer: bool, crosscodeeval: bool
) -> None:
    assert repocoder_exact_match(completion, target) is repocoder
    assert repoformer_exact_match(completion, target) is repoformer
    assert crosscodeeval_exact_match(completion, target) is crosscodeeval


def edits(one: str, other: str, replacing: int) -> int:
    """The distance by its recursion, a replacement at the given cost."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row, above = [i], row
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b) * replacing))
    return row[-1]


@given(text, text)
def test_repocoders_similarity_is_that_of_the_targets_number_of_stripped_lines(completion: str, target: str) -> None:
    wanted = [line.strip() for line in target.split("\n") if line.strip()]
    written = [line.strip() for line in completion.split("\n") if line.strip()][: len(wanted)]
    one, other = "\n".join(written), "\n".join(wanted)
    longest = max(len(one), len(other))
    expected = 1 - edits(one, other, replacing=1) / longest if longest else 1
    assert repocoder_edit_similarity(completion, target) == pytest.approx(expected)


@given(text, text)
def test_crosscodeevals_similarity_is_the_rounded_ratio_without_replacements(completion: str, target: str) -> None:
    one, other = completion.strip(), target.strip()
    both = len(one) + len(other)
    expected = round(100 * (both - edits(one, other, replacing=2)) / both) / 100 if both else 1
    assert crosscodeeval_edit_similarity(completion, target) == pytest.approx(expected)


@given(text)
def test_spaces_around_brackets_do_not_count_for_repoformer(code: str) -> None:
    assert repoformer_exact_match(code.replace("(", " ( "), code)
