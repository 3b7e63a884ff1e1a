"""Which words count as identifiers, and how two lists of them are compared."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.metrics.identifiers import KEYWORDS, identifier_exact_match, identifier_f1, identifiers

words = st.lists(st.sampled_from(["alpha", "beta", "gamma", "return", "1"]), max_size=6)


def test_pythons_keywords_are_its_own_without_the_truth_values() -> None:
    assert KEYWORDS["python"] == set(keyword.kwlist) - {"True", "False"}


@pytest.mark.parametrize(
    ("language", "code", "found"),
    [
        ("python", "return self.alpha(beta, 1, None, True)", ["self", "alpha", "beta", "True"]),
        ("python", "log('it\\'s beta', \"no \\\" gamma\", delta)", ["log", "delta"]),
        ("java", "int startAngle = ((Arc) object).getStartAngle();", ["startAngle", "Arc", "object", "getStartAngle"]),
        ("csharp", "foreach (var x in this.Items)", ["var", "x", "Items"]),
        ("typescript", "const a = await this.b", ["a", "await", "b"]),
    ],
)
def test_identifiers_are_words_outside_of_strings_that_are_no_keywords(
    language: str, code: str, found: list[str]
) -> None:
    assert identifiers(code, language) == found


def test_a_language_without_keywords_is_refused() -> None:
    with pytest.raises(ValueError, match="kotlin"):
        identifiers("x", "kotlin")


def test_exact_match_looks_at_the_order_and_f1_does_not() -> None:
    assert not identifier_exact_match("a(b)", "b(a)", "python")
    assert identifier_f1("a(b)", "b(a)", "python") == 1


@given(words, words)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(completion: list[str], target: list[str]) -> None:
    named, wanted = ({word for word in side if word.isalpha() and word != "return"} for side in (completion, target))
    precision = len(named & wanted) / len(named) if named else 0
    recall = len(named & wanted) / len(wanted) if wanted else 0
    expected = 2 * precision * recall / (precision + recall) if precision + recall else 0
    assert identifier_f1(" ".join(completion), " ".join(target), "python") == pytest.approx(expected)
