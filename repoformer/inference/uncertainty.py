"""How sure a model was of each token it generated, read from the logits that decoding looks at anyway."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from repoformer.code.records import TokenUncertainty

_DIGITS = 5
"""Digits behind the point that are kept: enough for any feature, and files stay small."""


class UncertaintyWatch:
    """Watches a batch being decoded greedily (see ``CachedPass.decode``)."""

    def __init__(self) -> None:
        self._log_probabilities: dict[int, list[float]] = defaultdict(list)
        self._entropies: dict[int, list[float]] = defaultdict(list)

    def __call__(self, rows: Sequence[int], logits: torch.Tensor) -> None:
        """One step: ``logits`` [rows, vocabulary] from which each of ``rows`` takes its next token."""
        log_probabilities = logits.log_softmax(dim=-1)
        # The paper's ablation A4 forbids a token: its probability is 0, and 0 log 0 is 0.
        surprise = (log_probabilities.exp() * log_probabilities.clamp(min=-1e4)).sum(dim=-1)
        best = log_probabilities.max(dim=-1).values.tolist()
        for row, one, entropy in zip(rows, best, (-surprise).tolist(), strict=True):
            self._log_probabilities[row].append(round(one, _DIGITS))
            self._entropies[row].append(round(entropy, _DIGITS))

    def of(self, row: int, tokens: int) -> TokenUncertainty:
        """Of the first ``tokens`` tokens of a row: the one that ended the completion is not part of it."""
        return TokenUncertainty(tuple(self._log_probabilities[row][:tokens]), tuple(self._entropies[row][:tokens]))
