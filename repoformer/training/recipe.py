"""What a training run is made of: one typed recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from repoformer.config import Section

ObjectiveName = Literal["selective", "fim_only", "no_evaluation", "one_cross_entropy", "context_after_middle"]

Share = Annotated[float, Field(ge=0, le=1)]


class LoraSettings(Section):
    """Low-rank adapters beside frozen weights; the two new tokens' embeddings are trained in full."""

    rank: int = Field(default=16, ge=1)
    alpha: float = Field(default=32, gt=0)
    """An adapter's output is weighed with alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """On what goes into the adapters."""
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """Last parts of the names of the layers that get one; ``all-linear``: every one but the output head."""


class TrainRecipe(Section):
    """Fine-tuning of one model on one set of examples (section 3.3); defaults are the paper's where it says."""

    # Written to run.json and compared on resume under the names that recipes use, so ``lambda``.
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, serialize_by_alias=True
    )

    seed: int = 0
    """Data order, dropout and the new tokens' embeddings all follow from it."""
    model: str
    """Where training starts: a folder, a hub name in the local cache, or ``pocket``."""
    data: Path
    """Folder with ``train/`` and ``validation/``, each of ``part-*.parquet`` files of examples."""
    out: Path
    """Folder of the exported model, and of the run's checkpoints and metrics."""

    objective: ObjectiveName = "selective"
    """``selective``: the paper's. ``fim_only``: the control (A3), no context, no decision. ``no_evaluation`` (A2): no
    L_eval. ``one_cross_entropy`` (A1): decision and target in one mean. ``context_after_middle`` (A4)."""
    lambda_: float = Field(default=1.0, ge=0, alias="lambda")
    """Weight of L_eval: loss = L_gen + lambda * L_eval."""
    positive_weight: float = Field(default=1.0, gt=0)
    """Weight, within L_eval, of instances that want context; those that do not weigh 1."""
    label_threshold: float = Field(default=0.0, ge=-20, le=20)
    """An instance wants context when its gain is greater than this, and it has context. The data recipe's ``label.by``
    says what the gain is in: edit similarity, from -1 to 1, or nats of mean log likelihood per token."""
    train_end_token: bool = True
    """Train the end token after the target. The paper's code does not, so its models run to the token limit."""
    without_right_context: Share = 0.0
    """Share of training examples shown without their right context, so that the model also serves left-only input."""

    epochs: float = Field(default=2, gt=0)
    batch: int = Field(default=512, ge=1)
    """Examples per optimiser step, over all processes."""
    micro_batch: int = Field(default=1, ge=1)
    """Examples per forward pass of one process."""
    processes: int | None = Field(default=None, ge=1)
    """How many processes this run is meant to have; a launch with another number is refused. Null takes any."""
    learning_rate: float = Field(default=2.0e-5, gt=0)
    warmup_steps: int = Field(default=50, ge=0)
    """Linear from zero; then linear to zero at the last step."""
    weight_decay: float = Field(default=0.1, ge=0)
    """Not on biases and normalisation weights."""
    clip_norm: float = Field(default=1.0, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Set everywhere in the model, whatever its own configuration says (GPTBigCode's says 0.1)."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """``bfloat16`` is autocast over float32 weights; for GPUs."""
    activation_checkpointing: bool = False
    """Trade a second forward pass for memory."""
    lora: LoraSettings | None = None
    """Train adapters instead of the weights; the export holds both, merged as a model and the adapters in ``adapter/``.
    Null trains all weights, as the paper does."""

    evaluate_every: int = Field(default=0, ge=0)
    """Steps between validations; 0 validates at the end of each epoch. The last step always does."""
    save_every: int = Field(default=50, ge=1)
    """Steps between checkpoints. There is one before each validation and at the last step in any case."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """Newest checkpoints to keep; the best one is kept beside them."""
    export: Literal["last", "best"] = "last"
    """Which weights become the model: those of the last step, or of the lowest validation loss."""
    wandb: Literal["online", "offline", "off"] = "off"
    """``metrics.jsonl`` is always written."""
    wandb_project: str = "repoformer"

    @field_validator("wandb", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML reads a bare `off` as false

    @model_validator(mode="after")
    def _batch_holds_whole_micro_batches(self) -> TrainRecipe:
        share = self.micro_batch * (self.processes or 1)
        if self.batch % share:
            processes = f" * processes={self.processes}" if self.processes else ""
            raise ValueError(f"batch={self.batch} is not a multiple of micro_batch={self.micro_batch}{processes}")
        return self

    def accumulation(self, processes: int) -> int:
        """Forward passes of each process in one optimiser step."""
        return self.batch // (self.micro_batch * processes)

    def settings(self) -> dict[str, Any]:
        """What decides the outcome: a run is only ever resumed with the same values of these."""
        return self.model_dump(mode="json", exclude=_MAY_CHANGE)


# Where and how often things are written, and how a step is cut up: the same steps come out, up to float sums.
_MAY_CHANGE = {
    "data",  # told apart by content, see examples.fingerprint
    "out",
    "micro_batch",
    "processes",
    "activation_checkpointing",
    "evaluate_every",
    "save_every",
    "keep_checkpoints",
    "wandb",
    "wandb_project",
}
