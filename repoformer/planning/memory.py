"""Memory of one GPU during training, part by part, for each way of spreading a model over GPUs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

from repoformer.planning.activations import saved_per_token
from repoformer.planning.architectures import Architecture
from repoformer.training.recipe import LoraSettings, TrainRecipe

GIB = 2**30

RESERVED = 2.0
"""GiB for CUDA's own context, communication buffers and fragmentation: a rule of thumb, not computed."""

# DeepSpeed's defaults, in elements: the buffer that gradients are reduced through, and what ZeRO-3 fetches ahead.
_REDUCE_BUCKET = 500_000_000
_PREFETCH_BUCKET = 50_000_000


@dataclass(frozen=True, slots=True)
class Strategy:
    """What is spread over GPUs, and in which precision it is held; ``recipes/accelerate/NAME.yaml`` launches it."""

    name: str
    spreads_weights: bool
    spreads_gradients: bool
    spreads_optimiser: bool
    deepspeed: bool
    """Weights and gradients in the training precision, a float32 copy with the optimiser; the others use autocast."""


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("ddp", False, False, False, deepspeed=False),
        Strategy("zero2", False, True, True, deepspeed=True),
        Strategy("zero3", True, True, True, deepspeed=True),
        Strategy("fsdp", True, True, True, deepspeed=False),
    )
}


@dataclass(frozen=True, slots=True)
class Memory:
    """GiB of one GPU at the peak of a step."""

    weights: float
    gradients: float
    optimiser: float
    activations: float
    logits: float
    working: float
    """Casts, buckets, and layers that are gathered from other GPUs while they are computed."""
    reserved: float = RESERVED

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(getattr(self, field.name) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Load:
    """What one GPU has in one forward pass, at most."""

    tokens: int
    predicted: int
    """Places that meet the output head: target tokens and decisions."""


def memory(shape: Architecture, recipe: TrainRecipe, strategy: Strategy, gpus: int, load: Load) -> Memory:
    """The memory of one of ``gpus`` GPUs; for one GPU nothing is spread."""
    half = recipe.precision == "bfloat16"
    trained = trained_parameters(shape, recipe.lora)
    weight_bytes = 2 if half and strategy.deepspeed else 4
    optimiser_bytes = 12 if strategy.deepspeed else 8  # two moments, and DeepSpeed's own copy of the weights
    saved = saved_per_token(shape, dropout=recipe.dropout, half=half, autocast=not strategy.deepspeed)
    return Memory(
        weights=(shape.parameters + (trained if recipe.lora else 0))
        * weight_bytes
        / (gpus if strategy.spreads_weights else 1)
        / GIB,
        gradients=trained * weight_bytes / (gpus if strategy.spreads_gradients else 1) / GIB,
        optimiser=trained * optimiser_bytes / (gpus if strategy.spreads_optimiser else 1) / GIB,
        activations=load.tokens * saved.total(shape.layers, recipe.activation_checkpointing) / GIB,
        logits=load.predicted * shape.vocabulary * (16 if half else 12) / GIB,
        working=_working(shape, strategy, half, trained, weight_bytes) / GIB,
    )


@cache
def trained_parameters(shape: Architecture, lora: LoraSettings | None) -> int:
    """All of the model's, or those of its adapters and of the two new tokens' embeddings."""
    if lora is None:
        return shape.parameters
    from repoformer.training.lora import linear_layers

    # An adapter has a row of its rank for each input and each output of its layer.
    one, two = (
        sum(sum(layer.weight.shape) for layer in linear_layers(shape.build(layers), lora).values()) for layers in (1, 2)
    )
    return lora.rank * (one + (shape.layers - 1) * (two - one)) + 2 * shape.width


def _working(shape: Architecture, strategy: Strategy, half: bool, trained: int, weight_bytes: int) -> float:
    """Bytes that stand only for a while."""
    widest = max(shape.layer_parameters, shape.vocabulary * shape.width)
    if strategy.deepspeed:
        bucket = min(trained, _REDUCE_BUCKET) * weight_bytes
        gathered = (2 * widest + _PREFETCH_BUCKET) * weight_bytes if strategy.spreads_weights else 0
        return bucket + gathered
    if strategy.spreads_weights:  # two layers at once, and the gradient of one, before they are spread again
        return widest * (3 * (2 if half else 4))
    return shape.parameters * 2 if half else 0  # autocast keeps the casts of a whole forward pass
