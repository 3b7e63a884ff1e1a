"""Sequences of one forward pass in one row, end to end: nothing is padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch

from repoformer.training.sequence import TrainingSequence


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Packed sequences, and the places in them that carry a loss.

    ``tokens`` and ``positions`` are [1, tokens]; positions start anew in each sequence. ``*_at`` are the places that
    predict, in the row: always one before the predicted token. Nothing else ever meets the head.
    """

    tokens: torch.Tensor
    positions: torch.Tensor
    lengths: list[int]
    target_at: torch.Tensor
    """[targets]"""
    target: torch.Tensor
    """[targets]"""
    decision_at: torch.Tensor
    """[decisions]: one for each sequence, or none at all."""
    decision: torch.Tensor
    """[decisions]"""
    decision_weight: torch.Tensor
    """[decisions]: within L_eval."""

    def to(self, device: torch.device) -> MicroBatch:
        """The same on another device."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "lengths"}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


def pack(sequences: Sequence[TrainingSequence], positive_weight: float = 1.0) -> MicroBatch:
    """Put sequences end to end."""
    tokens: list[int] = []
    positions: list[int] = []
    target_at: list[int] = []
    target: list[int] = []
    decision_at: list[int] = []
    decision: list[int] = []
    for sequence in sequences:
        start = len(tokens)
        tokens += sequence.ids
        positions += range(len(sequence.ids))
        target_at += range(start + sequence.target_start - 1, len(tokens) - 1)
        target += sequence.targets
        if sequence.decision >= 0:
            decision_at.append(start + sequence.decision - 1)
            decision.append(sequence.ids[sequence.decision])
    deciding = [sequence for sequence in sequences if sequence.decision >= 0]
    return MicroBatch(
        tokens=torch.tensor([tokens]),
        positions=torch.tensor([positions]),
        lengths=[len(sequence.ids) for sequence in sequences],
        target_at=torch.tensor(target_at, dtype=torch.long),
        target=torch.tensor(target, dtype=torch.long),
        decision_at=torch.tensor(decision_at, dtype=torch.long),
        decision=torch.tensor(decision, dtype=torch.long),
        decision_weight=torch.tensor([decision_weight(one, positive_weight) for one in deciding]),
    )


def decision_weight(sequence: TrainingSequence, positive_weight: float) -> float:
    """Weight of a sequence's decision within L_eval."""
    return positive_weight if sequence.wants_context else 1.0
