"""A disk that is full costs no checkpoint, and the run goes on exactly once there is space again."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import debug_launcher
from safetensors.torch import load_file

from repoformer.errors import UserError
from repoformer.training.checkpoints import Checkpoints
from repoformer.training.loop import train
from repoformer.training.step import Stepper, StepReport

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Writes beyond ``size`` bytes of a file fail, whoever makes them."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(out / "model.safetensors") for out in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("size", [20_000, 400_000], ids=["the weights", "the optimiser's state"])
def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(
    size: int, make_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, full = (make_recipe(out=str(tmp_path / name)) for name in ("straight", "full"))
    train(straight)
    step = Stepper.step

    def fills_the_disk(self: Stepper, number: int) -> StepReport:
        report = step(self, number)
        if number == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        return report

    with no_file_longer_than(2**30), monkeypatch.context() as patch:
        patch.setattr(Stepper, "step", fills_the_disk)
        with pytest.raises(UserError, match="step-00000004: .* that of step 3 stands"):
            train(full)
    newest = Checkpoints(full.out / "checkpoints", keep=2).newest()
    assert newest is not None
    assert newest.step == 3
    assert not list((full.out / "checkpoints").glob(".*"))
    train(full)
    assert same_weights(straight.out, full.out)


IN_THE_NAMESPACE = """
import subprocess, sys
from repoformer.errors import UserError
from repoformer.training.loop import train
from repoformer.training.recipe import TrainRecipe
recipe = TrainRecipe.model_validate_json(sys.argv[1])
recipe.out.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2560k", "tmpfs", recipe.out], check=True)
try:
    train(recipe)
except UserError as error:
    print(error)
print(sorted(path.name for path in (recipe.out / "checkpoints").iterdir()))
subprocess.run(["mount", "-o", "remount,size=64m", recipe.out], check=True)
print(train(recipe).finished)
subprocess.run(["cp", "-r", recipe.out, sys.argv[2]], check=True)
"""


@pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0,
    reason="needs a user namespace of its own to mount a small file system in",
)
def test_a_file_system_without_space_left(make_recipe: Any, tmp_path: Path) -> None:
    straight, full = (make_recipe(out=str(tmp_path / name)) for name in ("straight", "full"))
    train(straight)
    command = [*NAMESPACE, sys.executable, "-P", "-c", IN_THE_NAMESPACE, full.model_dump_json(), str(tmp_path / "copy")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    error, kept, finished = [line for line in ended.stdout.splitlines() if line.startswith(("/", "['", "T"))]
    assert "step-00000004: this checkpoint could not be written, that of step 3 stands" in error
    assert "; 0 MiB free" in error
    assert kept == "['best.json', 'step-00000002', 'step-00000003']"
    assert finished == "True"
    assert same_weights(straight.out, tmp_path / "copy")


def test_a_failure_in_one_process_stops_all(
    make_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_a_fork: Any
) -> None:
    """The main process alone writes; the other one must not wait for it."""
    recipe = make_recipe(micro_batch=1)

    def full(self: Checkpoints, accelerator: Any, *_: Any) -> None:
        if accelerator.is_main_process:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoints, "_complete", full)
    debug_launcher(in_a_fork, (recipe, tmp_path), num_processes=2)
    errors = [path.read_text() for path in tmp_path.glob("error-*")]
    assert len(errors) == 2
    assert all("No space left" in error for error in errors)
    assert [json.loads(line)["step"] for line in (recipe.out / "metrics.jsonl").read_text().splitlines()] == [1, 2]
