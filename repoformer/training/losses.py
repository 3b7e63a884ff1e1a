"""The two losses of section 3.3, computed only where they are defined.

L_gen is the cross entropy of the target given what stands before it, L_eval that of the one token after the in-file
context. Left, right and cross-file context and the control tokens are read, never predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from repoformer.errors import UserError
from repoformer.training.micro_batch import MicroBatch, decision_weight, pack
from repoformer.training.objectives import Objective
from repoformer.training.packed_attention import attending_packed
from repoformer.training.sequence import TrainingSequence


class TokenLosses(NamedTuple):
    """Negative log-likelihoods of a micro-batch, before any mean."""

    generation: torch.Tensor
    """[targets]"""
    decision: torch.Tensor
    """[decisions]"""
    p_retrieve: torch.Tensor
    """[decisions]: P(<cc>) by the softmax over the full vocabulary; without gradient."""


class MeanLosses(NamedTuple):
    """The losses of section 3.3 over a step or a validation set."""

    loss: float
    L_gen: float
    L_eval: float | None
    """None for an objective without decisions."""


class LossModel(nn.Module):
    """A causal language model that returns losses: its head runs only at places that carry one."""

    def __init__(self, model: Any, retrieve_id: int) -> None:
        super().__init__()
        self.model = model
        self.retrieve_id = retrieve_id
        self._no_split_modules = getattr(model, "_no_split_modules", None)  # what FSDP shards one by one

    def forward(self, batch: MicroBatch) -> TokenLosses:
        """The losses of one packed micro-batch; the model must be attending packed."""
        hidden = self.model.base_model(
            input_ids=batch.tokens, position_ids=batch.positions, packed_lengths=batch.lengths, use_cache=False
        ).last_hidden_state[0]
        predicting = torch.cat([batch.decision_at, batch.target_at])
        logits = self.model.get_output_embeddings()(hidden[predicting]).float()
        losses = cross_entropy(logits, torch.cat([batch.decision, batch.target]), reduction="none")
        decisions = len(batch.decision)
        p_retrieve = logits[:decisions].detach().softmax(dim=-1)[:, self.retrieve_id]
        return TokenLosses(losses[decisions:], losses[:decisions], p_retrieve)


@dataclass(frozen=True, slots=True)
class LossWeights:
    """What each token's loss counts for in the loss of one optimiser step, over all micro-batches and processes.

    The denominators are the numbers of the whole step, no mean of means: neither how many processes and micro-batches
    there are nor which sequences fall together changes the loss.
    """

    generation: float
    decision: float
    tokens: int
    """Target tokens of the step."""
    decisions: float
    """Decisions of the step, by weight."""

    @classmethod
    def of(
        cls, objective: Objective, sequences: Sequence[TrainingSequence], lambda_: float, positive_weight: float
    ) -> LossWeights:
        """``loss = L_gen + lambda * L_eval``; L_gen is a mean over target tokens, L_eval over instances."""
        tokens = sum(len(sequence.targets) for sequence in sequences)
        decisions = sum(decision_weight(one, positive_weight) for one in sequences if one.decision >= 0)
        if objective.decision == "joint":
            return cls(1 / (tokens + decisions), 1 / (tokens + decisions), tokens, decisions)
        weighs = objective.decision == "weighted" and decisions > 0
        return cls(1 / tokens, lambda_ / decisions if weighs else 0.0, tokens, decisions)

    def loss(self, generation: Any, decision: Any) -> Any:
        """The loss that these sums of token losses contribute."""
        return self.generation * generation + self.decision * decision

    def means(self, generation: float, decision: float) -> MeanLosses:
        """The losses as they are reported, from the sums of the whole step."""
        return MeanLosses(
            loss=self.loss(generation, decision),
            L_gen=generation / self.tokens,
            L_eval=decision / self.decisions if self.decisions else None,
        )


def loss_sums(losses: TokenLosses, batch: MicroBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of a micro-batch: generation, and decisions by their weight."""
    return losses.generation.sum(), (batch.decision_weight * losses.decision).sum()


@torch.no_grad()
def check_model(model: Any, tolerance: float = 1e-3) -> None:
    """Refuse a model whose packed losses would not be those of each sequence alone in its own forward pass.

    That is so for models that transform the head's output, or do not hand the sequences' lengths to their attention.
    """
    vocabulary = model.get_output_embeddings().weight.shape[0]
    sequences = [
        TrainingSequence("", tuple((7 * place + start) % vocabulary for place in range(6)), -1, 1, False)
        for start in (1, 3)
    ]
    with attending_packed(model):
        packed = LossModel(model, -1)(pack(sequences).to(model.device)).generation
    for sequence, found in zip(sequences, packed.split([len(one.targets) for one in sequences]), strict=True):
        alone = model(input_ids=torch.tensor([sequence.ids], device=model.device), use_cache=False).logits[0].float()
        expected = cross_entropy(alone[:-1], torch.tensor(sequence.targets, device=model.device), reduction="none")
        if not torch.allclose(found, expected, rtol=tolerance, atol=tolerance):
            raise UserError(
                f"model of type {type(model).__name__}: its losses in a packed row are not those of its own forward "
                f"pass (they differ by {float((found - expected).abs().max()):.2g}); choose a model of another family"
            )
