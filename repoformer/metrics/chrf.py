"""chrF, the score of the ASE 2025 context collection competition."""

from __future__ import annotations

from functools import cache
from typing import Any

from repoformer.errors import UserError


def chrf(completion: str, target: str) -> float:
    """Sentence chrF in [0, 1]: F2 of character n-grams up to order 6, white space removed, case kept, no word n-grams.

    Orders for which one of the texts is too short are left out of the mean. Two empty texts score 0.
    """
    return float(_scorer().sentence_score(completion, [target]).score) / 100


@cache
def _scorer() -> Any:
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise UserError("chrF needs sacrebleu: pip install 'repoformer[eval]'") from None
    return CHRF(char_order=6, word_order=0, beta=2, lowercase=False, whitespace=False, eps_smoothing=False)
