"""Checkpoints: whole or not there at all."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from repoformer.errors import UserError
from repoformer.training.checkpoints import Checkpoints, Progress, check_same, keep_names_plain


@pytest.fixture
def accelerator() -> Accelerator:
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(3, 3)
    accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    keep_names_plain(accelerator)
    return accelerator


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints", keep=2)


def names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_none_at_first(checkpoints: Checkpoints) -> None:
    assert checkpoints.newest() is None
    assert checkpoints.best is None


def test_the_newest_ones_stay(checkpoints: Checkpoints, accelerator: Accelerator) -> None:
    for step in (1, 2, 3):
        checkpoints.save(accelerator, Progress(step, {"seed": 0}))
    assert checkpoints.newest() == Progress(3, {"seed": 0})
    assert names(checkpoints) == ["step-00000002", "step-00000003"]


@pytest.mark.parametrize("damage", ["truncate", "remove", "garble"])
def test_a_broken_one_is_passed_over_and_written_anew(
    checkpoints: Checkpoints, accelerator: Accelerator, damage: str
) -> None:
    for step in (1, 2):
        checkpoints.save(accelerator, Progress(step, {}))
    weights = checkpoints.path(2) / "model.safetensors"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "remove":
        weights.unlink()
    else:
        (checkpoints.path(2) / "progress.json").write_text("{")
    assert checkpoints.newest() == Progress(1, {})
    checkpoints.save(accelerator, Progress(2, {}))
    assert checkpoints.newest() == Progress(2, {})


def test_a_save_that_fails_leaves_the_newest_alone(
    checkpoints: Checkpoints, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(accelerator, Progress(1, {}))

    def full(output_dir: str) -> None:
        (Path(output_dir) / "model.safetensors").parent.mkdir()
        (Path(output_dir) / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(accelerator, "save_state", full)
    with pytest.raises(UserError, match="step-00000002: .* that of step 1 stands .*No space left"):
        checkpoints.save(accelerator, Progress(2, {}))
    assert names(checkpoints) == ["step-00000001"]
    assert checkpoints.newest() == Progress(1, {})


def test_what_a_killed_save_left_is_no_checkpoint(checkpoints: Checkpoints, accelerator: Accelerator) -> None:
    for step in (1, 7):
        aside = checkpoints.folder / f".step-{step:08d}.tmp"
        aside.mkdir(parents=True)
        (aside / "model.safetensors").write_bytes(b"half")
    assert checkpoints.newest() is None
    checkpoints.save(accelerator, Progress(1, {}))
    assert names(checkpoints) == ["step-00000001"]


def test_the_best_is_kept_until_a_better_one(checkpoints: Checkpoints, accelerator: Accelerator) -> None:
    for step, loss in ((1, 0.5), (2, 0.9), (3, 0.6), (4, 0.4), (5, 0.7)):
        checkpoints.save(accelerator, Progress(step, {}))
        if step == 3:
            assert names(checkpoints) == ["best.json", "step-00000001", "step-00000002", "step-00000003"]
        checkpoints.note_validation(step, loss)
    assert names(checkpoints) == ["best.json", "step-00000004", "step-00000005"]
    assert checkpoints.best is not None
    assert checkpoints.best.step == 4


def test_a_broken_best_is_none(checkpoints: Checkpoints, accelerator: Accelerator) -> None:
    checkpoints.save(accelerator, Progress(1, {}))
    checkpoints.note_validation(1, 0.5)
    (checkpoints.path(1) / "model.safetensors").unlink()
    assert checkpoints.best is None


def test_state_comes_back(checkpoints: Checkpoints, accelerator: Accelerator) -> None:
    (model,) = accelerator._models
    (optimizer,) = accelerator._optimizers
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    checkpoints.save(accelerator, Progress(1, {}))
    weight, moment = model.weight.detach().clone(), optimizer.state_dict()["state"][0]["exp_avg"].clone()
    optimizer.step()
    assert not torch.equal(model.weight, weight)
    checkpoints.load(accelerator, 1)
    assert torch.equal(model.weight, weight)
    assert torch.equal(optimizer.state_dict()["state"][0]["exp_avg"], moment)


def test_every_changed_setting_is_named() -> None:
    check_same({"a": 1}, {"a": 1}, Path("out"))
    with pytest.raises(UserError, match="out: .*a was 1, is now 2, b was 'x', is now None"):
        check_same({"a": 1, "b": "x"}, {"a": 2}, Path("out"))


def test_tied_weights_are_saved_once_and_come_back_tied(checkpoints: Checkpoints, tiny_model: Any) -> None:
    accelerator = Accelerator(cpu=True)
    model = accelerator.prepare(copy.deepcopy(tiny_model))
    keep_names_plain(accelerator)
    checkpoints.save(accelerator, Progress(1, {}))
    expected = model.get_input_embeddings().weight.detach().clone()
    with torch.no_grad():
        model.get_input_embeddings().weight.zero_()
    checkpoints.load(accelerator, 1)
    assert torch.equal(model.get_output_embeddings().weight, expected)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
