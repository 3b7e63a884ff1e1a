"""Loading: what is refused is refused in one clear line, and a foreign model's settings are detected, not assumed."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from repoformer.errors import UserError
from repoformer.models import loading
from repoformer.models.loading import detect_dialect, detect_settings, load_model
from repoformer.models.settings import ModelSettings, save_settings
from repoformer.prompt.dialects import DIALECTS, Dialect


@pytest.fixture(scope="module")
def exported(tiny_model: Any, tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model as training exports one."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    copy.deepcopy(tiny_model).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    settings = ModelSettings(
        style="selective", preset="pocket", thresholds={"chunk": 0.4}, thresholds_from="validation"
    )
    save_settings(folder, settings)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    return Path(shutil.copytree(exported, tmp_path / "model"))


def refused(name: str | Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        load_model(name, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_an_exported_model_comes_back_as_it_was(exported: Path, tiny_model: Any) -> None:
    loaded = load_model(exported)
    tokens = torch.tensor([[30, 40, 50]])
    assert torch.equal(loaded.model(tokens).logits, tiny_model(tokens).logits)
    assert loaded.model.dtype == torch.float32
    assert not loaded.model.training
    assert loaded.settings == ModelSettings(
        style="selective", preset="pocket", thresholds={"chunk": 0.4}, thresholds_from="validation"
    )
    assert (loaded.name, loaded.settings_from, loaded.positions) == (str(exported), "repoformer.json", 1024)


def test_its_builder_has_its_style_unless_another_is_asked_for(exported: Path) -> None:
    loaded = load_model(exported)
    assert loaded.builder().style == "selective"
    assert loaded.builder("base").style == "base"
    assert loaded.builder().budgets == loaded.settings.budgets


def test_half_precision_is_for_the_gpu_only(exported: Path) -> None:
    if torch.cuda.is_available():
        assert load_model(exported, device="cuda").model.dtype == torch.bfloat16
    else:
        assert refused(exported, device="cuda") == "device 'cuda': no GPU is visible here; use cpu"
    assert "write cpu, cuda or cuda:N" in refused(exported, device="gpu please")


# -- what a user may have got wrong ----------------------------------------------------------------------------------


def test_a_missing_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "nowhere") == f"model '{tmp_path}/nowhere': no such folder; check the path"
    assert refused("./nowhere") == "model './nowhere': no such folder; check the path"


def test_a_file(folder: Path) -> None:
    assert "this is a file; name the folder" in refused(folder / "config.json")


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "no config.json in this folder" in refused(tmp_path)


def test_missing_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "no *.safetensors" in refused(folder)


def test_pickled_weights_are_never_opened(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    message = refused(folder)
    assert "only pickled weights" in message
    assert "convert them to safetensors" in message


@pytest.mark.parametrize("keep", [0, 7, 200, -1000])
def test_broken_safetensors(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert "broken safetensors" in refused(folder)


def test_weights_that_the_file_lacks_are_not_made_up(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "1 weights of its configuration are not in its files, transformer.h.1.mlp.c_fc.weight" in refused(folder)


def test_weights_of_another_shape(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_embd": 64}))
    assert "weights of its configuration are not in its files" in refused(folder)


def test_a_tokenizer_with_more_tokens_than_the_model(folder: Path, tiny_tokenizer: Any) -> None:
    larger = copy.deepcopy(tiny_tokenizer)
    larger.add_tokens(["<more>"])
    larger.save_pretrained(folder)
    assert "its tokenizer has 771 tokens, its weights embed 770" in refused(folder)


def test_a_broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    assert str(folder) in refused(folder)


def test_a_model_that_brings_its_own_code_is_not_run(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    assert "custom code" in refused(folder)
    assert not (folder / "ran").exists()


def test_a_missing_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "no usable tokenizer" in refused(folder)


def test_broken_settings(folder: Path) -> None:
    (folder / "repoformer.json").write_text('{"stile": "base"}')
    assert "stile: unknown key (did you mean style?)" in refused(folder)


def test_the_pocket_model_without_its_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(loading, "POCKET", tmp_path / "pocket")
    assert "model 'pocket': its weights are not installed" in refused("pocket")


def test_the_pocket_model_is_the_packaged_one(monkeypatch: pytest.MonkeyPatch, exported: Path) -> None:
    monkeypatch.setattr(loading, "POCKET", exported)
    assert load_model("pocket").name == "pocket"


# -- the hub ---------------------------------------------------------------------------------------------------------


def test_the_hub_is_not_asked_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def snapshot(name: str, *, local_files_only: bool, allow_patterns: list[str]) -> str:
        from huggingface_hub.errors import LocalEntryNotFoundError

        assert not [pattern for pattern in allow_patterns if pattern.endswith((".bin", ".py", ".pt"))]
        asked.append(not local_files_only)
        raise LocalEntryNotFoundError("not here")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert "allow fetching it from the hub (--download)" in refused("some/model")
    assert "check the network" in refused("some/model", download=True)
    assert asked == [False, True]


def test_a_model_in_the_hub_cache_is_used_without_network(monkeypatch: pytest.MonkeyPatch, exported: Path) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(exported))
    assert load_model("some/model").name == "some/model"


# -- foreign models --------------------------------------------------------------------------------------------------


def vocabulary(dialect: Dialect) -> set[str]:
    """The control tokens of one family, and some that say nothing."""
    tokens = (dialect.begin, dialect.prefix, dialect.suffix, dialect.middle, dialect.end, dialect.file_separator)
    return {token for token in tokens if token} | {"a", "b", "<pad>"}


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_every_dialect_is_told_by_its_tokens(name: str) -> None:
    assert detect_dialect(vocabulary(DIALECTS[name]), "m").name == name


def test_a_vocabulary_of_two_dialects_is_refused() -> None:
    both = vocabulary(DIALECTS["starcoder"]) | vocabulary(DIALECTS["codellama"])
    with pytest.raises(UserError, match=r"fit the dialects starcoder and codellama; write .* repoformer\.json"):
        detect_dialect(both, "m")


def test_a_vocabulary_of_no_dialect_is_refused_by_what_it_lacks() -> None:
    with pytest.raises(UserError, match="nearest is starcoder, missing <fim_middle>, <fim_suffix>"):
        detect_dialect({"a", "<fim_prefix>", "<|endoftext|>"}, "m")


def test_settings_of_a_foreign_model_are_detected(folder: Path) -> None:
    (folder / "repoformer.json").unlink()
    loaded = load_model(folder)
    assert (loaded.settings.dialect, loaded.settings.style, loaded.settings.preset) == (
        "starcoder",
        "selective",
        "pocket",
    )
    assert loaded.settings_from == "detected from the tokenizer"


@pytest.mark.parametrize(
    ("positions", "preset"), [(8192, "paper"), (None, "paper"), (2048, "pocket"), (1024, "pocket")]
)
def test_the_preset_fits_the_positions(base_tokenizer: Any, positions: int | None, preset: str) -> None:
    settings = detect_settings(base_tokenizer, positions, "m")
    assert (settings.style, settings.preset) == ("base", preset)


def test_a_model_with_too_few_positions_for_any_preset_is_refused(base_tokenizer: Any) -> None:
    with pytest.raises(UserError, match="512 positions, the smallest preset needs 965"):
        detect_settings(base_tokenizer, 512, "m")
