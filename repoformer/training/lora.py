"""Low-rank adapters (LoRA) through peft: beside all linear layers, with the new tokens' embeddings trained in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from repoformer.errors import UserError
from repoformer.training.recipe import LoraSettings

FOLDER = "adapter"
"""Where an export keeps its adapters, beside the merged model."""


def linear_layers(model: Any, settings: LoraSettings) -> dict[str, nn.Linear]:
    """The layers that get an adapter, by name; the output head never does."""
    head = model.get_output_embeddings()
    linear = {
        name: module for name, module in model.named_modules() if isinstance(module, nn.Linear) and module is not head
    }
    if settings.targets == "all-linear":
        return linear
    unknown = [target for target in settings.targets if not any(_is_called(name, target) for name in linear)]
    if unknown:
        known = sorted({name.rpartition(".")[2] for name in linear})
        raise UserError(f"lora.targets: no linear layer is called {unknown[0]!r}; this model has {', '.join(known)}")
    return {name: layer for name, layer in linear.items() if any(_is_called(name, one) for one in settings.targets)}


def add_adapters(model: Any, settings: LoraSettings, new_tokens: Sequence[int]) -> Any:
    """Put adapters into ``model``, in place, and freeze the rest of it; returns peft's view of it, which can save them.

    An adapter starts as no change. Of the embeddings only the rows ``new_tokens`` are trained, with them those of a
    tied output head.
    """
    from peft import LoraConfig, get_peft_model

    embedding = next(name for name, module in model.named_modules() if module is model.get_input_embeddings())
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,  # type: ignore[arg-type]  # any number does
        lora_dropout=settings.dropout,
        target_modules=list(linear_layers(model, settings)),
        trainable_token_indices={embedding: list(new_tokens)} if new_tokens else None,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def save_adapters(adapted: Any, weights: Mapping[str, Any], folder: Path) -> None:
    """Write the adapters as a folder that peft loads; ``weights`` are the adapted model's by name."""
    named = {f"base_model.model.{name}": weight for name, weight in weights.items()}
    adapted.save_pretrained(folder, state_dict=named, save_embedding_layers=False)


def merged(base: Any, folder: Path) -> Any:
    """``base``, which the adapters in ``folder`` were trained beside, with them added to its weights; in place."""
    from peft import PeftModel

    return PeftModel.from_pretrained(base, str(folder)).merge_and_unload()


def _is_called(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")
