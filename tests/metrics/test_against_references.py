"""Every text metric against another implementation of its definition, on thousands of pairs, random and real."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from rapidfuzz.distance import LCSseq

from repoformer.metrics.catalogue import METRICS

RANDOM_PAIRS = 3000
REAL_PAIRS = 2000
Pair = tuple[str, str]


@pytest.fixture(scope="module")
def pairs(python_sources: list[str]) -> list[Pair]:
    """Random strings over a small alphabet, and lines of real files: a line with itself changed, or with another."""
    rng = random.Random(0)
    return [*(_random_pair(rng) for _ in range(RANDOM_PAIRS)), *_real_pairs(rng, python_sources)]


def _random_pair(rng: random.Random) -> Pair:
    alphabet = "ab_ (\n'\"é=."
    one, other = ("".join(rng.choices(alphabet, k=rng.randrange(16))) for _ in range(2))
    return one, other


def _real_pairs(rng: random.Random, sources: list[str]) -> Iterator[Pair]:
    lines = [line for source in sources for line in source.split("\n") if line.strip()]
    for number in range(REAL_PAIRS):
        start = rng.randrange(len(lines) - 3)
        target = "\n".join(lines[start : start + 1 + number % 2])
        if number % 3:
            cut = rng.randrange(len(target) + 1)
            yield target[:cut] + rng.choice(("", "x", "\n", " self.")) + target[cut + rng.randrange(3) :], target
        else:
            yield rng.choice(lines), target


def levenshtein(a: str, b: str) -> int:
    """Wagner and Fischer's table, row by row."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (left != right))
    return row[-1]


def similarity(a: str, b: str) -> float:
    longest = max(len(a), len(b))
    return 1 - levenshtein(a, b) / longest if longest else 1.0


def stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_edit_similarities(pairs: list[Pair]) -> None:
    for a, b in pairs[::2]:
        assert METRICS["es_levenshtein"](a, b, "python") == pytest.approx(similarity(a.strip(), b.strip()), abs=1e-12)
        wanted = stripped_lines(b)
        first = "\n".join(stripped_lines(a)[: len(wanted)])
        expected = similarity(first.strip(), "\n".join(wanted).strip())
        assert METRICS["es_repocoder"](a, b, "python") == pytest.approx(expected, abs=1e-12)


def test_fuzz_ratio_is_twice_the_longest_common_subsequence_over_both_lengths(pairs: list[Pair]) -> None:
    for a, b in pairs:
        a_, b_ = a.strip(), b.strip()
        both = len(a_) + len(b_)
        ratio = 2 * LCSseq.similarity(a_, b_) / both if both else 1.0
        assert METRICS["es_fuzz_ratio"](a, b, "python") == pytest.approx(ratio, abs=1e-12)
        rounded = METRICS["es_crosscodeeval"](a, b, "python")
        assert rounded == round(rounded, 2)
        assert abs(rounded - ratio) <= 0.005 + 1e-12


def test_exact_matches(pairs: list[Pair]) -> None:
    for a, b in pairs:
        ours, wanted = stripped_lines(a), stripped_lines(b)
        assert METRICS["em_repocoder"](a, b, "python") == (ours[: len(wanted)] == wanted)
        assert METRICS["em_crosscodeeval"](a, b, "python") == (ours == wanted)
        # Without white space and with one kind of quotes, equal texts are equal in Repoformer's looser sense too.
        if re.sub(r"\s", "", a) == re.sub(r"\s", "", b) and ours == wanted:
            assert METRICS["em_repoformer"](a, b, "python") == 1


def test_identifiers(pairs: list[Pair]) -> None:
    import io
    import keyword
    import tokenize

    def names(line: str) -> list[str]:
        tokens = tokenize.generate_tokens(io.StringIO(line).readline)
        soft = {"True", "False", "print"}  # no keywords in the benchmark's list
        return [
            one.string
            for one in tokens
            if one.type == tokenize.NAME and (one.string in soft or not keyword.iskeyword(one.string))
        ]

    compared = 0
    for a, b in pairs[RANDOM_PAIRS:]:
        try:
            ours, wanted = names(a), names(b)
        except (tokenize.TokenError, IndentationError, SyntaxError):
            continue
        if any(mark in a + b for mark in ("'", '"', "#", "\\", "0x", "e")) or re.search(r"\d", a + b):
            continue  # strings, comments and numbers are told apart by rules of their own
        compared += 1
        assert METRICS["identifier_em"](a, b, "python") == (ours == wanted)
        both = set(ours) | set(wanted)
        f1 = 2 * len(set(ours) & set(wanted)) / (len(set(ours)) + len(set(wanted))) if both else 0.0
        assert METRICS["identifier_f1"](a, b, "python") == pytest.approx(f1)
    assert compared > 20


def chrf(hypothesis: str, reference: str) -> float:
    """Popović 2015 with beta 2, the mean of precisions and recalls over orders that both texts have."""
    a, b = ("".join(text.split()) for text in (hypothesis, reference))
    precisions, recalls = [], []
    for order in range(1, 7):
        grams = [Counter(text[i : i + order] for i in range(len(text) - order + 1)) for text in (a, b)]
        if grams[0] and grams[1]:
            shared = (grams[0] & grams[1]).total()
            precisions.append(shared / grams[0].total())
            recalls.append(shared / grams[1].total())
    if not precisions:
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 5 * precision * recall / (4 * precision + recall) if precision + recall else 0.0


def test_chrf(pairs: list[Pair]) -> None:
    pytest.importorskip("sacrebleu")
    for a, b in pairs[::5]:
        assert METRICS["chrf"](a, b, "python") == pytest.approx(chrf(a, b), abs=1e-9)
