"""The self-assessment: how likely the model asks for cross-file context, read after ``<eof>``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from repoformer.inference.cached_pass import CachedPass
from repoformer.prompt.builder import PromptBuilder


@dataclass(frozen=True, slots=True)
class Decision:
    """P(``<cc>``) by the softmax over the full vocabulary, and whether ``<cc>`` is the most likely token."""

    p_retrieve: float
    greedy: bool


def read_decisions(next_logits: torch.Tensor, builder: PromptBuilder) -> list[Decision | None]:
    """One decision per row of ``next_logits`` [rows, vocabulary] after the in-file part; None in the base style."""
    if builder.style == "base":
        return [None] * len(next_logits)
    p_retrieve = next_logits.softmax(dim=-1)[:, builder.retrieve_id].tolist()
    greedy = (next_logits.argmax(dim=-1) == builder.retrieve_id).tolist()
    return [Decision(p, g) for p, g in zip(p_retrieve, greedy, strict=True)]


def read_branch(read: CachedPass, builder: PromptBuilder, branches: Sequence[Sequence[int]]) -> None:
    """Read on along the branch that was decided for, one per row and all of the same kind.

    In the style of ablation A4 the branch without context holds no token of its own: it is whatever is not ``<cc>``.
    """
    if all(branches):
        read.append(branches)
    else:
        retrieve = torch.tensor([builder.retrieve_id], device=read.next_logits.device)
        read.next_logits = read.next_logits.index_fill(1, retrieve, float("-inf"))
