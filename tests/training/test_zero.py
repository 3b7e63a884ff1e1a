"""DeepSpeed ZeRO in two processes without GPUs: equal to plain training, resumed, exported.

A launch takes most of a minute on one core, so the usual tests have one. All of them:

    REPOFORMER_LAUNCHES=all pytest tests/training/test_zero.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml
from safetensors.torch import load_file

from repoformer.code.storage import write_parquet
from repoformer.config import parse_recipe
from repoformer.models.loading import load_model
from repoformer.training.loop import train
from repoformer.training.recipe import TrainRecipe

CONFIGS = Path(__file__).resolve().parents[2] / "recipes" / "accelerate"
MANY = pytest.mark.skipif(
    os.environ.get("REPOFORMER_LAUNCHES") != "all", reason="a minute each; REPOFORMER_LAUNCHES=all"
)
LORA = {"rank": 4, "alpha": 8}


class Case(NamedTuple):
    """A configuration of accelerate, and whether adapters are trained."""

    config: str
    lora: bool


CASES = [
    pytest.param(Case("zero3", False), id="zero3"),
    pytest.param(Case("zero2", False), id="zero2", marks=MANY),
    pytest.param(Case("zero2", True), id="zero2, lora", marks=MANY),
    pytest.param(Case("zero3", True), id="zero3, lora", marks=MANY),
]
FINISHED = Callable[[Case], tuple[Path, Path]]


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, make_examples: Any) -> dict[str, Any]:
    """Eight steps of four examples; five validation examples, a number that two processes cannot share equally."""
    data = tmp_path_factory.mktemp("data")
    write_parquet(data / "train" / "part-00000-of-00001.parquet", make_examples(16, seed=1))
    write_parquet(data / "validation" / "part-00000-of-00001.parquet", make_examples(5, seed=2))
    usual = {"batch": 4, "micro_batch": 1, "learning_rate": 1e-2, "warmup_steps": 2, "epochs": 2}
    return {"model": str(model_folder), "data": str(data), "save_every": 4, "keep_checkpoints": 9, **usual}


@pytest.fixture(scope="module")
def finished(values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> FINISHED:
    """Folders of a plain run and of one under a launcher, once for each case."""

    @cache
    def run(case: Case) -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp("runs")
        plain, launched = folder / "plain", folder / "launched"
        train(parse_recipe(TrainRecipe, of(case, values) | {"out": str(plain)}, "r"))
        told = launch(case.config, of(case, values), launched)
        assert told.returncode == 0, told.stderr[-4000:]
        return plain, launched

    return run


def of(case: Case, values: dict[str, Any]) -> dict[str, Any]:
    return values | {"lora": LORA if case.lora else None}


def launch(
    config: str, values: dict[str, Any], out: Path, processes: int = 2, **environment: str
) -> subprocess.CompletedProcess[str]:
    """As a user does it, from another folder."""
    out.mkdir(parents=True, exist_ok=True)
    recipe = out.parent / f"{out.name}.yaml"
    recipe.write_text(yaml.safe_dump(values | {"out": str(out)}))
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(CONFIGS / f"{config}.yaml")]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ACCELERATE_")}
    return subprocess.run(
        [*command, "--num_processes", str(processes), "-m", "repoformer.training.cli", str(recipe)],
        cwd=out.parent,
        env=kept | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=900,
    )


def losses(out: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


def continued(launched: Path, out: Path) -> Path:
    """A run that was killed after step 4 of the one in ``launched``."""
    name = "checkpoints/step-00000004"
    shutil.copytree(launched / name, out / name)
    return out


@pytest.mark.parametrize("case", CASES)
def test_equal_to_plain_training_and_exported(case: Case, finished: FINISHED) -> None:
    plain, launched = finished(case)
    assert len(losses(launched)) == 8
    assert losses(launched) == pytest.approx(losses(plain), abs=5e-5), "the same to four decimals"
    loaded, expected = load_model(launched), load_model(plain)
    # Not the weights: the bias of a key has no gradient but rounding, which Adam makes as large as any.
    ids = torch.arange(30, 90)[None]
    assert torch.allclose(loaded.model(input_ids=ids).logits, expected.model(input_ids=ids).logits, atol=2e-3)
    embeddings = loaded.model.get_input_embeddings().weight
    assert loaded.model.get_output_embeddings().weight is embeddings
    assert loaded.builder().retrieve_id == len(embeddings) - 2, "resized by two rows, on every rank"
    validations = [json.loads((out / "validation" / "step-00000008.json").read_text()) for out in (plain, launched)]
    assert validations[0]["loss"] == pytest.approx(validations[1]["loss"], abs=5e-5)


@MANY
@pytest.mark.parametrize("case", CASES)
def test_resumed_equals_uninterrupted(case: Case, finished: FINISHED, values: dict[str, Any], tmp_path: Path) -> None:
    _, launched = finished(case)
    resumed = continued(launched, tmp_path / "resumed")
    told = launch(case.config, of(case, values), resumed)
    assert told.returncode == 0, told.stderr[-4000:]
    assert "going on from step 4" in told.stderr
    assert losses(resumed) == {step: loss for step, loss in losses(launched).items() if step > 4}
    one, other = (load_file(out / "model.safetensors") for out in (launched, resumed))
    assert all(torch.equal(one[name], other[name]) for name in one)


@MANY
def test_a_checkpoint_of_another_world_is_refused(finished: FINISHED, values: dict[str, Any], tmp_path: Path) -> None:
    case = Case("zero3", False)
    _, launched = finished(case)
    told = launch(case.config, values, continued(launched, tmp_path / "other"), processes=1)
    assert told.returncode != 0
    assert "is zero3 of 2 process(es), this launch is zero3 of 1 process(es); launch it as before" in told.stderr


@MANY
@pytest.mark.parametrize("config", ["zero2", "fsdp"])
def test_sharding_that_accelerate_would_leave_out_without_a_word_is_refused(
    config: str, values: dict[str, Any], tmp_path: Path
) -> None:
    told = launch(config, values, tmp_path / "out", ACCELERATE_USE_CPU="true")
    assert told.returncode != 0
    assert "was asked for (ACCELERATE_USE_" in told.stderr
    assert not (tmp_path / "out" / "checkpoints").exists()


@MANY
def test_processes_that_do_not_know_of_each_other_are_refused(values: dict[str, Any], tmp_path: Path) -> None:
    told = launch("cpu", values, tmp_path / "out")  # without ACCELERATE_USE_CPU
    assert told.returncode != 0
    assert "launched with WORLD_SIZE=2, but accelerate sees 1 process(es)" in told.stderr
