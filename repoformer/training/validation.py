"""Validation on repositories that training never sees: both losses, and how good the decisions are."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from tqdm import tqdm

from repoformer.code.records import Example, Kind
from repoformer.code.storage import read_json, write_json
from repoformer.metrics.decisions import (
    CalibrationBin,
    auroc,
    average_precision,
    calibration,
    calibration_error,
    f1,
)
from repoformer.training.losses import LossModel, LossWeights, loss_sums
from repoformer.training.micro_batch import pack
from repoformer.training.recipe import TrainRecipe
from repoformer.training.sequence import Verbaliser
from repoformer.training.thresholds import choose_thresholds

HISTOGRAM_BINS = 20


@dataclass(frozen=True, slots=True)
class ValidationDecision:
    """One validation example's decision: what the label says, and P(<cc>) by the model."""

    id: str
    repository: str
    kind: Kind
    gain: float
    wants_context: bool
    p_retrieve: float


@dataclass(frozen=True, slots=True)
class Validation:
    """What one validation found; None for what cannot be measured, with the reason in ``not_measured``."""

    step: int
    examples: int
    loss: float
    L_gen: float
    L_eval: float | None
    positives: float | None
    """Share of the examples that want context."""
    auroc: float | None
    average_precision: float | None
    f1: float | None
    """At the chosen thresholds."""
    calibration_error: float | None
    calibration: list[CalibrationBin]
    """How probable the model found it that context helps, and how often it did, by tenths of P(<cc>)."""
    histograms: dict[str, list[int]]
    """P(<cc>) of the examples that want context and of those that do not: counts by twentieths of [0, 1].
    Empty without decisions."""
    not_measured: dict[str, str]
    thresholds: dict[Kind, float]
    """By kind of blank, see :mod:`repoformer.training.thresholds`; empty without decisions."""
    decisions: tuple[ValidationDecision, ...]

    def summary(self) -> dict[str, Any]:
        """All numbers, without the single decisions."""
        return {name: value for name, value in asdict(self).items() if name != "decisions"}

    def save(self, out: Path) -> None:
        """Keep it in the run's folder."""
        write_json(_path(out, self.step), asdict(self))


def saved_validation(out: Path, step: int) -> Validation | None:
    """The validation of ``step``; None if there was none."""
    if not _path(out, step).exists():
        return None
    values = read_json(_path(out, step))
    read = {
        "calibration": [CalibrationBin(**one) for one in values["calibration"]],
        "decisions": tuple(ValidationDecision(**one) for one in values["decisions"]),
    }
    return Validation(**{**values, **read})


class Validator:
    """Validates a model on the same examples each time, each process on its share of them."""

    def __init__(
        self,
        accelerator: Accelerator,
        loss_model: LossModel,
        verbalise: Verbaliser,
        examples: Sequence[Example],
        recipe: TrainRecipe,
    ) -> None:
        self.accelerator = accelerator
        self.loss_model = loss_model
        self.verbalise = verbalise
        self.examples = examples
        self.recipe = recipe

    def validate(self, step: int) -> Validation:
        """Both losses over all examples, as in training but on the model without dropout.

        An error in one process is raised in all, so none waits for what will not come.
        """
        try:
            part: list[Any] = [self._measure()]
        except Exception:
            part = [traceback.format_exc()]
        parts = gather_object(part)
        errors = [part for part in parts if isinstance(part, str)]
        if errors:
            raise RuntimeError(errors[0])
        generation = sum(part[0] for part in parts)
        decision = sum(part[1] for part in parts)
        p_retrieve = {place: p for part in parts for place, p in part[2].items()}
        return self._summarise(step, generation, decision, p_retrieve)

    @torch.no_grad()
    def _measure(self) -> tuple[float, float, dict[int, float]]:
        """Sums of both losses, and P(<cc>) by position of the example, over this process's share."""
        accelerator, size = self.accelerator, self.recipe.micro_batch
        order = sorted(range(len(self.examples)), key=lambda place: -len(self.verbalise(self.examples[place]).ids))
        micro_batches = [order[start : start + size] for start in range(0, len(order), size)]
        mine = shares(micro_batches, accelerator.num_processes)[accelerator.process_index]
        generation_sum = decision_sum = 0.0
        p_retrieve: dict[int, float] = {}
        self.loss_model.eval()
        for places, counts in tqdm(
            mine, desc="validate", leave=False, delay=2, disable=not accelerator.is_main_process
        ):
            sequences = [self.verbalise(self.examples[place]) for place in places]
            batch = pack(sequences, self.recipe.positive_weight).to(accelerator.device)
            losses = self.loss_model(batch)
            if not counts:
                continue
            generation, decision = loss_sums(losses, batch)
            generation_sum += float(generation)
            decision_sum += float(decision)
            if self.verbalise.objective.decides:
                p_retrieve.update(zip(places, losses.p_retrieve.tolist(), strict=True))
        return generation_sum, decision_sum, p_retrieve

    def _summarise(self, step: int, generation: float, decision: float, p_retrieve: dict[int, float]) -> Validation:
        recipe = self.recipe
        sequences = [self.verbalise(example) for example in self.examples]
        weights = LossWeights.of(self.verbalise.objective, sequences, recipe.lambda_, recipe.positive_weight)
        decisions = tuple(
            ValidationDecision(one.id, one.repository, one.kind, one.gain, self.verbalise.wants_context(one), p)
            for one, p in ((self.examples[place], p_retrieve[place]) for place in sorted(p_retrieve))
        )
        p = [one.p_retrieve for one in decisions]
        wants = [one.wants_context for one in decisions]
        thresholds = choose_thresholds([one.kind for one in decisions], p, [one.gain for one in decisions])
        bins = calibration(wants, p)
        measures = {
            "auroc": auroc(wants, p),
            "average_precision": average_precision(wants, p),
            "f1": f1(wants, [one.p_retrieve > thresholds[one.kind] for one in decisions]),
            "calibration_error": calibration_error(bins),
        }
        losses = weights.means(generation, decision)
        return Validation(
            step=step,
            examples=len(self.examples),
            loss=losses.loss,
            L_gen=losses.L_gen,
            L_eval=losses.L_eval,
            positives=sum(wants) / len(wants) if wants else None,
            auroc=measures["auroc"].value,
            average_precision=measures["average_precision"].value,
            f1=measures["f1"].value,
            calibration_error=measures["calibration_error"].value,
            calibration=bins,
            histograms=_histograms(wants, p) if decisions else {},
            not_measured={name: measure.reason for name, measure in measures.items() if measure.value is None},
            thresholds=thresholds,
            decisions=decisions,
        )


def shares(micro_batches: Sequence[list[int]], processes: int) -> list[list[tuple[list[int], bool]]]:
    """Micro-batches by process, and whether each counts: equally many for all, the missing ones repeated for nothing.

    Where weights are sharded, all processes gather them in each forward pass: one that ran fewer would leave the others
    waiting.
    """
    rounds = -(-len(micro_batches) // processes)
    counting = [[(one, True) for one in micro_batches[process::processes]] for process in range(processes)]
    return [share + [(micro_batches[-1], False)] * (rounds - len(share)) for share in counting]


def _histograms(wants_context: Sequence[bool], p: Sequence[float]) -> dict[str, list[int]]:
    wants = np.asarray(wants_context)
    return {
        label: np.histogram(np.asarray(p)[among], HISTOGRAM_BINS, (0.0, 1.0))[0].tolist()
        for label, among in (("wants context", wants), ("does not", ~wants))
    }


def _path(out: Path, step: int) -> Path:
    return out / "validation" / f"step-{step:08d}.json"
