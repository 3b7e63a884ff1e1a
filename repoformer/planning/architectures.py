"""Shapes of the models that recipes name, without their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from repoformer.errors import UserError
from repoformer.models.loading import model_folder
from repoformer.models.settings import load_settings
from repoformer.prompt.budgets import COMPLETION, TRAINING, TrainingBudgets


def _starcoder(width: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "gpt_bigcode",
        "vocab_size": 49152,
        "n_positions": 8192,
        "n_embd": width,
        "n_inner": 4 * width,
        "n_layer": layers,
        "n_head": heads,
        "multi_query": True,
        "activation_function": "gelu_pytorch_tanh",
        "bos_token_id": 0,
        "eos_token_id": 0,
    }


PUBLISHED: dict[str, dict[str, Any]] = {
    "bigcode/starcoderbase-1b": _starcoder(2048, 24, 16),
    "bigcode/starcoderbase-3b": _starcoder(2816, 36, 22),
    "bigcode/starcoderbase-7b": _starcoder(4096, 42, 32),
    "bigcode/starcoderbase": _starcoder(6144, 40, 48),
    "bigcode/starcoder": _starcoder(6144, 40, 48),
    "bigcode/starcoder2-3b": {
        "model_type": "starcoder2",
        "vocab_size": 49152,
        "hidden_size": 3072,
        "intermediate_size": 12288,
        "num_hidden_layers": 30,
        "num_attention_heads": 24,
        "num_key_value_heads": 2,
        "max_position_embeddings": 16384,
        "sliding_window": 4096,
        "use_bias": True,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "Qwen/Qwen2.5-Coder-1.5B": {
        "model_type": "qwen2",
        "vocab_size": 151936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": True,
    },
}
"""Configurations of the models that recipes name, as published; those of a downloaded model go first."""


@dataclass(frozen=True, eq=False)
class Architecture:
    """A model's configuration, and where it was read."""

    name: str
    config: Any
    origin: str
    budgets: TrainingBudgets

    @cached_property
    def parameters(self) -> int:
        """Number of parameters, a tied one counted once; the two decision tokens are not among them."""
        return sum(parameter.numel() for parameter in self.build(self.layers).parameters())

    @cached_property
    def layer_parameters(self) -> int:
        """Number of parameters of one layer."""
        one, two = (sum(parameter.numel() for parameter in self.build(layers).parameters()) for layers in (1, 2))
        return int(two - one)

    @property
    def layers(self) -> int:
        """Number of transformer blocks."""
        return int(self.config.num_hidden_layers)

    @property
    def width(self) -> int:
        """Size of the residual stream."""
        return int(self.config.hidden_size)

    @property
    def vocabulary(self) -> int:
        """Rows of the embedding."""
        return int(self.config.vocab_size)

    def build(self, layers: int, dtype: torch.dtype = torch.float32, device: str = "meta") -> Any:
        """A model of this shape with another number of layers; on the meta device it takes no memory."""
        from transformers import AutoModelForCausalLM

        values = self.config.to_dict()
        # A list with an entry for each layer is made anew from the number of layers.
        kept = {name: value for name, value in values.items() if not _per_layer(value, self.layers)}
        config = type(self.config)(**{**kept, "num_hidden_layers": layers})
        with torch.device(device):
            return AutoModelForCausalLM.from_config(config, dtype=dtype)


def architecture(name: str) -> Architecture:
    """The shape of the model that a recipe calls ``name``: from its files where they are here, else as published."""
    from transformers import AutoConfig

    try:
        folder = model_folder(name)
    except UserError as error:
        if name not in PUBLISHED:
            raise UserError(f"{error}; shapes known without their files: {', '.join(PUBLISHED)}") from None
        values = dict(PUBLISHED[name])
        config = AutoConfig.for_model(values.pop("model_type"), **values)
        return Architecture(name, config, "as published", _budgets(config, None))
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UserError(f"model {name!r}: cannot read its configuration ({' '.join(str(error).split())})") from None
    return Architecture(
        name, config.get_text_config(decoder=True), str(folder / "config.json"), _budgets(config, folder)
    )


def _per_layer(value: Any, layers: int) -> bool:
    return isinstance(value, list) and len(value) == layers


def _budgets(config: Any, folder: Path | None) -> TrainingBudgets:
    """Those of the model's preset: its settings' or, without any, the largest that its positions hold."""
    settings = load_settings(folder) if folder else None
    if settings is not None:
        return settings.training_budgets
    needed = COMPLETION["paper"].prompt + COMPLETION["paper"].new_tokens_function
    positions = getattr(config, "max_position_embeddings", None)
    return TRAINING["paper" if positions is None or positions >= needed else "pocket"]
