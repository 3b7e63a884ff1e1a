"""The cached, padded, batched pass equals reading each sequence from its start, one by one, without a cache."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from repoformer.errors import UserError
from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.stopping import Stop, TokenText
from repoformer.models.loading import LoadedModel
from repoformer.models.settings import ModelSettings

NEAR_TIE = 1e-4
NEW_TOKENS = 12


@pytest.fixture(scope="module")
def text(tiny_model: Any, tiny_tokenizer: Any) -> TokenText:
    settings = ModelSettings(style="selective", preset="pocket")
    return TokenText(LoadedModel(tiny_model, tiny_tokenizer, settings, "tiny").builder())


def segments(seed: int, rows: int, parts: int = 2) -> list[list[list[int]]]:
    """``parts`` segments of ``rows`` random rows of different lengths."""
    draw = random.Random(seed)
    return [[[draw.randrange(20, 700) for _ in range(draw.randint(1, 40))] for _ in range(rows)] for _ in range(parts)]


@torch.inference_mode()
def plain_logits(model: Any, tokens: Sequence[int]) -> torch.Tensor:
    return model(torch.tensor([list(tokens)]), use_cache=False).logits[0, -1].float()  # type: ignore[no-any-return]


def plain_decoding(model: Any, prompt: list[int], ends: frozenset[int]) -> tuple[list[int], list[float]]:
    """Greedy decoding by reading everything anew for each token, and the gap between the two best at each step."""
    tokens: list[int] = []
    gaps: list[float] = []
    while len(tokens) < NEW_TOKENS:
        best, second = plain_logits(model, [*prompt, *tokens]).topk(2)[0].tolist()
        gaps.append(best - second)
        token = int(plain_logits(model, [*prompt, *tokens]).argmax())
        if token in ends:
            break
        tokens.append(token)
    return tokens, gaps


def same_up_to_near_ties(found: list[int], expected: list[int], gaps: list[float]) -> bool:
    for place, gap in enumerate(gaps):
        if found[place : place + 1] != expected[place : place + 1]:
            return gap < NEAR_TIE
    return found == expected


@pytest.mark.parametrize("rows", [1, 5])
def test_decoding_equals_plain_decoding_of_the_whole_prompt(tiny_model: Any, text: TokenText, rows: int) -> None:
    different = 0
    for seed in range(50 // rows):
        first, second = segments(seed, rows)
        read = CachedPass(tiny_model)
        read.append(first)
        read.append(second)
        found = read.decode([Stop(text, NEW_TOKENS) for _ in range(rows)])
        for row in range(rows):
            expected, gaps = plain_decoding(tiny_model, first[row] + second[row], text.ends)
            assert same_up_to_near_ties(found[row], expected, gaps)
            different += found[row] != expected
    assert different <= 1


def test_other_families_decode_the_same(rotary_model: Any, text: TokenText) -> None:
    first, second = segments(0, 6)
    read = CachedPass(rotary_model)
    read.append(first)
    read.append(second)
    found = read.decode([Stop(text, NEW_TOKENS) for _ in first])
    for row, tokens in enumerate(found):
        assert same_up_to_near_ties(tokens, *plain_decoding(rotary_model, first[row] + second[row], text.ends))


def test_padding_inside_segments_does_not_change_the_logits(tiny_model: Any) -> None:
    parts = segments(1, 7, parts=4)
    read = CachedPass(tiny_model)
    for segment in parts:
        read.append(segment)
    for row in range(7):
        whole = [token for segment in parts for token in segment[row]]
        torch.testing.assert_close(read.next_logits[row], plain_logits(tiny_model, whole), atol=1e-4, rtol=0)


def test_decoding_equals_generate_of_transformers(tiny_model: Any, text: TokenText) -> None:
    (prompts,) = segments(2, 8, parts=1)
    for prompt in prompts:
        read = CachedPass(tiny_model)
        read.append([prompt])
        (found,) = read.decode([Stop(text, NEW_TOKENS)])
        inputs = torch.tensor([prompt])
        generated = tiny_model.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            max_new_tokens=NEW_TOKENS,
            do_sample=False,
            eos_token_id=sorted(text.ends),
            pad_token_id=0,
        )[0, len(prompt) :].tolist()
        assert found == [token for token in generated if token not in text.ends]


def test_forks_go_on_by_themselves(tiny_model: Any, text: TokenText) -> None:
    shared, here, there = segments(3, 4, parts=3)
    read = CachedPass(tiny_model)
    read.append(shared)
    forked = read.fork()
    read.append(here)
    read.decode([Stop(text, NEW_TOKENS) for _ in shared])
    forked.append(there)
    for row in range(4):
        expected = plain_logits(tiny_model, shared[row] + there[row])
        torch.testing.assert_close(forked.next_logits[row], expected, atol=1e-4, rtol=0)


def test_a_fork_may_take_some_rows_only(tiny_model: Any) -> None:
    shared, more = segments(4, 5)
    read = CachedPass(tiny_model)
    read.append(shared)
    forked = read.fork([3, 1])
    forked.append([more[3], more[1]])
    for place, row in enumerate((3, 1)):
        expected = plain_logits(tiny_model, shared[row] + more[row])
        torch.testing.assert_close(forked.next_logits[place], expected, atol=1e-4, rtol=0)
    assert len(read.next_logits) == 5


def test_rows_that_are_done_leave_the_others_alone(tiny_model: Any, text: TokenText) -> None:
    (prompts,) = segments(5, 6, parts=1)
    read = CachedPass(tiny_model)
    read.append(prompts)
    found = read.decode([Stop(text, limit) for limit in (1, 9, 3, 12, 0, 5)])
    for row, limit in enumerate((1, 9, 3, 12, 0, 5)):
        expected, gaps = plain_decoding(tiny_model, prompts[row], text.ends)
        assert same_up_to_near_ties(found[row], expected[:limit], gaps[: len(expected[:limit])])


def test_joined_passes_go_on_as_each_would_by_itself(tiny_model: Any, rotary_model: Any, text: TokenText) -> None:
    for model in (tiny_model, rotary_model):
        for longer in (0, 1):  # whichever has the wider cache
            passes = [CachedPass(model), CachedPass(model)]
            (one, other), (more,) = segments(7, 4, parts=2), segments(8, 4, parts=1)
            passes[0].append(one)
            passes[1].append(other)
            passes[longer].append(more)
            prompts = [[*one], [*other]]
            prompts[longer] = [first + second for first, second in zip(prompts[longer], more, strict=True)]
            passes[0].join(passes[1])
            found = passes[0].decode([Stop(text, limit) for limit in (12, 5, 12, 9, 12, 12, 2, 12)])
            for tokens, prompt in zip(found, prompts[0] + prompts[1], strict=True):
                expected, gaps = plain_decoding(model, prompt, text.ends)
                assert same_up_to_near_ties(tokens, expected[: len(tokens)], gaps[: len(tokens)])


def test_what_only_filled_the_cache_is_read_all_the_same(tiny_model: Any, rotary_model: Any) -> None:
    sliding = MistralConfig(
        vocab_size=800, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=500,
    )  # fmt: skip
    windows = MistralForCausalLM(sliding).eval()
    assert not CachedPass(windows).can_join()
    first, second = segments(9, 5)
    for model in (tiny_model, rotary_model, windows):
        read = CachedPass(model)
        read.append(first, keep=0)
        assert read.next_logits.shape == (5, 0)
        read.append(second)
        for row in range(5):
            expected = plain_logits(model, first[row] + second[row])
            torch.testing.assert_close(read.next_logits[row], expected, atol=1e-4, rtol=0)


def test_tokens_that_are_taken_back_were_never_there(tiny_model: Any, rotary_model: Any) -> None:
    first, wrong, second = segments(10, 5, parts=3)
    for model in (tiny_model, rotary_model):
        read = CachedPass(model)
        read.append(first)
        other = read.fork()
        read.append(wrong)
        read.take_back([len(row) - place for place, row in enumerate(wrong)])
        read.append(second)
        other.append(second)
        for row in range(5):
            expected = plain_logits(model, first[row] + wrong[row][:row] + second[row])
            torch.testing.assert_close(read.next_logits[row], expected, atol=1e-4, rtol=0)
            torch.testing.assert_close(
                other.next_logits[row], plain_logits(model, first[row] + second[row]), atol=1e-4, rtol=0
            )


def test_logits_are_computed_for_the_last_position_only(tiny_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    forward = tiny_model.forward

    def spy(*arguments: Any, **keywords: Any) -> Any:
        output = forward(*arguments, **keywords)
        shapes.append(tuple(output.logits.shape[:2]))
        return output

    monkeypatch.setattr(tiny_model, "forward", spy)
    CachedPass(tiny_model).append(segments(6, 3, parts=1)[0])
    assert shapes == [(3, 1)]


def test_a_prompt_longer_than_the_positions_is_refused(tiny_model: Any) -> None:
    read = CachedPass(tiny_model)
    read.append([[30] * 1000, [30]])
    with pytest.raises(UserError, match=r"1025 tokens does not fit the model's 1024 positions"):
        read.append([[30] * 25, [30] * 25])


def test_decoding_ends_at_the_last_position(tiny_model: Any, text: TokenText) -> None:
    read = CachedPass(tiny_model)
    read.append([[30] * 1020, [30] * 1024])
    stops = [Stop(_Endless(text), 50), Stop(_Endless(text), 50)]
    found = read.decode(stops)
    assert [len(tokens) for tokens in found] == [4, 0]
    assert [stop.reason for stop in stops] == ["limit", "limit"]


class _Endless(TokenText):
    """No token ends the text."""

    def __init__(self, text: TokenText) -> None:
        self.__dict__.update(text.__dict__)
        self.ends = frozenset()
