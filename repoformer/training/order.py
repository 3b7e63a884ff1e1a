"""Which examples a step trains on: a pure function of seed and step, whatever the number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from repoformer.errors import UserError
from repoformer.seeding import generator

Item = TypeVar("Item")


class DataOrder:
    """One permutation per epoch, end to end in one stream, cut into batches of ``batch`` examples.

    A batch may hold the end of one epoch and the start of the next. What is left at the very end, less than one batch,
    is not trained on.
    """

    def __init__(self, examples: int, batch: int, epochs: float, seed: int) -> None:
        self.examples = examples
        self.batch_size = batch
        self.seed = seed
        total = int(examples * epochs)
        self.steps, self.left_over = divmod(total, batch)
        if not self.steps:
            raise UserError(
                f"batch={batch}: {examples} training examples times epochs={epochs:g} are {total}, not even one batch; "
                "make batch smaller or collect more data"
            )
        self._permutation = lru_cache(maxsize=2)(self._permute)

    def __str__(self) -> str:
        return f"{self.steps} steps of {self.batch_size} examples, {self.left_over} left over"

    def batch(self, step: int) -> list[int]:
        """Positions of the examples of step ``step``, counted from 0."""
        stream = range(step * self.batch_size, (step + 1) * self.batch_size)
        return [self._permutation(place // self.examples)[place % self.examples] for place in stream]

    def epoch(self, step: int) -> float:
        """Epochs done after ``step`` steps."""
        return step * self.batch_size / self.examples

    def ends_epoch(self, step: int) -> bool:
        """Whether the ``step``-th step, counted from 1, is the one that reaches the end of an epoch."""
        return step * self.batch_size // self.examples > (step - 1) * self.batch_size // self.examples

    def _permute(self, epoch: int) -> list[int]:
        order = list(range(self.examples))
        generator(self.seed, "data order", epoch).shuffle(order)
        return order


def deal(items: Sequence[Item], lengths: Sequence[int], hands: int) -> list[list[Item]]:
    """Deal a batch into ``hands`` micro-batches of equally many items and about equally many tokens.

    Longest first, and back and forth, so that processes wait little for each other and memory peaks are low. Process
    ``p`` of ``n`` takes micro-batches p, p + n, ...: the micro-batches themselves do not depend on ``n``.
    """
    assert len(items) % hands == 0, f"{len(items)} items do not make {hands} equal micro-batches"
    longest_first = sorted(range(len(items)), key=lambda place: -lengths[place])
    dealt: list[list[Item]] = [[] for _ in range(hands)]
    for turn, place in enumerate(longest_first):
        round_, seat = divmod(turn, hands)
        dealt[seat if round_ % 2 == 0 else hands - 1 - seat].append(items[place])
    return dealt
