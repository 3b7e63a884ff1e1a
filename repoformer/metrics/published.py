"""Exact match and edit similarity as others have run them. They differ by points, so each has its own name.

Repoformer's edit similarity is :func:`repoformer.metrics.text.edit_similarity`; CrossCodeEval's are for texts that went
through :func:`repoformer.metrics.statements.compared_statement`.
"""

from __future__ import annotations

import re

from repoformer.metrics.text import edit_similarity, exact_match, fuzz_ratio

_CODE_TOKEN = re.compile(r"[A-Za-z0-9_]+|[^A-Za-z0-9_\s]")
_CASE_CHANGE = re.compile("(?<=[a-z])(?=[A-Z])")
_QUOTES = str.maketrans("'\"", "``")


def repocoder_exact_match(completion: str, target: str) -> bool:
    """RepoCoder: the completion's first lines equal the target's, both without blank lines and indentation."""
    return _first_stripped_lines(completion, target) == _stripped_lines(target)


def repocoder_edit_similarity(completion: str, target: str) -> float:
    """RepoCoder: ``1 - Levenshtein / max(len)`` of the same lines as :func:`repocoder_exact_match`."""
    return edit_similarity("\n".join(_first_stripped_lines(completion, target)), "\n".join(_stripped_lines(target)))


def repoformer_exact_match(completion: str, target: str) -> bool:
    """Repoformer's release: equal code tokens. White space, the kind of quotes, and case-split words do not count.

    Looser than its name: ``fooBar`` equals ``foo Bar``.
    """
    return _code_tokens(completion) == _code_tokens(target)


def crosscodeeval_exact_match(completion: str, target: str) -> bool:
    """CrossCodeEval: equal lines, without blank lines, indentation and trailing white space."""
    return exact_match(completion, target)


def crosscodeeval_edit_similarity(completion: str, target: str) -> float:
    """CrossCodeEval: ``fuzz.ratio`` of the stripped texts, rounded to a whole percentage for every instance.

    The rounding is that of the library they used. Its slow back-end (difflib) gives about one point less.
    """
    return round(100 * fuzz_ratio(completion, target)) / 100


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _first_stripped_lines(completion: str, target: str) -> list[str]:
    return _stripped_lines(completion)[: len(_stripped_lines(target))]


def _code_tokens(code: str) -> list[str]:
    tokens = _CODE_TOKEN.findall(code.translate(_QUOTES))
    return [part for token in tokens for part in _CASE_CHANGE.split(token)]
