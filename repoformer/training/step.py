"""One optimiser step: the same update for any number of processes and of micro-batches."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType

from repoformer.code.records import Example
from repoformer.errors import UserError
from repoformer.seeding import stable_hash
from repoformer.training.examples import without_right_context
from repoformer.training.losses import LossModel, LossWeights, loss_sums
from repoformer.training.micro_batch import pack
from repoformer.training.order import DataOrder, deal
from repoformer.training.recipe import TrainRecipe
from repoformer.training.sequence import TrainingSequence, Verbaliser


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one step did, over all processes."""

    loss: float
    L_gen: float
    L_eval: float | None
    learning_rate: float
    gradient_norm: float
    """Before clipping."""
    tokens: int
    tokens_per_second: float
    padding_avoided: float
    """Share of padding there would be in rows as long as the longest sequence of their micro-batch; packed, none is."""
    waiting: float
    """Share of the forward passes' time that processes wait for the one with most tokens; nothing is padding."""


def learning_rate(step: int, steps: int, recipe: TrainRecipe) -> float:
    """The rate of the ``step``-th of ``steps`` steps, counted from 1: linear warm-up, then linear towards zero."""
    peak = max(recipe.warmup_steps, 1)
    if step <= peak:
        return recipe.learning_rate * step / peak
    return recipe.learning_rate * (steps - step + 1) / (steps - peak + 1)


def build_optimizer(model: torch.nn.Module, recipe: TrainRecipe) -> torch.optim.AdamW:
    """AdamW that decays matrices but not biases and normalisation weights."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [one for one in parameters if one.dim() >= 2], "weight_decay": recipe.weight_decay},
        {"params": [one for one in parameters if one.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)


class Stepper:
    """Takes optimiser steps on ``examples`` in ``order``."""

    def __init__(
        self,
        accelerator: Accelerator,
        loss_model: LossModel,
        optimizer: torch.optim.Optimizer,
        verbalise: Verbaliser,
        examples: Sequence[Example],
        order: DataOrder,
        recipe: TrainRecipe,
    ) -> None:
        self.accelerator = accelerator
        self.loss_model = loss_model
        self.optimizer = optimizer
        self.verbalise = verbalise
        self.examples = examples
        self.order = order
        self.recipe = recipe

    def step(self, number: int) -> StepReport:
        """The ``number``-th step, counted from 1; a loss or gradient that is not finite stops it before the update."""
        started = time.perf_counter()
        accelerator, recipe = self.accelerator, self.recipe
        sequences = self._sequences(number)
        lengths = [len(sequence.ids) for sequence in sequences]
        micro_batches = deal(sequences, lengths, hands=len(sequences) // recipe.micro_batch)
        mine = micro_batches[accelerator.process_index :: accelerator.num_processes]
        weights = LossWeights.of(self.verbalise.objective, sequences, recipe.lambda_, recipe.positive_weight)
        # Processes average their gradients and accelerate divides by the number of micro-batches; both are undone here.
        scale = accelerator.num_processes * len(mine)

        # Dropout follows from seed and step alone, so a resumed run draws what the uninterrupted one draws.
        torch.manual_seed(stable_hash(recipe.seed, "dropout", number, accelerator.process_index) % 2**63)
        rate = learning_rate(number, self.order.steps, recipe)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

        self.loss_model.train()
        sums = []
        for members in mine:
            batch = pack(members, recipe.positive_weight).to(accelerator.device)
            with accelerator.accumulate(self.loss_model):
                generation, decision = loss_sums(self.loss_model(batch), batch)
                sums.append(torch.stack([generation, decision]).detach())
                if len(sums) == len(mine):  # before the last backward pass, because DeepSpeed makes the update in it
                    every_sum = accelerator.gather(torch.stack(sums)).view(accelerator.num_processes, len(mine), 2)
                    self._check_losses(number, every_sum, micro_batches)
                accelerator.backward(scale * weights.loss(generation, decision))
        norm = float(accelerator.clip_grad_norm_(self.loss_model.parameters(), recipe.clip_norm))
        self._check_gradient(number, norm, sequences)
        self.optimizer.step()
        self.optimizer.zero_grad()

        seconds = time.perf_counter() - started
        generation_sum, decision_sum = every_sum.float().sum((0, 1)).tolist()
        return StepReport(
            **weights.means(generation_sum, decision_sum)._asdict(),
            learning_rate=rate,
            gradient_norm=norm,
            tokens=sum(lengths),
            tokens_per_second=round(sum(lengths) / seconds, 1),
            padding_avoided=_padding(micro_batches),
            waiting=_waiting(micro_batches, accelerator.num_processes),
        )

    def _sequences(self, number: int) -> list[TrainingSequence]:
        share, seed = self.recipe.without_right_context, self.recipe.seed
        batch = [self.examples[place] for place in self.order.batch(number - 1)]
        return [self.verbalise(without_right_context(example, share, seed)) for example in batch]

    def _check_losses(
        self, number: int, sums: torch.Tensor, micro_batches: Sequence[Sequence[TrainingSequence]]
    ) -> None:
        """``sums`` is [processes, micro-batches of each, 2]; every process sees the same and raises the same."""
        finite = sums.isfinite().all(-1).transpose(0, 1).flatten().tolist()
        culprits = [batch for batch, fine in zip(micro_batches, finite, strict=True) if not fine]
        if culprits:
            raise _not_finite(number, "loss", [sequence for batch in culprits for sequence in batch], "was not made")

    def _check_gradient(self, number: int, norm: float, sequences: Sequence[TrainingSequence]) -> None:
        if not math.isfinite(norm):
            deepspeed = self.accelerator.distributed_type is DistributedType.DEEPSPEED
            update = "was made, and goes with this run: its checkpoints are older" if deepspeed else "was not made"
            raise _not_finite(number, "gradient", sequences, update)


def _not_finite(number: int, what: str, sequences: Sequence[TrainingSequence], update: str) -> UserError:
    ids = [sequence.example for sequence in sequences]
    more = f" and {len(ids) - 16} more" if len(ids) > 16 else ""
    return UserError(
        f"step {number}: the {what} is not finite, in {', '.join(ids[:16])}{more}; the update {update}: "
        "lower learning_rate, or look at these examples"
    )


def _padding(micro_batches: Sequence[Sequence[TrainingSequence]]) -> float:
    lengths = [[len(sequence.ids) for sequence in batch] for batch in micro_batches]
    return round(1 - sum(map(sum, lengths)) / sum(max(one) * len(one) for one in lengths), 4)


def _waiting(micro_batches: Sequence[Sequence[TrainingSequence]], processes: int) -> float:
    tokens = [sum(len(sequence.ids) for sequence in batch) for batch in micro_batches]
    rounds = [tokens[start : start + processes] for start in range(0, len(tokens), processes)]
    return round(1 - sum(tokens) / sum(max(one) * processes for one in rounds), 4)
