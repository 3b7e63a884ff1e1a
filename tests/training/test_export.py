"""The exported folder is a model like any other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from repoformer.code.storage import write_json
from repoformer.models.example_encoding import ExampleEncoding, save_encoding
from repoformer.models.fingerprint import tokenizer_hash
from repoformer.models.loading import load_model
from repoformer.models.settings import ModelSettings, load_settings
from repoformer.training import loop
from repoformer.training.export import model_card
from repoformer.training.loop import train
from repoformer.training.objectives import OBJECTIVES
from repoformer.training.recipe import TrainRecipe


@pytest.fixture
def recipe(make_recipe: Any) -> TrainRecipe:
    trained: TrainRecipe = make_recipe()
    train(trained)
    return trained


def test_auto_classes_load_it_with_the_trained_weights(recipe: TrainRecipe) -> None:
    model = AutoModelForCausalLM.from_pretrained(recipe.out)
    trained = load_file(recipe.out / "checkpoints" / "step-00000006" / "model.safetensors")
    state = model.state_dict()
    assert all(torch.equal(state[name.removeprefix("model.")], value) for name, value in trained.items())
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    tokenizer = AutoTokenizer.from_pretrained(recipe.out)
    assert len(tokenizer) == model.config.vocab_size
    assert tokenizer.convert_tokens_to_ids("<cc>") == len(tokenizer) - 2


def test_only_safetensors_are_exported(recipe: TrainRecipe) -> None:
    assert not [path for path in recipe.out.iterdir() if path.suffix in (".bin", ".pt", ".pkl")]


def test_who_may_read_the_folder_may_read_every_file(recipe: TrainRecipe) -> None:
    modes = {(recipe.out / name).stat().st_mode for name in ("config.json", "model.safetensors", "tokenizer.json")}
    assert len(modes) == 1


@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_settings_say_how_it_was_trained(make_recipe: Any, objective: str) -> None:
    recipe = make_recipe(objective=objective, label_threshold=0.1)
    train(recipe)
    settings = load_settings(recipe.out)
    assert settings is not None
    assert settings.style == OBJECTIVES[recipe.objective].style
    assert (settings.dialect, settings.preset) == ("starcoder", "pocket")
    assert settings.labels["threshold"] == 0.1
    assert bool(settings.thresholds) == OBJECTIVES[recipe.objective].decides
    assert ("validation examples at step 6" in settings.thresholds_from) == OBJECTIVES[recipe.objective].decides
    load_model(recipe.out).builder()


def test_how_the_labels_were_made_goes_along(make_recipe: Any, data_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(data_folder, tmp_path / "data" / "assemble")
    made = {"label": {"model": "/some/where/pocket"}, "retrieve": {"top": 3}, "seed": 0}
    write_json(tmp_path / "data" / "data-card.json", {"recipe": made})
    recipe = make_recipe(data=str(tmp_path / "data" / "assemble"))
    train(recipe)
    settings = load_settings(recipe.out)
    assert settings is not None
    assert settings.labels == {"threshold": 0.0, "label": {"model": "pocket"}, "retrieve": {"top": 3}}


def test_the_preset_of_the_examples_goes_along_whatever_the_base_model_has_room_for(
    make_recipe: Any, data_folder: Path, tmp_path: Path, tiny_model: Any, base_tokenizer: Any
) -> None:
    data, roomy = tmp_path / "data", tmp_path / "roomy"
    shutil.copytree(data_folder, data)
    save_encoding(data, ExampleEncoding(preset="pocket", tokenizer=tokenizer_hash(base_tokenizer)))
    torch.manual_seed(0)
    config = type(tiny_model.config)(**tiny_model.config.to_dict() | {"n_positions": 8192})
    type(tiny_model)(config).save_pretrained(roomy)
    base_tokenizer.save_pretrained(roomy)
    assert load_model(roomy).settings.preset == "paper"
    recipe = make_recipe(model=str(roomy), data=str(data))
    train(recipe)
    assert load_model(recipe.out).settings.preset == "pocket"


def test_the_card_says_what_the_labels_gain_is_in(make_recipe: Any) -> None:
    def said(labels: dict[str, Any]) -> str:
        return model_card(make_recipe(), ModelSettings(style="selective", labels=labels), 1, None)

    assert "wants context when edit similarity gains" in said({})
    assert "wants context when edit similarity gains" in said({"label": {"by": "edit_similarity"}})
    assert "wants context when the mean log likelihood" in said({"label": {"by": "likelihood"}})


def test_fine_tuning_goes_on_from_a_fine_tuned_model(recipe: TrainRecipe, make_recipe: Any, tmp_path: Path) -> None:
    again = make_recipe(model=str(recipe.out), out=str(tmp_path / "again"))
    assert train(again).finished
    assert load_model(again.out).model.config.vocab_size == load_model(recipe.out).model.config.vocab_size


def test_a_run_that_dies_while_exporting_leaves_no_half_model(
    make_recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise OSError("disk full")

    recipe = make_recipe()
    with monkeypatch.context() as patch:
        patch.setattr(loop, "model_card", fail)
        with pytest.raises(OSError, match="disk full"):
            train(recipe)
    assert not (recipe.out / "config.json").exists()
    assert train(recipe).finished
    load_model(recipe.out)


def test_the_card_shows_what_was_measured(recipe: TrainRecipe) -> None:
    card = (recipe.out / "README.md").read_text()
    assert "| validation examples | 9 |" in card
    assert "| AUROC of P(`<cc>`) |" in card
    assert "| P(`<cc>`) | examples | mean | context helped |" in card
    assert str(recipe.out.parent) not in card, "no paths of this machine"
