"""A cache with room for the tokens to come: decoding writes one more column and does not copy all before it.

Nor does it copy the rows that go on where others are done. On a CPU those copies are half of what decoding takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 128
"""Columns that are added when there is none left."""


class Filled(Exception):
    """The last layer's keys and values are in the cache: nothing else is wanted of the tokens that are read."""


class GrowingLayer(DynamicLayer):
    """Keys and values [rows, heads, tokens, width] of one layer, each the filled part of a larger tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.ends_the_pass = False
        """Whether a forward pass is over, with :class:`Filled`, once it has handed over its keys and values here."""
        self._rooms: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        """The whole tensor, and its filled part as it was handed out last."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the next tokens and return all."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._grown("keys", self.keys, key_states)
        self.values = self._grown("values", self.values, value_states)
        if self.ends_the_pass:
            raise Filled
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Go on with these rows only; those that keep their place are not copied where no other row is needed twice."""
        rows = indices.tolist()
        moved = [(place, row) for place, row in enumerate(rows) if place != row]
        if not self._has_room() or any(row < len(rows) for _, row in moved):
            super().batch_select_indices(indices)
            return
        for name, (room, filled) in self._rooms.items():
            for place, row in moved:
                filled[place] = filled[row]
            self._take(name, room[: len(rows)], filled.shape[-2])

    def join(self, other: GrowingLayer) -> None:
        """Take over the rows of another layer, behind one's own; the columns of the narrower are padded on their left.

        The other layer holds nothing afterwards, so that no rows are in memory twice.
        """
        for name in ("keys", "values"):
            first, second = getattr(self, name), getattr(other, name)
            end = max(first.shape[-2], second.shape[-2])
            room = first.new_zeros((len(first) + len(second), first.shape[1], end + ROOM, first.shape[-1]))
            room[: len(first), :, end - first.shape[-2] : end] = first
            room[len(first) :, :, end - second.shape[-2] : end] = second
            self._take(name, room, end)
            setattr(other, name, second.new_empty(0))
        other._rooms.clear()

    def _has_room(self) -> bool:
        """Whether keys and values are what was handed out last, and not rows that were selected since."""
        return bool(self._rooms) and all(getattr(self, name) is filled for name, (_, filled) in self._rooms.items())

    def _take(self, name: str, room: torch.Tensor, end: int) -> None:
        self._rooms[name] = room, room[..., :end, :]
        setattr(self, name, self._rooms[name][1])

    def _grown(self, name: str, held: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
        start = held.shape[-2] if held is not None and held.numel() else 0
        end = start + new.shape[-2]
        room, filled = self._rooms.get(name, (new, None))
        if (
            filled is None or filled is not held or room.shape[-2] < end
        ):  # other rows were selected, or there is no room left
            room = new.new_empty((*new.shape[:-2], end + ROOM, new.shape[-1]))
            if held is not None and start:
                room[..., :start, :] = held
        room[..., start:end, :] = new
        filled = room[..., :end, :]
        self._rooms[name] = room, filled
        return filled


def growing_cache(config: Any) -> DynamicCache:
    """An empty cache for a model of this configuration; layers of other kinds, as sliding windows, stay theirs."""
    cache = DynamicCache(config=config)
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


@contextmanager
def filling(cache: DynamicCache) -> Iterator[None]:
    """A forward pass in here only fills the cache: what the last layer would make of it is left out."""
    last = cache.layers[-1]
    assert isinstance(last, GrowingLayer)
    last.ends_the_pass = True
    try:
        yield
    except Filled:
        pass
    finally:
        last.ends_the_pass = False


def can_grow(cache: DynamicCache) -> bool:
    """Whether all layers of a cache are growing ones."""
    return all(isinstance(layer, GrowingLayer) for layer in cache.layers)


def join(cache: DynamicCache, other: DynamicCache) -> None:
    """Take the rows of another growing cache of the same model into the first, behind its own."""
    for layer, more in zip(cache.layers, other.layers, strict=True):
        assert isinstance(layer, GrowingLayer)
        assert isinstance(more, GrowingLayer)
        layer.join(more)
