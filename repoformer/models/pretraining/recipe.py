"""What a pretraining run is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from repoformer.code.sources.manifest import Use
from repoformer.config import Section
from repoformer.prompt.budgets import COMPLETION


class Architecture(Section):
    """Size of a ``GPTBigCodeForCausalLM``."""

    vocabulary: int = Field(default=2048, ge=512, le=65_535)
    """Entries of the byte-level BPE, StarCoder's control tokens among them."""
    width: int = Field(default=192, ge=128)
    layers: int = Field(default=4, ge=2)
    heads: int = Field(default=3, ge=1)
    positions: int = Field(default=1024, ge=128)
    structured_start: bool = True
    """Start with a previous-token head and an induction head in place (see ``structured_start.py``)."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}; change one of them")
        head = self.width // self.heads
        if self.structured_start and not 32 <= head <= (self.width - 32) // 2:
            raise ValueError(
                f"a structured start needs heads of 32 to {(self.width - 32) // 2} dimensions, not {head}; change heads"
            )
        return self


class Documents(Section):
    """How repositories become token ids."""

    tokenizer_megabytes: float = Field(default=12.0, gt=0)
    """At most this much text, drawn from all repositories, trains the tokenizer."""
    most_file_tokens: int = Field(default=8192, ge=256)
    """Longer files are cut here."""
    chunks_per_repository: int = Field(default=200, ge=1)
    functions_per_repository: int = Field(default=100, ge=1)
    draws: int = Field(default=1, ge=1)
    """How often blanks are drawn from each repository, each time with another seed."""
    top: int = Field(default=3, ge=1)
    """Cross-file chunks per blank."""
    query_holds_target: float = Field(default=0.5, ge=0, le=1)
    """Share of the queries that also hold the target."""


class Mixture(Section):
    """Shares of the rows by what they start with; the rest of a row is filled with parts of plain files."""

    plain: float = Field(default=0.25, ge=0)
    infill: float = Field(default=0.2, ge=0)
    """Fill-in-the-middle from the file alone."""
    infill_with_context: float = Field(default=0.45, ge=0)
    """Fill-in-the-middle with cross-file context in the ``base`` prompt."""
    twins: float = Field(default=0.0, ge=0)
    """The same with the blank's own lines, changed a little, written into the context (see ``twins.py``)."""
    copies: float = Field(default=0.1, ge=0)
    """A span of code that comes again after some other code, half of them in comments the first time."""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not any(self.model_dump().values()):
            raise ValueError("mixture is empty; give at least one kind of rows a share")
        return self


class Phase(Section):
    """A stretch of the run at one sequence length."""

    until: float = Field(gt=0, le=1)
    """Share of the run at which this phase ends."""
    length: int = Field(ge=64)
    rows: int = Field(ge=1)
    """Sequences per optimiser step."""
    mixture: Mixture = Mixture()


class Optimiser(Section):
    """AdamW: warm-up, constant, then linear decay to a tenth."""

    learning_rate: float = Field(default=2.0e-3, gt=0)
    warmup_steps: int = Field(default=50, ge=0)
    decay_from: float = Field(default=0.7, ge=0, le=1)
    """Share of the run from which the learning rate falls."""
    beta2: float = Field(default=0.95, gt=0, lt=1)
    weight_decay: float = Field(default=0.1, ge=0)
    clip_norm: float = Field(default=1.0, gt=0)


class Probes(Section):
    """What is measured now and then, on held-out repositories where there are any."""

    every_seconds: float = Field(default=300.0, gt=0)
    blanks: int = Field(default=96, ge=0)
    """Held-out blanks whose target's likelihood is measured, with and without context."""
    completed: int = Field(default=48, ge=0)
    """How many of them are completed greedily as well."""


class PretrainRecipe(Section):
    """One run, from repositories to an exported model."""

    seed: int = 0
    minutes: float | None = Field(default=None, gt=0)
    """Time for optimiser steps, over all resumptions; probes and saving do not count."""
    steps: int | None = Field(default=None, gt=0)
    """Number of optimiser steps. With both limits the one that is reached first counts."""
    model: Architecture = Architecture()
    start_from: str | None = None
    """A model of the same shape and tokenizer, ``pocket`` or a folder, whose weights a new run starts with."""
    documents: Documents = Documents()
    target_weight: float = Field(default=3.0, gt=0)
    """Weight of a target token's loss; every other token has weight one."""
    phases: list[Phase] = Field(
        default=[Phase(until=0.7, length=256, rows=8), Phase(until=1.0, length=1024, rows=2)], min_length=1
    )
    optimiser: Optimiser = Optimiser()
    probes: Probes = Probes()
    save_seconds: float = Field(default=60.0, gt=0)
    device: Literal["cpu", "cuda"] = "cpu"
    """On a GPU the forward pass runs in bfloat16."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.minutes is None and self.steps is None:
            raise ValueError("no limit; set minutes or steps")
        ends = [phase.until for phase in self.phases]
        if ends != sorted(set(ends)) or ends[-1] != 1.0:
            raise ValueError(f"phases must end in rising order, the last at 1.0, not at {ends}; change phases.*.until")
        longest = max(phase.length for phase in self.phases)
        if longest > self.model.positions:
            raise ValueError(f"a phase of length {longest} needs model.positions >= {longest}")
        needed = COMPLETION["pocket"].prompt + COMPLETION["pocket"].new_tokens_function
        if self.model.positions < needed:
            raise ValueError(f"model.positions must be at least {needed}, what a pocket prompt and its completion need")
        return self

    def phase(self, progress: float) -> Phase:
        """The phase at this share of the run."""
        return next((phase for phase in self.phases if progress < phase.until), self.phases[-1])

    def learning_rate(self, step: int, progress: float) -> float:
        """Warm-up by steps, constant, then linear decay by progress."""
        optimiser = self.optimiser
        warm = min(1.0, (step + 1) / max(1, optimiser.warmup_steps))
        left = (1.0 - progress) / max(1e-9, 1.0 - optimiser.decay_from)
        return optimiser.learning_rate * warm * (0.1 + 0.9 * min(1.0, max(0.0, left)))


class PocketRecipe(Section):
    """Everything about the pocket model: where its corpus is named, where it is made, how it is trained."""

    corpus: Path
    """Manifest of packages."""
    out: Path
    data: Path | None = None
    """Tokenizer and token file, made by ``prepare``; ``out/data`` where nothing else is named. A run that goes on from
    another one's weights names that one's."""
    measured: str = "pocket"
    """The model that the step ``measure`` looks at: ``pocket`` or a folder."""
    measured_on: Annotated[list[Use], Field(min_length=1)] = ["probe"]
    """The packages that it is measured on, by their use."""
    pretrain: PretrainRecipe

    @property
    def data_dir(self) -> Path:
        """Where tokenizer and token file are."""
        return self.data or self.out / "data"
