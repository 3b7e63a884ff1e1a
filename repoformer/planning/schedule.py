"""How long a run is: steps, tokens, and hours on known GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from repoformer.code.records import Example
from repoformer.code.storage import read_parquet
from repoformer.planning.architectures import Architecture
from repoformer.prompt.budgets import TrainingBudgets
from repoformer.training.order import DataOrder
from repoformer.training.recipe import TrainRecipe

PAPER_EXAMPLES = 350_000
"""Appendix D: 240,000 chunk and 120,000 function blanks of 18,000 repositories, 500 of which are held out."""

PEAK_TFLOPS = {"A100": 312, "H100": 989, "H200": 989, "L40S": 362}
"""Dense bfloat16, by the maker's data sheets."""

UTILISATION = (0.20, 0.45)
"""Share of the peak that training reaches; the paper's own times (section 3.3) come to 0.19, 0.32, 0.48 and 0.40."""


@dataclass(frozen=True, slots=True)
class Examples:
    """How many training examples there are, and how long they are."""

    number: int
    mean: float
    """Tokens of one example."""
    longest: int
    longest_target: int
    origin: str


def examples_of(recipe: TrainRecipe, budgets: TrainingBudgets, assumed: int | None) -> Examples:
    """Counted where the data are there already; else ``assumed`` many, or the paper's, each as long as its budget."""
    folder = Path(recipe.data) / "train"
    if assumed is None and any(folder.glob("part-*.parquet")):
        lengths, targets = [], []
        for example in tqdm(read_parquet(Example, folder), desc="read examples", unit="example", delay=2):
            context = len(example.cross_file) if example.gain > recipe.label_threshold else 0
            lengths.append(len(example.left) + len(example.right) + context + len(example.target) + 6)
            targets.append(len(example.target) + 1)
        if lengths:
            return Examples(len(lengths), sum(lengths) / len(lengths), max(lengths), max(targets), f"in {folder}")
    origin = "assumed" if assumed else f"assumed as in the paper, there are none in {folder}"
    return Examples(assumed or PAPER_EXAMPLES, budgets.total, budgets.total, budgets.target, origin)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps, tokens and arithmetic of a whole run."""

    steps: int
    left_over: int
    tokens: float
    flops: float

    def hours(self, gpus: int, kind: str, utilisation: float) -> float:
        """Hours on ``gpus`` GPUs of a kind at this share of their peak."""
        return self.flops / (gpus * PEAK_TFLOPS[kind] * 1e12 * utilisation) / 3600


def schedule(shape: Architecture, recipe: TrainRecipe, examples: Examples) -> Schedule:
    """The run of this recipe on these examples; raises UserError where they do not make one batch."""
    order = DataOrder(examples.number, recipe.batch, recipe.epochs, recipe.seed)
    tokens = order.steps * recipe.batch * examples.mean
    # Forward 2 operations for each parameter and token, backward 4 (2 where weights are frozen), recomputing 2 more.
    passes = 2 + (2 if recipe.lora else 4) + (2 if recipe.activation_checkpointing else 0)
    attention = shape.layers * shape.width * examples.mean  # half of what is not causal
    return Schedule(order.steps, order.left_over, tokens, tokens * passes * (shape.parameters + attention))
