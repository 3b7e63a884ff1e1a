"""What a forward pass keeps for its backward pass, counted on tensors that have shapes but no data."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AttentionInterface

from repoformer.planning.architectures import Architecture

_ATTENTION = "repoformer_counted"

_TOKENS = 1009  # a prime that divides no width: what has such a dimension has one entry for each token


@dataclass(frozen=True, slots=True)
class SavedPerToken:
    """Bytes that are kept for each token of a forward pass."""

    layer: float
    """In one transformer block."""
    outside: float
    """Before the first and after the last block."""
    stream: int
    """The residual stream between two blocks: all that activation checkpointing keeps of a block."""

    def total(self, layers: int, checkpointing: bool) -> float:
        """Bytes for each token at the peak; with checkpointing the block that is being recomputed stands beside."""
        if checkpointing:
            return self.outside + layers * self.stream + self.layer
        return self.outside + layers * self.layer


@cache
def saved_per_token(shape: Architecture, *, dropout: float, half: bool, autocast: bool) -> SavedPerToken:
    """Count what one and two blocks save. ``half`` is bfloat16, by ``autocast`` over float32 weights or in whole."""
    one, two = (_saved(shape, layers, dropout, half, autocast) / _TOKENS for layers in (1, 2))
    return SavedPerToken(two - one, 2 * one - two, shape.width * (2 if half and not autocast else 4))


class _Attention(torch.autograd.Function):
    """Keeps what fused attention keeps: query, key, value, output, and one number for each query and head."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        output = query.new_empty(query.shape)
        ctx.save_for_backward(query, key, value, output, query.new_empty(query.shape[:-1], dtype=torch.float32))
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        query, key, value, *_ = ctx.saved_tensors
        return query, key, value


def _attention(_: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *__: Any, **___: Any) -> Any:
    return _Attention.apply(query, key, value).transpose(1, 2).contiguous(), None


AttentionInterface.register(_ATTENTION, _attention)


def _saved(shape: Architecture, layers: int, dropout: float, half: bool, autocast: bool) -> int:
    from repoformer.training.start import set_dropout

    kept: dict[int, torch.UntypedStorage] = {}  # by identity, alive so that no identity is given twice

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if any(size and size % _TOKENS == 0 for size in tensor.shape):  # not the weights, nor their casts
            storage = tensor.untyped_storage()
            kept[storage._cdata] = storage
        return tensor

    whole = half and not autocast
    casting = torch.autocast("cpu", torch.bfloat16, cache_enabled=False) if half and autocast else nullcontext()
    with FakeTensorMode():
        model = shape.build(layers, torch.bfloat16 if whole else torch.float32, "cpu").train()
        model.set_attn_implementation(_ATTENTION)
        set_dropout(model, dropout)
        row = torch.zeros(1, _TOKENS, dtype=torch.long)
        with casting, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            model.base_model(input_ids=row, position_ids=row, use_cache=False)
    return sum(storage.nbytes() for storage in kept.values())
