"""A cache with room for the tokens to come: decoding writes one more column and does not copy all before it.

On a CPU those copies are half of what decoding a batch takes.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64
"""Columns that are added when there is none left."""


class GrowingLayer(DynamicLayer):
    """Keys and values [rows, heads, tokens, width] of one layer, each the filled part of a larger tensor."""

    def __init__(self) -> None:
        super().__init__()
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
        return self.keys, self.values

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
