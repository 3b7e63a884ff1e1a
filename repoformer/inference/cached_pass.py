"""One left-to-right pass of a batch through a causal language model, which can stop, look, fork and go on."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch

from repoformer.errors import UserError
from repoformer.inference.growing_cache import can_grow, filling, growing_cache, join
from repoformer.inference.stopping import Stop
from repoformer.models.loading import positions_of

Watch = Callable[[Sequence[int], torch.Tensor], None]
"""Sees which rows take a token and the logits [these rows, vocabulary] that they take it from."""


class CachedPass:
    """A batch of token sequences that is read segment by segment; nothing is computed twice.

    Rows differ in length, so each segment is padded on its left. What is padding is told to the model by the attention
    mask, and positions count only real tokens: a row's result is that of the row alone, up to the order of float sums.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.next_logits: torch.Tensor = torch.empty(0)
        """[rows, vocabulary] float32: what follows the last token read."""
        self._cache = growing_cache(model.config)
        self._mask = torch.empty(0)
        """[rows, columns of the cache]: 1 for a token, 0 for padding."""

    def append(self, rows: Sequence[Sequence[int]], *, keep: int = 1) -> torch.Tensor:
        """Read on: at least one more token for every row. Returns the last ``keep`` logits [rows, keep, vocabulary].

        With 0 there are no next logits either: something has to be read before anything is decoded.
        """
        assert all(rows), "a row without new tokens has no next token to predict"
        width = max(map(len, rows))
        tokens = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=self.model.device)
        seen = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=self.model.device)
        before = self._mask if len(self._mask) else seen[:, :0]
        assert len(before) == len(rows), f"{len(rows)} rows after {len(before)}"
        self._check_positions(int((before.sum(1) + seen.sum(1)).max()))
        return self._read(tokens, torch.cat([before, seen], dim=1), keep)

    def fork(self, rows: Sequence[int] | None = None) -> CachedPass:
        """A second pass that goes on from here by itself, with all rows or only the given ones."""
        other = copy.copy(self)
        other._cache = copy.deepcopy(self._cache)
        if rows is not None:
            other.keep(rows)
        return other

    @torch.inference_mode()
    def take_back(self, tokens: Sequence[int]) -> None:
        """Hide the last tokens of each row, so many: what is read from now on goes on as if they had never been there.

        The next logits stay those behind all of them.
        """
        columns = torch.arange(self._mask.shape[1], 0, -1, device=self._mask.device)
        hidden = columns <= torch.tensor(tokens, device=self._mask.device)[:, None]
        self._mask = self._mask.masked_fill(hidden, 0)

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only."""
        index = torch.tensor(rows, dtype=torch.long, device=self.model.device)
        self._cache.batch_select_indices(index)
        self._mask = self._mask[index]
        self.next_logits = self.next_logits[index]

    def can_join(self) -> bool:
        """Whether passes through this model can be joined: sliding windows, for one, keep no column for good."""
        return can_grow(self._cache)

    @torch.inference_mode()
    def join(self, other: CachedPass) -> None:
        """Take in the rows of another pass through the same model, behind one's own; the other pass is used up."""
        join(self._cache, other._cache)
        width = max(self._mask.shape[1], other._mask.shape[1])
        self._mask = torch.cat([_left_padded(self._mask, width), _left_padded(other._mask, width)])
        self.next_logits = torch.cat([self.next_logits, other.next_logits])

    def decode(self, stops: Sequence[Stop], watch: Watch | None = None) -> list[list[int]]:
        """Greedy decoding of every row until its stop says so, or until the model has no position left.

        Returns each row's tokens without the end token. Rows that are done leave the batch; the pass is used up.
        """
        self.limit(stops)
        running = list(range(len(stops)))
        while running:
            if watch is not None:
                watch(running, self.next_logits)
            tokens = self.next_logits.argmax(dim=-1).tolist()
            goes_on = [place for place, row in enumerate(running) if stops[row].take(tokens[place])]
            if len(goes_on) < len(running):
                goes_on = in_place(goes_on)
                self.keep(goes_on)
                running = [running[place] for place in goes_on]
                tokens = [tokens[place] for place in goes_on]
            if running:
                step = torch.tensor(tokens, device=self.model.device)[:, None]
                self._read(step, torch.cat([self._mask, torch.ones_like(step)], dim=1))
        return [stop.tokens for stop in stops]

    @torch.inference_mode()
    def _read(self, tokens: torch.Tensor, mask: torch.Tensor, keep: int = 1) -> torch.Tensor:
        # Learned positions are wrong under left padding unless they are given.
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        only_fill = keep == 0 and self.can_join()
        logits: torch.Tensor = torch.empty((len(tokens), 0, 0), device=tokens.device)
        with filling(self._cache) if only_fill else nullcontext():
            output = self.model(
                input_ids=tokens,
                cache=self._cache,
                attention_mask=mask,
                position_ids=positions,
                use_cache=True,
                logits_to_keep=max(keep, 1),
            )
            logits = output.logits[:, :keep].float()
        self._mask = mask
        self.next_logits = logits[:, -1] if keep else logits.new_empty((len(tokens), 0))
        return logits

    def limit(self, stops: Sequence[Stop]) -> None:
        """Let no completion go on behind the model's last position."""
        positions = positions_of(self.model) or sys.maxsize
        for stop, length in zip(stops, self._mask.sum(dim=1).tolist(), strict=True):
            stop.limit = min(stop.limit, positions - length)

    def _check_positions(self, longest: int) -> None:
        positions = positions_of(self.model)
        if positions is not None and longest > positions:
            raise UserError(
                f"a prompt of {longest} tokens does not fit the model's {positions} positions; "
                "use smaller budgets or a model with more positions"
            )


def _left_padded(mask: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(mask, (width - mask.shape[1], 0))


def in_place(rows: Sequence[int]) -> list[int]:
    """The same rows in an order in which most keep their place: the last ones take the places of those left out."""
    staying = {row for row in rows if row < len(rows)}
    moving = iter([row for row in rows if row >= len(rows)])
    return [place if place in staying else next(moving) for place in range(len(rows))]
