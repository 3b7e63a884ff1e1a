"""Adding <cc> and <eof> to a base model."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from repoformer.models.selection_tokens import SELECTION_TOKENS, add_selection_tokens


@pytest.fixture
def base(tiny_model: Any, base_tokenizer: Any) -> tuple[Any, Any]:
    model = copy.deepcopy(tiny_model)
    model.resize_token_embeddings(len(base_tokenizer))
    return model, copy.deepcopy(base_tokenizer)


def test_both_tokens_get_an_id_and_a_row(base: tuple[Any, Any]) -> None:
    model, tokenizer = base
    before = len(tokenizer)
    assert add_selection_tokens(model, tokenizer) == [before, before + 1]
    assert tokenizer.convert_tokens_to_ids(list(SELECTION_TOKENS)) == [before, before + 1]
    assert model.get_input_embeddings().weight.shape[0] == model.config.vocab_size == before + 2


def test_old_rows_stay_and_the_head_stays_tied(base: tuple[Any, Any]) -> None:
    model, tokenizer = base
    old = model.get_input_embeddings().weight.detach().clone()
    add_selection_tokens(model, tokenizer)
    new = model.get_input_embeddings().weight
    assert torch.equal(new[: len(old)], old)
    assert model.get_output_embeddings().weight is new


def test_new_rows_lie_near_the_mean_and_differ(base: tuple[Any, Any]) -> None:
    model, tokenizer = base
    (cc, eof) = add_selection_tokens(model, tokenizer)
    weight = model.get_input_embeddings().weight.detach()
    old = weight[:cc]
    typical = (old - old.mean(0)).norm(dim=1).mean()
    assert (weight[cc] - old.mean(0)).norm() < 0.2 * typical
    assert (weight[cc] - weight[eof]).norm() > 0


def test_same_seed_same_rows(base: tuple[Any, Any]) -> None:
    model, tokenizer = base
    again, other = copy.deepcopy(model), copy.deepcopy(model)
    add_selection_tokens(model, copy.deepcopy(tokenizer), seed=1)
    torch.manual_seed(99)
    add_selection_tokens(again, copy.deepcopy(tokenizer), seed=1)
    add_selection_tokens(other, copy.deepcopy(tokenizer), seed=2)
    weights = [one.get_input_embeddings().weight for one in (model, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_second_time_changes_nothing(base: tuple[Any, Any]) -> None:
    model, tokenizer = base
    add_selection_tokens(model, tokenizer)
    before = model.get_input_embeddings().weight.detach().clone()
    assert add_selection_tokens(model, tokenizer) == []
    assert torch.equal(model.get_input_embeddings().weight, before)


def test_rows_that_a_model_has_to_spare_are_used(base_tokenizer: Any) -> None:
    tokenizer = copy.deepcopy(base_tokenizer)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer) + 16,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            tie_word_embeddings=False,
        )
    )
    head = model.get_output_embeddings().weight
    before = head.detach().clone()
    (cc, eof) = add_selection_tokens(model, tokenizer)
    assert model.get_input_embeddings().weight.shape[0] == len(base_tokenizer) + 16
    changed = (head != before).any(1).nonzero().flatten().tolist()
    assert changed == [cc, eof], "an untied head gets rows of its own"
