"""Causal attention within each sequence of a packed row, for every model that has exchangeable attention.

A row is attended to sequence by sequence, so no token can see another sequence, no mask is built, and no work goes into
what a block mask would hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from repoformer.errors import UserError

NAME = "repoformer_packed"


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packed_lengths: Sequence[int] | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """``query`` is [1, heads, tokens, width]; key and value may have fewer heads. Returns [1, tokens, heads, width]."""
    if packed_lengths is None:
        raise RuntimeError("the model does not hand packed_lengths to its attention: sequences would see each other")
    if softcap is not None or (sliding_window is not None and sliding_window < max(packed_lengths)):
        raise RuntimeError("attention with a soft cap, or a window shorter than a sequence, is not that of this model")
    lengths = list(packed_lengths)
    parts = zip(query.split(lengths, 2), key.split(lengths, 2), value.split(lengths, 2), strict=True)
    attended = [
        scaled_dot_product_attention(
            q, k, v, dropout_p=dropout, scale=scaling, is_causal=True, enable_gqa=q.shape[1] != k.shape[1]
        )
        for q, k, v in parts
    ]
    return torch.cat(attended, 2).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, packed_attention)


@contextmanager
def attending_packed(model: Any) -> Iterator[None]:
    """Within the block ``model`` reads packed rows; afterwards it has its own attention again."""
    own = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    if model.config._attn_implementation != NAME:
        raise UserError(
            f"model of type {type(model).__name__} does not let its attention be exchanged, which packed training "
            "needs; choose a model of another family"
        )
    try:
        yield
    finally:
        model.set_attn_implementation(own)
