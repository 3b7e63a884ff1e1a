"""``repoformer.json``: what stands beside a model's weights so that it is used as it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from repoformer.code.storage import read_json, write_text
from repoformer.config import Section, parse_recipe
from repoformer.errors import UserError
from repoformer.prompt.budgets import COMPLETION, TRAINING, Budgets, TrainingBudgets
from repoformer.prompt.builder import Style

FILE_NAME = "repoformer.json"

# Section 4.2, footnote 6: what the paper uses for its own models. A trained model carries thresholds of its own.
PAPER_THRESHOLDS = {"line": 0.20, "api": 0.20, "chunk": 0.20, "function": 0.15}

# Not how many chunks: training data hold as many as fit, and more do no harm where the budget cuts them.
_RETRIEVAL = ("window", "stride", "neighbour", "query_lines", "scorer")


class ModelSettings(Section):
    """Prompt style, dialect, budgets and thresholds of a model."""

    schema_version: Literal[1] = 1
    dialect: str = "starcoder"
    style: Style = "base"
    preset: Literal["paper", "pocket"] = "paper"
    thresholds: dict[Literal["line", "api", "chunk", "function"], float] = {}
    """P(<cc>) above which to retrieve, by kind of blank; chosen on validation repositories."""
    thresholds_from: str = ""
    """Where the thresholds come from, in words."""
    labels: dict[str, Any] = {}
    """How the training labels were made: generator, threshold, retrieval."""

    @property
    def budgets(self) -> Budgets:
        """Token budgets at completion time."""
        return COMPLETION[self.preset]

    @property
    def training_budgets(self) -> TrainingBudgets:
        """Token budgets of training examples."""
        return TRAINING[self.preset]

    @property
    def retrieval(self) -> dict[str, Any]:
        """How context was found for the training labels, as far as it is known; serving finds it alike."""
        return {name: value for name, value in self.labels.get("retrieve", {}).items() if name in _RETRIEVAL}

    def threshold(self, kind: str) -> float:
        """The threshold for this kind of blank; the paper's where the model has none of its own."""
        return self.thresholds.get(kind, PAPER_THRESHOLDS[kind])  # type: ignore[call-overload,no-any-return]


def load_settings(model: Path) -> ModelSettings | None:
    """The settings beside a local model; None for a model that was not made by this project."""
    path = model / FILE_NAME
    if not path.is_file():
        return None
    values = read_json(path)
    if not isinstance(values, dict):
        raise UserError(f"{path}: not a mapping; export the model again")
    return parse_recipe(ModelSettings, values, str(path))


def save_settings(model: Path, settings: ModelSettings) -> None:
    """Write the settings beside a model's weights."""
    write_text(model / FILE_NAME, settings.model_dump_json(indent=2) + "\n")
