"""The cache with room holds what the plain one holds, whatever was read, forked and selected in between."""

from __future__ import annotations

import copy

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.cache_utils import DynamicLayer

from repoformer.inference.growing_cache import ROOM, GrowingLayer, growing_cache


def states(rows: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 2, tokens, 3), torch.randn(rows, 2, tokens, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.integers(1, ROOM), st.just("fork"), st.just("select")), min_size=1, max_size=30))
def test_it_is_the_plain_layer(steps: list[int | str]) -> None:
    pairs, rows = [(GrowingLayer(), DynamicLayer())], [5]
    for number, step in enumerate(steps):
        place = number % len(pairs)
        ours, plain = pairs[place]
        if step == "fork":
            pairs.append((copy.deepcopy(ours), copy.deepcopy(plain)))
            rows.append(rows[place])
        elif step == "select":
            kept = torch.arange(max(1, rows[place] - 1))
            rows[place] = len(kept)
            ours.batch_select_indices(kept)
            plain.batch_select_indices(kept)
        else:
            new = states(rows[place], int(step))
            for found, wanted in zip(ours.update(*new), plain.update(*new), strict=True):
                assert torch.equal(found, wanted)
    for ours, plain in pairs:
        assert ours.get_seq_length() == plain.get_seq_length()
        assert not plain.is_initialized or torch.equal(ours.values, plain.values)


def test_one_more_token_is_written_and_nothing_copied() -> None:
    layer = GrowingLayer()
    keys, _ = layer.update(*states(2, 10))
    more, _ = layer.update(*states(2, 1))
    assert more.data_ptr() == keys.data_ptr()


def test_layers_of_other_kinds_stay(tiny_model: torch.nn.Module) -> None:
    from transformers import MistralConfig

    assert all(type(layer) is GrowingLayer for layer in growing_cache(tiny_model.config).layers)
    sliding = MistralConfig(sliding_window=4, num_hidden_layers=2)
    assert not any(type(layer) is GrowingLayer for layer in growing_cache(sliding).layers)
