"""How many tokens each part of a prompt may have. Both arms, with and without context, get the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Preset = Literal["paper", "pocket"]


@dataclass(frozen=True, slots=True)
class Budgets:
    """Token budgets at completion time: left context is cut at its left end, the other two at their right end."""

    left: int
    right: int
    cross_file: int
    new_tokens: int
    """Most tokens generated for a line, API or chunk blank."""
    new_tokens_function: int

    def generated(self, kind: str) -> int:
        """Most tokens generated for a blank of this kind."""
        return self.new_tokens_function if kind == "function" else self.new_tokens

    @property
    def prompt(self) -> int:
        """Most tokens of a whole prompt: the three parts and the up to five control tokens around them."""
        return self.left + self.right + self.cross_file + 5


@dataclass(frozen=True, slots=True)
class TrainingBudgets:
    """Token budgets of a training example.

    ``paper`` gives what the target and the cross-file budget leave to left and right context as 2 : 1, the same for
    positive and negative instances, so that length says nothing about the label. ``pocket`` keeps the fixed lengths of
    completion time. Longer targets are dropped and counted by the caller.
    """

    total: int
    cross_file: int
    target: int
    left: int | None = None
    """Fixed left budget; None shares the remainder 2 : 1 with the right context."""
    right: int | None = None

    def in_file(self, target_tokens: int) -> tuple[int, int]:
        """Budgets of left and right context for a target of this many tokens, whatever the label."""
        rest = self.total - target_tokens - self.cross_file - 6  # six control tokens, the end token among them
        if self.left is not None and self.right is not None:
            return min(self.left, max(rest - self.right, 0)), min(self.right, max(rest, 0))
        right = max(rest, 0) // 3
        return max(rest, 0) - right, right


COMPLETION: dict[Preset, Budgets] = {
    "paper": Budgets(left=1024, right=512, cross_file=512, new_tokens=50, new_tokens_function=256),
    "pocket": Budgets(left=384, right=128, cross_file=256, new_tokens=192, new_tokens_function=192),
}
TRAINING: dict[Preset, TrainingBudgets] = {
    "paper": TrainingBudgets(total=2048, cross_file=512, target=1024),
    "pocket": TrainingBudgets(total=1024, cross_file=256, target=192, left=384, right=128),
}


def scaled(budgets: Budgets, **changes: int) -> Budgets:
    """A copy with some budgets replaced."""
    return replace(budgets, **changes)
