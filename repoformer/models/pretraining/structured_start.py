"""Start weights with which a small model copies from its context after dozens of steps instead of many thousands.

A transformer copies through two heads in a row (Olsson et al. 2022, "In-context learning and induction heads"): one in
the first layer that brings the previous token's identity to each position, and one in the second that looks for places
*after* the current token and copies what stands there. From random weights they appear, if at all, in a sudden phase
change that a CPU budget does not reach. As mimetic initialisation does (Trockman and Kolter 2023), this starts with the
weights near that solution; nothing is frozen, and training decides what becomes of it.

The residual stream is divided at the start, softly: most of its dimensions hold the token, one head's worth
(``scratch``) receives the previous token's identity, and the last ``position`` dimensions hold sinusoids of the
position, in which "one position earlier" is a rotation. GPTBigCode's heads share one key and one value head, so the
first layer's keys are positions and its other query heads may learn other distances.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

_EMBEDDING_STD = 0.05
_POSITION_DIMENSIONS = 32
_FREQUENCIES = (2.5, 1.0 / 300.0)
"""Highest and lowest, in radians per position: neighbours must differ clearly, positions 1,000 apart still."""
_POSITION_GAIN = 1.3
_MATCH_GAIN = 1.7
_COPY_GAIN = 0.4
_LEAK = 0.1
"""How much of a token's random embedding remains outside of its own dimensions."""


@torch.no_grad()
def structured_start(model: Any, seed: int) -> None:
    """Write the two heads into a freshly initialised multi-query ``GPTBigCodeForCausalLM``, in place."""
    config = model.config
    assert config.multi_query
    assert config.n_layer >= 2
    width, head = config.n_embd, config.n_embd // config.n_head
    content = width - head - _POSITION_DIMENSIONS
    scratch = slice(content, content + head)
    random = torch.Generator().manual_seed(seed)
    match, copy = (torch.linalg.qr(torch.randn(content, content, generator=random))[0][:head] for _ in range(2))

    _embeddings(model, content)
    first, second = (model.transformer.h[layer].attn for layer in range(2))
    token_norm = _EMBEDDING_STD * math.sqrt(content)

    query, key, value, output = _first_head(first, head)
    query.copy_(_POSITION_GAIN * _shift_by_one(head, width))
    key.copy_(_POSITION_GAIN * _positions_only(head, width))
    value.zero_()[:, :content] = match
    # What arrives should be as long as the token itself: layer norm makes each of three equal parts sqrt(width / 3).
    output.zero_()[scratch] = torch.eye(head) * token_norm / (math.sqrt(width / 3) * math.sqrt(head / content))

    query, key, value, output = _first_head(second, head)
    query.zero_()[:, :content] = _MATCH_GAIN * match
    key.zero_()[:, scratch] = _MATCH_GAIN * torch.eye(head)
    value.zero_()[:, :content] = copy
    output.zero_()[:content] = _COPY_GAIN * copy.T


def _embeddings(model: Any, content: int) -> None:
    tokens, positions = model.transformer.wte.weight, model.transformer.wpe.weight
    tokens.mul_(_EMBEDDING_STD / tokens.std())
    tokens[:, content:] *= _LEAK
    waves = _angles(len(positions))
    amplitude = _EMBEDDING_STD * math.sqrt(content) / math.sqrt(_POSITION_DIMENSIONS / 2)
    positions.mul_(0.02)
    positions[:, -_POSITION_DIMENSIONS:] = amplitude * torch.cat([waves.sin(), waves.cos()], dim=1)


def _frequencies() -> Tensor:
    highest, lowest = _FREQUENCIES
    steps = torch.arange(_POSITION_DIMENSIONS // 2) / (_POSITION_DIMENSIONS // 2 - 1)
    return highest * (lowest / highest) ** steps


def _angles(positions: int) -> Tensor:
    return torch.arange(positions)[:, None] * _frequencies()


def _positions_only(head: int, width: int) -> Tensor:
    """[head, width]: the position dimensions, in the head's first dimensions."""
    selected = torch.zeros(head, width)
    selected[:_POSITION_DIMENSIONS, width - _POSITION_DIMENSIONS :] = torch.eye(_POSITION_DIMENSIONS)
    return selected


def _shift_by_one(head: int, width: int) -> Tensor:
    """[head, width]: the position dimensions, turned back by one position."""
    waves = _frequencies()
    cosine, sine = torch.diag(waves.cos()), torch.diag(waves.sin())
    turn = torch.cat([torch.cat([cosine, -sine], dim=1), torch.cat([sine, cosine], dim=1)])
    return _positions_only(head, width)[:, width - _POSITION_DIMENSIONS :] @ torch.cat(
        [torch.zeros(_POSITION_DIMENSIONS, width - _POSITION_DIMENSIONS), turn], dim=1
    )


def _first_head(attention: Any, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of query, key, value and output weights of the first query head of a multi-query attention."""
    weight, width = attention.c_attn.weight, attention.embed_dim
    return weight[:head], weight[width : width + head], weight[width + head :], attention.c_proj.weight[:, :head]
