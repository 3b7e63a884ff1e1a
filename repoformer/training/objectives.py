"""The paper's objective and its ablations, in one table (section 4.4, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from repoformer.prompt.builder import Style
from repoformer.training.recipe import ObjectiveName


@dataclass(frozen=True, slots=True)
class Objective:
    """How an example becomes a sequence, and how its decision enters the loss."""

    style: Style
    """Of the prompts it trains, and so of the model that comes out."""
    context: bool
    """Whether instances that want cross-file context see it."""
    decision: Literal["weighted", "joint", "none"]
    """``weighted``: lambda * L_eval beside L_gen. ``joint``: one mean over decision and target tokens."""

    @property
    def decides(self) -> bool:
        """Whether its sequences hold a decision, trained or not."""
        return self.style != "base"


OBJECTIVES: dict[ObjectiveName, Objective] = {
    "selective": Objective(style="selective", context=True, decision="weighted"),
    "one_cross_entropy": Objective(style="selective", context=True, decision="joint"),  # A1
    "no_evaluation": Objective(style="selective", context=True, decision="none"),  # A2
    "fim_only": Objective(style="base", context=False, decision="none"),  # A3
    "context_after_middle": Objective(style="after_middle", context=True, decision="weighted"),  # A4
}
