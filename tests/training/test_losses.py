"""The losses against a slow, obvious reference: one forward pass per sequence, one token at a time, full logits."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import (
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Starcoder2Config,
    Starcoder2ForCausalLM,
)

from repoformer.code.records import Example
from repoformer.errors import UserError
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import dialect_named
from repoformer.training.losses import LossModel, LossWeights, check_model, loss_sums
from repoformer.training.micro_batch import pack
from repoformer.training.objectives import OBJECTIVES
from repoformer.training.packed_attention import attending_packed
from repoformer.training.recipe import ObjectiveName
from repoformer.training.sequence import TrainingSequence, Verbaliser

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}


def families(vocabulary: int) -> list[Any]:
    torch.manual_seed(0)
    return [
        LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **SMALL)).eval(),
        Qwen2ForCausalLM(Qwen2Config(vocab_size=vocabulary, **SMALL)).eval(),
        Starcoder2ForCausalLM(Starcoder2Config(vocab_size=vocabulary, sliding_window=256, **SMALL)).eval(),
    ]


@pytest.fixture
def sequences(tiny_tokenizer: Any, make_examples: Any) -> Any:
    def make(name: ObjectiveName = "selective", number: int = 6) -> list[TrainingSequence]:
        objective = OBJECTIVES[name]
        builder = PromptBuilder(tiny_tokenizer, dialect_named("starcoder"), COMPLETION["pocket"], objective.style)
        examples: list[Example] = make_examples(number, seed=7)
        return [Verbaliser(objective, builder)(example) for example in examples]

    return make


@torch.no_grad()
def reference(model: Any, sequences: Sequence[TrainingSequence]) -> tuple[float, float]:
    """Sums of negative log-likelihoods over target tokens and over decisions."""
    generation = decision = 0.0
    for sequence in sequences:
        logits = model(input_ids=torch.tensor([sequence.ids]), use_cache=False).logits[0].double()
        for place in range(1, len(sequence.ids)):
            row = logits[place - 1]
            nll = math.log(sum(math.exp(float(one)) for one in row)) - float(row[sequence.ids[place]])
            if place >= sequence.target_start:
                generation += nll
            if place == sequence.decision:
                decision += nll
    return generation, decision


def measured(model: Any, sequences: Sequence[TrainingSequence], positive_weight: float = 1.0) -> tuple[float, float]:
    batch = pack(sequences, positive_weight)
    with attending_packed(model), torch.no_grad():
        generation, decision = loss_sums(LossModel(model, 0)(batch), batch)
    return float(generation), float(decision)


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_both_losses_equal_the_reference(name: ObjectiveName, sequences: Any, tiny_model: Any) -> None:
    batch = sequences(name)
    objective = OBJECTIVES[name]
    generation, decision = reference(tiny_model, batch)
    found = LossWeights.of(objective, batch, 0.7, 1.0).means(*measured(tiny_model, batch))
    tokens = sum(len(one.targets) for one in batch)
    assert found.L_gen == pytest.approx(generation / tokens, rel=1e-6)
    if not objective.decides:
        assert found.L_eval is None
        assert found.loss == found.L_gen
        return
    assert found.L_eval == pytest.approx(decision / len(batch), rel=1e-6)
    expected = {
        "weighted": generation / tokens + 0.7 * decision / len(batch),
        "joint": (generation + decision) / (tokens + len(batch)),
        "none": generation / tokens,
    }
    assert found.loss == pytest.approx(expected[objective.decision], rel=1e-6)


@pytest.mark.parametrize("family", [0, 1, 2], ids=["llama", "qwen2", "starcoder2"])
def test_other_families_equal_the_reference(family: int, sequences: Any, tiny_tokenizer: Any) -> None:
    model = families(len(tiny_tokenizer))[family]
    check_model(model)
    batch = sequences()
    assert measured(model, batch) == pytest.approx(reference(model, batch), rel=1e-6)


def test_no_sequence_sees_another(sequences: Any, tiny_model: Any) -> None:
    batch = sequences()
    others = [replace(one, ids=tuple((token + 1) % 700 for token in one.ids)) for one in batch]
    packed, alone = LossModel(tiny_model, 0), pack(batch[2:3])
    with attending_packed(tiny_model), torch.no_grad():
        expected = packed(alone).generation
        for neighbours in (batch, others):
            members = [*neighbours[:2], batch[2], *neighbours[3:]]
            start = sum(len(one.targets) for one in members[:2])
            found = packed(pack(members)).generation[start : start + len(expected)]
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_the_decision_is_the_probability_of_cc_after_eof(sequences: Any, tiny_model: Any, tiny_tokenizer: Any) -> None:
    cc, eof = tiny_tokenizer.convert_tokens_to_ids(["<cc>", "<eof>"])
    batch = sequences()
    with attending_packed(tiny_model), torch.no_grad():
        found = LossModel(tiny_model, cc)(pack(batch)).p_retrieve
    for sequence, p in zip(batch, found, strict=True):
        prompt = sequence.ids[: sequence.ids.index(eof) + 1]
        alone = tiny_model(input_ids=torch.tensor([prompt])).logits[0, -1].softmax(-1)[cc]
        torch.testing.assert_close(p, alone, rtol=1e-4, atol=1e-7)


def test_the_head_runs_only_where_a_loss_is(sequences: Any, tiny_model: Any) -> None:
    batch = pack(sequences())
    rows = []
    handle = tiny_model.get_output_embeddings().register_forward_hook(lambda _, given, __: rows.append(len(given[0])))
    with attending_packed(tiny_model), torch.no_grad():
        LossModel(tiny_model, 0)(batch)
    handle.remove()
    assert rows == [len(batch.target) + len(batch.decision)]
    assert rows[0] < batch.tokens.numel() / 2


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_no_gradient_from_context_prefix_suffix_or_control_tokens(
    name: ObjectiveName, sequences: Any, tiny_model: Any
) -> None:
    """The loss depends on the logits of no place but those that predict the decision or a target."""
    model = copy.deepcopy(tiny_model)
    batch = sequences(name)
    packed = pack(batch)
    kept: list[torch.Tensor] = []

    def keep(_: Any, __: Any, output: Any) -> None:
        output.last_hidden_state.retain_grad()
        kept.append(output.last_hidden_state)

    model.base_model.register_forward_hook(keep)
    with attending_packed(model):
        generation, decision = loss_sums(LossModel(model, 0)(packed), packed)
    LossWeights.of(OBJECTIVES[name], batch, 1.0, 1.0).loss(generation, decision).backward()

    predicting, start = set(), 0
    for sequence in batch:
        predicting |= {start + place - 1 for place in range(sequence.target_start, len(sequence.ids))}
        if OBJECTIVES[name].decision != "none":
            predicting.add(start + sequence.decision - 1)
        start += len(sequence.ids)
    (hidden,) = kept
    assert hidden.grad is not None
    assert set(hidden.grad[0].abs().sum(-1).nonzero().flatten().tolist()) == predicting


def test_gradients_equal_those_of_one_sequence_after_another(sequences: Any, tiny_model: Any) -> None:
    batch = sequences()
    weights = LossWeights.of(OBJECTIVES["selective"], batch, 1.0, 1.0)

    def gradients(parts: Sequence[Sequence[TrainingSequence]]) -> list[torch.Tensor]:
        model = copy.deepcopy(tiny_model)
        with attending_packed(model):
            for part in parts:
                packed = pack(part)
                weights.loss(*loss_sums(LossModel(model, 0)(packed), packed)).backward()
        return [parameter.grad for parameter in model.parameters()]

    for found, expected in zip(gradients([batch]), gradients([[one] for one in batch]), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_positive_instances_can_weigh_more_within_l_eval(sequences: Any, tiny_model: Any) -> None:
    batch = sequences()
    decisions = [reference(tiny_model, [one])[1] for one in batch]
    weights = [3.0 if one.wants_context else 1.0 for one in batch]
    assert 0 < weights.count(3.0) < len(batch)
    expected = sum(weight * nll for weight, nll in zip(weights, decisions, strict=True)) / sum(weights)
    found = LossWeights.of(OBJECTIVES["selective"], batch, 1.0, 3.0).means(*measured(tiny_model, batch, 3.0))
    assert found.L_eval == pytest.approx(expected, rel=1e-6)


def test_a_model_gets_its_own_attention_back(tiny_model: Any) -> None:
    ids = torch.arange(20)[None]
    before = tiny_model(input_ids=ids).logits
    with attending_packed(tiny_model), pytest.raises(RuntimeError, match="packed_lengths"):
        tiny_model(input_ids=ids)
    assert torch.equal(tiny_model(input_ids=ids).logits, before)


def test_a_model_that_scales_its_logits_is_refused(tiny_tokenizer: Any) -> None:
    model = GraniteForCausalLM(GraniteConfig(vocab_size=len(tiny_tokenizer), logits_scaling=4.0, **SMALL)).eval()
    with pytest.raises(UserError, match="GraniteForCausalLM"):
        check_model(model)
