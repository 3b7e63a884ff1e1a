"""Fill-in-the-middle models of other families, tiny and with random weights, through the same trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config, Starcoder2Config

from repoformer.errors import UserError
from repoformer.models.loading import load_model
from repoformer.prompt.dialects import DIALECTS
from repoformer.training.loop import train

SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
    "initializer_range": 0.2,
}
CONFIGS = {"starcoder2": Starcoder2Config, "qwen2.5-coder": Qwen2Config}


def byte_tokenizer(controls: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = [*controls, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(f"word{number}" for number in range(500))]
    tokenizer = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    fast.add_special_tokens({"extra_special_tokens": controls})
    return fast


def base(folder: Path, family: str, without: str | None = None) -> Path:
    dialect = DIALECTS[family]
    controls = [dialect.end, dialect.prefix, dialect.suffix, dialect.middle, str(dialect.file_separator)]
    tokenizer = byte_tokenizer([control for control in controls if control != without])
    torch.manual_seed(0)
    config = CONFIGS[family](vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **SHAPE)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("lora", [None, {"rank": 4}], ids=["all weights", "lora"])
@pytest.mark.parametrize("family", CONFIGS)
def test_another_family_trains_and_its_export_knows_its_dialect(
    family: str, lora: dict[str, Any] | None, make_recipe: Any, tmp_path: Path
) -> None:
    recipe = make_recipe(model=str(base(tmp_path / "base", family)), lora=lora, learning_rate=0.02, epochs=4)
    train(recipe)
    losses = [json.loads(line).get("loss") for line in (recipe.out / "metrics.jsonl").read_text().splitlines()]
    seen = [loss for loss in losses if loss is not None]
    assert seen[-1] < seen[0] - 0.1
    loaded = load_model(recipe.out)
    assert (loaded.settings.dialect, loaded.settings.style) == (family, "selective")
    assert loaded.builder().retrieve_id == loaded.model.get_input_embeddings().num_embeddings - 2


def test_a_base_without_a_fill_in_the_middle_token_is_refused_by_its_name(make_recipe: Any, tmp_path: Path) -> None:
    folder = base(tmp_path / "base", "qwen2.5-coder", without="<|fim_middle|>")
    with pytest.raises(UserError, match=r"missing <\|fim_middle\|>"):
        train(make_recipe(model=str(folder)))
