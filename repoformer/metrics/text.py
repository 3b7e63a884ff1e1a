"""How close a completion is to the code that stood there. Every metric names its variant: they are not comparable."""

from __future__ import annotations

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein


def edit_similarity(completion: str, target: str) -> float:
    """``1 - Levenshtein / max(len)`` over characters of the stripped texts (equation 3, its misprint corrected).

    Two empty texts are equal: 1.
    """
    return Levenshtein.normalized_similarity(completion.strip(), target.strip())


def fuzz_ratio(completion: str, target: str) -> float:
    """rapidfuzz's ``fuzz.ratio`` in [0, 1]: what CrossCodeEval reports as edit similarity, over stripped texts.

    It counts insertions and deletions only (a substitution costs two) and divides by the sum of both lengths, so it
    is never below :func:`edit_similarity`.
    """
    return fuzz.ratio(completion.strip(), target.strip()) / 100


def exact_match(completion: str, target: str) -> bool:
    """Line-stripped equality (RepoCoder, CrossCodeEval): surrounding whitespace of a line and blank lines do not count.

    The Repoformer release compares sub-tokens without regard to quotes, which is looser; neither is string equality.
    """
    return _stripped_lines(completion) == _stripped_lines(target)


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
