"""The two tokens of self-selection, ``<cc>`` and ``<eof>``: the only ones that fine-tuning adds to a base model."""

from __future__ import annotations

from typing import Any

import torch

from repoformer.prompt.dialects import END_OF_FILE_CONTEXT, RETRIEVE
from repoformer.seeding import stable_hash

SELECTION_TOKENS = (RETRIEVE, END_OF_FILE_CONTEXT)

_NOISE = 0.1
"""Spread of a new row around the mean of the old ones, as a share of theirs."""


def add_selection_tokens(model: Any, tokenizer: Any, seed: int = 0) -> list[int]:
    """Add the tokens to ``tokenizer`` and a row for each to ``model``, in place; returns the ids that are new.

    New rows are the old rows' mean plus a tenth of their spread: at the mean, a new token is about as likely as the
    average one whatever the context, so fine-tuning does not start by unlearning it, and the noise tells the two apart.
    Does nothing to a model that has them, so fine-tuning can go on from a fine-tuned model.
    """
    vocabulary = tokenizer.get_vocab()
    tokenizer.add_tokens([token for token in SELECTION_TOKENS if token not in vocabulary], special_tokens=True)
    rows = model.get_input_embeddings().weight.shape[0]
    ids = tokenizer.convert_tokens_to_ids(list(SELECTION_TOKENS))
    new = [
        number for token, number in zip(SELECTION_TOKENS, ids, strict=True) if token not in vocabulary or number >= rows
    ]
    if max(ids) >= rows:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    if new:
        _initialise(model, new, seed)
    return new


@torch.no_grad()
def _initialise(model: Any, new: list[int], seed: int) -> None:
    """Set the rows ``new`` of input and output embeddings after the rows before them, which are real tokens'."""
    matrices = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
    if matrices[0] is matrices[1]:
        matrices = matrices[:1]
    for number, matrix in enumerate(matrices):
        old = matrix[: min(new)].float()
        noise = torch.Generator().manual_seed(stable_hash(seed, "selection tokens", number) % 2**63)
        for token in new:
            drawn = torch.randn(matrix.shape[1], generator=noise).to(matrix.device)
            matrix[token] = (old.mean(0) + _NOISE * old.std(0) * drawn).to(matrix.dtype)
