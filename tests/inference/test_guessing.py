"""Decoding with guesses writes what decoding without them writes, in fewer forward passes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.guessing import Lookup, decode_guessing
from repoformer.inference.stopping import Stop, TokenText
from repoformer.inference.uncertainty import UncertaintyWatch
from repoformer.models.loading import LoadedModel

NEAR_TIE = 1e-4


@pytest.fixture(scope="module")
def text(loaded: LoadedModel) -> TokenText:
    return TokenText(loaded.builder())


def repetitive(seed: int, rows: int) -> list[list[int]]:
    """Prompts of few different tokens and of different lengths, in which there is much to look up."""
    draw = random.Random(seed)
    return [draw.choices(draw.sample(range(20, 700), 6), k=draw.randint(3, 60)) for _ in range(rows)]


def read_rows(model: Any, prompts: list[list[int]]) -> CachedPass:
    read = CachedPass(model)
    read.append(prompts)
    return read


@torch.inference_mode()
def near_tie(model: Any, tokens: list[int]) -> bool:
    best, second = model(torch.tensor([tokens]), use_cache=False).logits[0, -1].float().topk(2)[0].tolist()
    return bool(best - second < NEAR_TIE)


@pytest.mark.parametrize("rows", [1, 7])
def test_what_is_written_is_the_same(tiny_model: Any, rotary_model: Any, text: TokenText, rows: int) -> None:
    limits = (40, 1, 0, 23, 40, 3, 2)[:rows]
    for model in (tiny_model, rotary_model):
        for seed in range(3):
            prompts = repetitive(seed, rows)
            plain = [Stop(text, limit) for limit in limits]
            guessing = [Stop(text, limit) for limit in limits]
            read_rows(model, prompts).decode(plain)
            decode_guessing(read_rows(model, prompts), guessing, prompts)
            for prompt, one, other in zip(prompts, plain, guessing, strict=True):
                same = [a == b for a, b in zip(one.tokens, other.tokens, strict=False)]
                if False in same:
                    assert near_tie(model, prompt + one.tokens[: same.index(False)])
                else:
                    assert (one.tokens, one.reason) == (other.tokens, other.reason)


def test_good_guesses_save_forward_passes(tiny_model: Any, text: TokenText, fed: Callable[[Any], Any]) -> None:
    (prompt,) = prompts = repetitive(0, 1)
    plain, guessing = Stop(text, 60), Stop(text, 60)
    read_rows(tiny_model, prompts).decode([plain])
    assert len(plain.tokens) > 50
    read = read_rows(tiny_model, prompts)
    with fed(tiny_model) as segments:
        decode_guessing(read, [guessing], [[*prompt, *plain.tokens, *prompt]])
    assert guessing.tokens == plain.tokens
    assert len(segments) < 10


def test_the_watch_sees_each_token_once(loaded: LoadedModel, text: TokenText) -> None:
    prompts = repetitive(1, 5)
    plain, guessing = UncertaintyWatch(), UncertaintyWatch()
    stops = [Stop(text, 20) for _ in prompts], [Stop(text, 20) for _ in prompts]
    read_rows(loaded.model, prompts).decode(stops[0], plain)
    decode_guessing(read_rows(loaded.model, prompts), stops[1], prompts, guessing)
    for row, (one, other) in enumerate(zip(*stops, strict=True)):
        assert one.tokens == other.tokens
        expected, found = plain.of(row, 1000), guessing.of(row, 1000)
        assert len(found.log_probabilities) == len(expected.log_probabilities)
        assert found.log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-3)
        assert found.entropies == pytest.approx(expected.entropies, abs=1e-3)


def test_nothing_is_guessed_behind_the_last_position(tiny_model: Any, text: TokenText) -> None:
    prompts = [[30, 31] * 510, [30, 31] * 512]
    stops = [Stop(text, 50), Stop(text, 50)]
    decode_guessing(read_rows(tiny_model, prompts), stops, prompts)
    assert len(stops[0].tokens) <= 4
    assert stops[1].tokens == []


def test_a_guess_is_what_followed_the_last_two_tokens() -> None:
    lookup = Lookup([1, 2, 3, 4, 5, 1, 2])
    assert lookup.guess(3) == [3, 4, 5]
    lookup.extend([3])
    assert lookup.guess(1) == [4]
    lookup.extend([9])
    assert lookup.guess(3) == []


def test_the_latest_place_counts() -> None:
    assert Lookup([1, 2, 3, 1, 2, 4, 1, 2]).guess(1) == [4]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=6, unique=True), st.integers(1, 20))
def test_what_repeats_itself_goes_on(period: list[int], most: int) -> None:
    text = period * 3
    assert Lookup(text).guess(most) == [period[place % len(period)] for place in range(most)]
