"""One example as the token sequence that an objective trains on (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from repoformer.code.records import Example
from repoformer.prompt.builder import InFile, PromptBuilder
from repoformer.training.objectives import Objective


@dataclass(frozen=True, slots=True)
class TrainingSequence:
    """Token ids and which of them carry a loss; every other one is only read.

    ``ids[decision]`` is the decision, predicted by the token before it; -1 where the objective has none. All tokens
    from ``target_start`` on are generated: the target, and the end token where it is trained.
    """

    example: str
    ids: tuple[int, ...]
    decision: int
    target_start: int
    wants_context: bool

    @property
    def targets(self) -> tuple[int, ...]:
        """The tokens that carry L_gen."""
        return self.ids[self.target_start :]


@dataclass(frozen=True, slots=True)
class Verbaliser:
    """Turns examples into training sequences.

    An instance wants context when its gain, in the data's measure, exceeds ``label_threshold``; one whose context
    is empty never does.
    """

    objective: Objective
    builder: PromptBuilder
    label_threshold: float = 0.0
    train_end_token: bool = True

    def __call__(self, example: Example) -> TrainingSequence:
        """In-file part, the branch that the label asks for, target; the decision is the branch's first token."""
        wants_context = self.wants_context(example)
        in_file_part = self.builder.in_file_part(InFile(example.left, example.right))
        prompt = in_file_part + self.builder.branch(example.cross_file if wants_context else None)
        end = [self.builder.end_id] if self.train_end_token else []
        return TrainingSequence(
            example=example.id,
            ids=(*prompt, *example.target, *end),
            decision=len(in_file_part) if self.objective.decides else -1,
            target_start=len(prompt),
            wants_context=wants_context,
        )

    def wants_context(self, example: Example) -> bool:
        """Whether the sequence of ``example`` takes the branch with cross-file context."""
        return self.objective.context and example.gain > self.label_threshold and bool(example.cross_file)
