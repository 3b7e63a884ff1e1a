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
@given(st.lists(st.one_of(st.integers(1, ROOM), st.sampled_from(["fork", "select", "swap"])), min_size=1, max_size=30))
def test_it_is_the_plain_layer(steps: list[int | str]) -> None:
    pairs, rows = [(GrowingLayer(), DynamicLayer())], [5]
    for number, step in enumerate(steps):
        place = number % len(pairs)
        ours, plain = pairs[place]
        if step == "fork":
            pairs.append((copy.deepcopy(ours), copy.deepcopy(plain)))
            rows.append(rows[place])
        elif step in ("select", "swap"):
            kept = torch.arange(max(1, rows[place] - 1))
            if step == "swap":  # the first row is left out, the last takes its place
                kept[0] = rows[place] - 1
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


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 2 * ROOM))
def test_a_joined_layer_holds_both_aligned_on_the_right(first: int, second: int, more: int) -> None:
    one, other = states(2, first), states(3, second)
    layer, joined = GrowingLayer(), GrowingLayer()
    layer.update(*one)
    joined.update(*other)
    layer.join(joined)
    added = states(5, more)
    for found, here, there, new in zip(layer.update(*added), one, other, added, strict=True):
        assert found.shape == (5, 2, max(first, second) + more, 3)
        assert torch.equal(found[:2, :, -more - first : -more], here)
        assert torch.equal(found[2:, :, -more - second : -more], there)
        assert torch.equal(found[:, :, -more:], new)
        assert not found[:2, :, : -more - first].any()
        assert not found[2:, :, : -more - second].any()


def test_rows_that_keep_their_place_are_not_copied() -> None:
    layer = GrowingLayer()
    keys, _ = layer.update(*states(4, 10))
    last = keys[3].clone()
    layer.batch_select_indices(torch.tensor([0, 3, 2]))
    assert layer.keys.data_ptr() == keys.data_ptr()
    assert torch.equal(layer.keys[1], last)


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
