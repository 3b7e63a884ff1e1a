"""Adapters: what they train, and that they come back, beside their base and merged into it."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from repoformer.config import parse_recipe
from repoformer.errors import UserError
from repoformer.models.loading import load_model
from repoformer.training.checkpoints import Checkpoints
from repoformer.training.loop import train
from repoformer.training.lora import FOLDER, linear_layers
from repoformer.training.recipe import LoraSettings, TrainRecipe
from repoformer.training.start import start_from

LORA = {"rank": 4, "alpha": 8}


def metrics(out: Path) -> list[float]:
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def test_only_adapters_and_the_two_new_rows_are_trained(make_recipe: Any) -> None:
    recipe = make_recipe(lora=LORA)
    start = start_from(recipe)
    trainable = {name for name, weight in start.model.named_parameters() if weight.requires_grad}
    assert {name.rpartition(".lora_")[0] for name in trainable if ".lora_" in name} == set(
        linear_layers(start_from(make_recipe()).model, LoraSettings())
    )
    (rows,) = (start.model.get_parameter(name) for name in trainable if ".lora_" not in name)
    assert rows.shape == (2, start.model.config.hidden_size)
    assert start.vocabulary == start_from(make_recipe()).vocabulary


def test_the_export_is_the_trained_model_merged(make_recipe: Any) -> None:
    """Its old rows and its frozen weights are the base's, its new rows and its adapted weights are not."""
    recipe = make_recipe(lora=LORA)
    train(recipe)
    base, exported = start_from(make_recipe()).model, load_model(recipe.out).model
    old = base.get_input_embeddings().weight[:-2]
    rows = exported.get_input_embeddings().weight
    assert torch.equal(rows[:-2], old)
    assert not torch.isclose(rows[-2:], base.get_input_embeddings().weight[-2:]).all()
    assert exported.get_output_embeddings().weight is rows, "tied, still"
    changed = {
        name
        for name, weight in exported.state_dict().items()
        if name.startswith("transformer.h") and not torch.equal(weight, base.state_dict()[name])
    }
    assert changed == {f"{name}.weight" for name in linear_layers(base, LoraSettings())}


def test_adapters_load_in_a_fresh_process_and_say_the_same_as_the_merged_model(make_recipe: Any) -> None:
    recipe = make_recipe(lora=LORA)
    train(recipe)
    ids = torch.arange(30, 60)[None]
    merged = load_model(recipe.out).model(input_ids=ids).logits
    script = (
        "import sys, torch\n"
        "from peft import PeftModel\n"
        "from repoformer.training.recipe import TrainRecipe\n"
        "from repoformer.training.start import start_from\n"
        "recipe = TrainRecipe.model_validate_json(sys.argv[1])\n"
        "base = start_from(recipe.model_copy(update={'lora': None})).model\n"
        "model = PeftModel.from_pretrained(base, sys.argv[2]).eval()\n"
        "torch.save(model(input_ids=torch.arange(30, 60)[None]).logits, sys.argv[3])\n"
    )
    there = recipe.out / "logits.pt"
    arguments = [recipe.model_dump_json(), str(recipe.out / FOLDER), str(there)]
    subprocess.run([sys.executable, "-P", "-c", script, *arguments], check=True, timeout=200)
    assert torch.allclose(torch.load(there), merged, atol=1e-4)
    written = {path.name for path in (recipe.out / FOLDER).iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors"} <= written
    saved = load_file(recipe.out / FOLDER / "adapter_model.safetensors")
    assert {tensor.shape[0] for name, tensor in saved.items() if ".lora_" not in name} == {2}, "no whole embedding"
    assert not list((recipe.out / FOLDER).glob("*.bin"))


def test_a_stopped_run_goes_on_exactly(make_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    straight, stopped = (make_recipe(out=str(tmp_path / name), lora=LORA) for name in ("straight", "stopped"))
    train(straight)
    save = Checkpoints.save

    def stop(self: Checkpoints, *rest: Any) -> None:
        save(self, *rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "save", stop)
        train(stopped)
    assert train(stopped).finished
    assert metrics(straight.out) == metrics(stopped.out)
    one, other = (load_file(recipe.out / "model.safetensors") for recipe in (straight, stopped))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("values", [{"objective": "fim_only"}, {"activation_checkpointing": True}], ids=str)
def test_adapters_learn(make_recipe: Any, values: dict[str, Any]) -> None:
    recipe = make_recipe(lora=LORA, epochs=4, learning_rate=0.05, **values)
    train(recipe)
    losses = metrics(recipe.out)
    assert losses[-1] < losses[0] - 0.1


def test_a_target_that_is_not_there_is_named(make_recipe: Any) -> None:
    with pytest.raises(UserError, match=r"no linear layer is called 'q_proj'; this model has c_attn, c_fc, c_proj"):
        start_from(make_recipe(lora={"targets": ["q_proj"]}))


def test_adapters_are_part_of_what_a_run_is(make_recipe: Any) -> None:
    train(make_recipe(lora=LORA))
    with pytest.raises(UserError, match="lora was"):
        train(make_recipe(lora={**LORA, "rank": 2}))
    assert (
        parse_recipe(TrainRecipe, copy.deepcopy(make_recipe(lora=LORA).model_dump(mode="json")), "r").lora is not None
    )
