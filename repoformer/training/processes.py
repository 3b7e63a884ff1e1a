"""The processes of a run, and how they share the model: what was asked for, or a refusal, never less without a word."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, DistributedType, InitProcessGroupKwargs
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from repoformer.errors import UserError
from repoformer.training.recipe import TrainRecipe

# What launchers tell processes about the sharing they ask for, and what accelerate must then have made of it.
_ASKED = {
    "ACCELERATE_USE_DEEPSPEED": DistributedType.DEEPSPEED,
    "ACCELERATE_USE_FSDP": DistributedType.FSDP,
}


def start_processes(recipe: TrainRecipe) -> Accelerator:
    """The accelerator, if the processes that it sees are those that were launched and asked for.

    Launchers fall back to one process, or to many that do not know of each other, and accelerate to plain data
    parallelism where it finds no GPU for what was asked, without a word.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    share = recipe.micro_batch * launched
    if recipe.batch % share:
        raise UserError(
            f"batch={recipe.batch} is not a multiple of {launched} processes times micro_batch={recipe.micro_batch}; "
            f"nearest is batch={max(1, round(recipe.batch / share)) * share}"
        )
    # accelerate knows the option by its old name only.
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    # The causal mask that some models keep as a buffer is the same everywhere: not worth sending at each step.
    handlers: list[Any] = [DistributedDataParallelKwargs(broadcast_buffers=False, gradient_as_bucket_view=True)]
    if _asked_for("ACCELERATE_USE_DEEPSPEED") and not torch.cuda.is_available():
        _keep_deepspeed_from_compiling()
        handlers.append(InitProcessGroupKwargs(backend="gloo"))  # accelerate takes each process for alone otherwise
    accelerator = Accelerator(
        mixed_precision="bf16" if recipe.precision == "bfloat16" else "no",
        gradient_accumulation_steps=recipe.batch // share,
        kwargs_handlers=handlers,
    )
    _check(accelerator, launched, recipe)
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        # transformers would spread weights while it loads them, whatever zero3_init_flag says, and new tokens' rows be
        # added to a part. Every process loads the whole model; DeepSpeed spreads it afterwards.
        unset_hf_deepspeed_config()
        accelerator.state.deepspeed_plugin.deepspeed_config.update(
            train_micro_batch_size_per_gpu=recipe.micro_batch, gradient_clipping=recipe.clip_norm
        )
    return accelerator


def layout(accelerator: Accelerator) -> str:
    """How checkpoints are cut up: ``whole`` where any number of processes reads them."""
    processes = accelerator.num_processes
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        return f"zero{accelerator.state.deepspeed_plugin.zero_stage} of {processes} process(es)"
    if accelerator.distributed_type is DistributedType.FSDP:
        return f"fsdp of {processes} process(es)"
    return "whole"


def _check(accelerator: Accelerator, launched: int, recipe: TrainRecipe) -> None:
    seen = accelerator.num_processes
    for variable, wanted in _ASKED.items():
        if _asked_for(variable) and accelerator.distributed_type is not wanted:
            needs = "GPUs" if wanted is DistributedType.FSDP else "no ACCELERATE_USE_CPU and no --cpu"
            raise UserError(
                f"{wanted.value} was asked for ({variable}), but accelerate runs {accelerator.distributed_type.value}; "
                f"it needs {needs}, or launch with recipes/accelerate/cpu.yaml"
            )
    if seen != launched:
        raise UserError(
            f"launched with WORLD_SIZE={launched}, but accelerate sees {seen} process(es); without GPUs launch with "
            "ACCELERATE_USE_CPU=true and --multi_gpu"
        )
    if recipe.processes not in (None, seen):
        raise UserError(
            f"processes={recipe.processes} in the recipe, but there are {seen}; launch as many, or set processes={seen}"
        )


def _asked_for(variable: str) -> bool:
    return os.environ.get(variable, "false").lower() == "true"


def _keep_deepspeed_from_compiling() -> None:
    """DeepSpeed builds a communication kernel at its first start on CPUs, for minutes; gloo does without."""
    import deepspeed

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
