"""The arithmetic of memory against what real training steps hold."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import GPTBigCodeConfig

from repoformer.config import parse_recipe
from repoformer.planning.architectures import Architecture, architecture
from repoformer.planning.memory import GIB, STRATEGIES, Load, memory, trained_parameters
from repoformer.prompt.budgets import TRAINING
from repoformer.training.lora import add_adapters
from repoformer.training.losses import LossModel
from repoformer.training.micro_batch import pack
from repoformer.training.packed_attention import attending_packed
from repoformer.training.recipe import TrainRecipe
from repoformer.training.sequence import TrainingSequence
from repoformer.training.start import set_dropout
from repoformer.training.step import build_optimizer

SEQUENCES = [TrainingSequence("", tuple(range(3, 203)), -1, 160, False) for _ in range(4)]


class Held(TorchDispatchMode):
    """Counts the bytes of all tensors that are alive, after each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._storages: set[int] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.hold(tensor)
        return result

    def hold(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self._storages:
            return
        self._storages.add(storage._cdata)
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._release, storage._cdata, storage.nbytes())

    def _release(self, identity: int, size: int) -> None:
        self._storages.discard(identity)
        self.now -= size


def small(layers: int = 6) -> Architecture:
    config = GPTBigCodeConfig(
        vocab_size=800, n_positions=1024, n_embd=128, n_layer=layers, n_head=4, bos_token_id=0, eos_token_id=0
    )
    return Architecture("small", config, "here", TRAINING["pocket"])


def recipe(**values: Any) -> TrainRecipe:
    needed = {"model": "m", "data": "d", "out": "o", "batch": 8, "micro_batch": 4}
    return parse_recipe(TrainRecipe, needed | values, "r")


def peak(shape: Architecture, recipe: TrainRecipe) -> int:
    """The most bytes that two steps of two forward passes held."""
    model = shape.build(shape.layers, device="cpu").train()
    set_dropout(model, recipe.dropout)
    for module in model.modules():
        if isinstance(getattr(module, "attn_dropout", None), float):
            module.attn_dropout = 0.0  # on CPUs attention with dropout is not fused
    if recipe.activation_checkpointing:
        model.activation_checkpointing_enable()
    if recipe.lora:
        add_adapters(model, recipe.lora, [1, 2])
    loss_model = LossModel(model, 1).train()
    optimizer = build_optimizer(loss_model, recipe)
    with attending_packed(model), Held() as held:
        for parameter in model.parameters():
            held.hold(parameter)
        for _ in range(2):
            for _ in range(2):
                loss_model(pack(SEQUENCES)).generation.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return held.peak


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"dropout": 0.1},
        {"activation_checkpointing": True},
        {"lora": {"rank": 4}},
        {"lora": {"rank": 4}, "activation_checkpointing": True},
    ],
    ids=str,
)
def test_the_estimate_is_near_what_real_steps_hold(values: dict[str, Any]) -> None:
    shape, plan = small(), recipe(**values)
    tokens = sum(len(one.ids) for one in SEQUENCES)
    predicted = sum(len(one.targets) for one in SEQUENCES)
    needs = memory(shape, plan, STRATEGIES["ddp"], 1, Load(tokens, predicted))
    estimated, measured = (needs.total - needs.reserved) * GIB, peak(shape, plan)
    print(f"{values}: estimated {estimated / 2**20:.1f} MiB, measured {measured / 2**20:.1f}")
    assert estimated == pytest.approx(measured, rel=0.1)


def test_what_is_spread_shrinks_with_the_number_of_gpus() -> None:
    shape, load = small(), Load(2048, 256)
    for strategy in STRATEGIES.values():
        one, eight = (memory(shape, recipe(), strategy, gpus, load) for gpus in (1, 8))
        for part, spread in (
            ("weights", strategy.spreads_weights),
            ("gradients", strategy.spreads_gradients),
            ("optimiser", strategy.spreads_optimiser),
        ):
            assert getattr(one, part) == pytest.approx(getattr(eight, part) * (8 if spread else 1))
        assert one.activations == eight.activations


def test_sixteen_bytes_a_parameter_without_spreading() -> None:
    """Weights, gradients and two moments in float32, whichever way they are held."""
    shape, load = small(), Load(1, 1)
    for strategy in STRATEGIES.values():
        needs = memory(shape, recipe(precision="bfloat16"), strategy, 1, load)
        assert (needs.weights + needs.gradients + needs.optimiser) * GIB == 16 * shape.parameters


def test_trained_parameters_are_those_that_peft_trains() -> None:
    shape = small(2)
    plan = recipe(lora={"rank": 4, "targets": ["c_attn", "c_fc"]})
    adapted = add_adapters(shape.build(2), plan.lora, [1, 2])  # type: ignore[arg-type]
    trainable = sum(one.numel() for one in adapted.parameters() if one.requires_grad)
    assert trained_parameters(shape, plan.lora) == trainable


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("bigcode/starcoderbase-1b", 1.137),
        ("bigcode/starcoderbase-3b", 3.043),
        ("bigcode/starcoderbase-7b", 7.327),
        ("bigcode/starcoder", 15.517),
        ("bigcode/starcoder2-3b", 3.030),
        ("Qwen/Qwen2.5-Coder-1.5B", 1.544),
    ],
)
def test_published_sizes(name: str, billions: float) -> None:
    shape = architecture(name)
    assert shape.parameters / 1e9 == pytest.approx(billions, abs=5e-4)
    assert shape.budgets == TRAINING["paper"]


def test_a_model_that_is_here_is_planned_by_its_own_configuration(tmp_path: Path) -> None:
    small(3).config.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").touch()
    shape = architecture(str(tmp_path))
    assert (shape.layers, shape.width, shape.vocabulary) == (3, 128, 800)
