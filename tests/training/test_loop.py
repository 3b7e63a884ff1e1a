"""Whole small runs: resuming is exact, stopping is clean, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from accelerate import PartialState, debug_launcher
from accelerate.state import AcceleratorState, GradientState
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from repoformer.code.records import Example
from repoformer.code.storage import write_parquet
from repoformer.errors import UserError
from repoformer.models.example_encoding import ExampleEncoding, save_encoding
from repoformer.models.loading import load_model
from repoformer.training.checkpoints import Checkpoints
from repoformer.training.cli import main
from repoformer.training.loop import train
from repoformer.training.recipe import TrainRecipe
from repoformer.training.step import Stepper, StepReport
from repoformer.training.validation import Validator

TIMING = ("tokens_per_second", "waiting")


class Killed(Exception):
    """Stands for anything that ends a process between two steps."""


def metrics(out: Path) -> list[dict[str, Any]]:
    """The lines of ``metrics.jsonl``, without what differs from run to run."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMING} for line in lines]


def losses(out: Path) -> list[float]:
    return [line["loss"] for line in metrics(out) if "loss" in line]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "model.safetensors")


def assert_same_run(one: Path, other: Path) -> None:
    assert metrics(one) == metrics(other)
    assert weights(one).keys() == weights(other).keys()
    assert all(torch.equal(weights(one)[name], weights(other)[name]) for name in weights(one))


@pytest.fixture
def before_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
    """``before_step(act)`` calls ``act(number)`` before each step."""
    step = Stepper.step

    def hook(act: Callable[[int], None]) -> None:
        def acting(self: Stepper, number: int) -> StepReport:
            act(number)
            return step(self, number)

        monkeypatch.setattr(Stepper, "step", acting)

    return hook


def dies_at(step: int) -> Callable[[int], None]:
    def act(number: int) -> None:
        if number == step:
            raise Killed

    return act


@pytest.mark.parametrize("step", [2, 3, 4, 6], ids=lambda step: f"before step {step}")
def test_a_run_that_died_goes_on_exactly(
    step: int, make_recipe: Any, tmp_path: Path, before_step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first and the second epoch, just after a checkpoint and a step later, with dropout and short contexts."""
    straight, broken = (
        make_recipe(out=str(tmp_path / name), dropout=0.1, without_right_context=0.3, positive_weight=2.0)
        for name in ("straight", "broken")
    )
    train(straight)
    with monkeypatch.context():
        before_step(dies_at(step))
        with pytest.raises(Killed):
            train(broken)
        monkeypatch.undo()
    torch.manual_seed(12345)  # whatever else drew random numbers in between
    assert train(broken).finished
    assert_same_run(straight.out, broken.out)


def test_kill_9_loses_nothing(make_recipe: Any, tmp_path: Path) -> None:
    straight, killed = (make_recipe(out=str(tmp_path / name), dropout=0.1) for name in ("straight", "killed"))
    train(straight)
    script = (
        "import os, signal, sys\n"
        "from repoformer.training import loop, recipe, step\n"
        "usual = step.Stepper.step\n"
        "def kill(self, number):\n"
        "    report = usual(self, number)\n"
        "    if number == 4:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return report\n"
        "step.Stepper.step = kill\n"
        "loop.train(recipe.TrainRecipe.model_validate_json(sys.argv[1]))\n"
    )
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    ended = subprocess.run([sys.executable, "-P", "-c", script, killed.model_dump_json()], env=environment, timeout=600)
    assert ended.returncode == -signal.SIGKILL
    assert len(losses(killed.out)) == 3, "the fourth step was taken but not yet noted"
    train(killed)
    assert_same_run(straight.out, killed.out)


def test_a_finished_run_does_nothing_again(make_recipe: Any, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = make_recipe()
    first = train(recipe)
    written = {path: path.stat().st_mtime_ns for path in recipe.out.rglob("*")}
    assert train(recipe) == first
    assert "already finished" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in recipe.out.rglob("*")} == written


def test_a_finished_run_whose_model_is_gone_exports_it_again(make_recipe: Any) -> None:
    recipe = make_recipe()
    train(recipe)
    before = weights(recipe.out)
    for name in ("config.json", "model.safetensors"):
        (recipe.out / name).unlink()
    assert train(recipe).finished
    assert all(torch.equal(before[name], value) for name, value in weights(recipe.out).items())


@pytest.mark.parametrize("finished", [False, True])
def test_a_changed_recipe_is_refused_and_its_keys_named(make_recipe: Any, before_step: Any, finished: bool) -> None:
    if not finished:
        before_step(dies_at(4))
        with pytest.raises(Killed):
            train(make_recipe())
    else:
        train(make_recipe())
    with pytest.raises(UserError, match=r"learning_rate was 0.01, is now 0.02.*out=DIR"):
        train(make_recipe(learning_rate=0.02))
    with pytest.raises(UserError, match="lambda was 1.0, is now 0.5"):
        train(make_recipe(**{"lambda": 0.5}))
    assert json.loads((make_recipe().out / "run.json").read_text())["config"]["learning_rate"] == 0.01


def test_changed_data_are_refused(make_recipe: Any, tmp_path: Path, make_examples: Any) -> None:
    train(make_recipe())
    for split in ("train", "validation"):
        write_parquet(tmp_path / "other" / split / "part-00000-of-00001.parquet", make_examples(12, seed=5))
    with pytest.raises(UserError, match="data was"):
        train(make_recipe(data=str(tmp_path / "other")))


def test_how_a_step_is_cut_may_change_between_two_starts(make_recipe: Any, before_step: Any, tmp_path: Path) -> None:
    straight, resumed = make_recipe(out=str(tmp_path / "straight")), make_recipe(out=str(tmp_path / "resumed"))
    train(straight)
    before_step(dies_at(4))
    with pytest.raises(Killed):
        train(resumed)
    before_step(lambda _: None)
    train(make_recipe(out=str(tmp_path / "resumed"), micro_batch=4, save_every=5))
    assert losses(resumed.out) == pytest.approx(losses(straight.out), rel=1e-5)


def test_the_stop_file_stops_after_the_step_and_the_run_goes_on(
    make_recipe: Any, tmp_path: Path, before_step: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    straight, stopped = make_recipe(out=str(tmp_path / "straight")), make_recipe(out=str(tmp_path / "stopped"))
    train(straight)
    before_step(lambda number: (stopped.out / "stop").touch() if number == 3 else None)
    result = train(stopped)
    assert (result.step, result.finished) == (3, False)
    assert "stopped at step 3 of 6" in capsys.readouterr().err
    assert not (stopped.out / "stop").exists(), "the next start is not meant"
    before_step(lambda _: None)
    assert train(stopped).finished
    assert_same_run(straight.out, stopped.out)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_after_the_step(make_recipe: Any, before_step: Any, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    before_step(lambda step: os.kill(os.getpid(), number) if step == 3 else None)
    result = train(make_recipe())
    assert (result.step, result.finished) == (3, False)
    assert (make_recipe().out / "checkpoints" / "step-00000003").is_dir()
    assert signal.getsignal(number) is before


def test_a_run_that_was_asked_to_stop_exits_0(make_recipe: Any, before_step: Any, tmp_path: Path) -> None:
    recipe = make_recipe()
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    before_step(lambda number: (recipe.out / "stop").touch() if number == 2 else None)
    assert main([str(path)]) == 0
    assert not (recipe.out / "training.json").exists()


def test_a_validation_that_fails_loses_nothing(
    make_recipe: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Validator) -> None:
        raise ZeroDivisionError("in the middle of it")

    monkeypatch.setattr(Validator, "_measure", fail)
    result = train(make_recipe())
    assert result.finished
    assert result.validation is None
    told = capsys.readouterr().err
    assert "VALIDATION FAILED at step 3" in told
    assert "in the middle of it" in told
    assert "no validation was completed" in (make_recipe().out / "README.md").read_text()


def test_a_run_that_died_between_saving_and_noting_a_validation_still_finds_its_best_step(
    make_recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise Killed

    recipe = make_recipe()
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "note_validation", die)
        with pytest.raises(Killed):
            train(recipe)
    train(recipe)
    validated = {line["step"]: line["validation"]["loss"] for line in metrics(recipe.out) if "validation" in line}
    assert list(validated) == [3, 6]
    best = Checkpoints(recipe.out / "checkpoints", 2).best
    assert best is not None
    assert best.loss == min(validated.values())


def test_old_checkpoints_go_and_the_best_stays(make_recipe: Any) -> None:
    recipe = make_recipe(
        save_every=1, keep_checkpoints=1, evaluate_every=1, learning_rate=0.03, warmup_steps=0, epochs=5
    )
    train(recipe)
    validated = {line["step"]: line["validation"]["loss"] for line in metrics(recipe.out) if "validation" in line}
    best = min(validated, key=lambda step: validated[step])
    kept = {int(path.name.removeprefix("step-")) for path in (recipe.out / "checkpoints").glob("step-*")}
    assert best < 14, "or this test shows nothing"
    assert kept == {best, 15}


def test_the_best_step_can_be_exported(make_recipe: Any) -> None:
    recipe = make_recipe(
        export="best", keep_checkpoints=1, evaluate_every=1, learning_rate=0.03, warmup_steps=0, epochs=5
    )
    result = train(recipe)
    validated = {line["step"]: line["validation"]["loss"] for line in metrics(recipe.out) if "validation" in line}
    best = min(validated, key=lambda step: validated[step])
    assert best < 14, "or this test shows nothing"
    assert result.validation is not None
    assert result.validation["step"] == best
    saved = load_file(recipe.out / "checkpoints" / f"step-{best:08d}" / "model.safetensors")
    assert all(torch.equal(saved[f"model.{name}"], value) for name, value in weights(recipe.out).items())


def test_examples_that_do_not_fit_are_set_aside_by_reason(
    make_recipe: Any, tmp_path: Path, make_examples: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [
        Example("empty", "r", "line", 0.0, (50,), (), (), ()),
        Example("foreign", "r", "line", 0.0, (50,), (), (), (5000,)),
        Example("long", "r", "line", 0.0, (50,) * 1100, (), (), (51,)),
        Example("gainless", "r", "line", float("nan"), (50,), (), (), (51,)),
    ]
    write_parquet(tmp_path / "data" / "train" / "part-00000-of-00001.parquet", [*make_examples(8), *odd])
    write_parquet(tmp_path / "data" / "validation" / "part-00000-of-00001.parquet", [])
    train(make_recipe(data=str(tmp_path / "data"), epochs=1))
    told = capsys.readouterr().err
    for reason in (
        "empty target",
        "token ids of another tokenizer",
        "longer than the model's 1024",
        "gain is not a number",
    ):
        assert f"1 set aside: {reason}" in told


def test_missing_data_are_named(make_recipe: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere/train: no part-\*.parquet"):
        train(make_recipe(data=str(tmp_path / "nowhere")))


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("micro_batch", [1, 4])
def test_the_number_of_micro_batches_changes_no_loss(make_recipe: Any, tmp_path: Path, micro_batch: int) -> None:
    one, other = (
        make_recipe(out=str(tmp_path / "one")),
        make_recipe(out=str(tmp_path / "other"), micro_batch=micro_batch),
    )
    train(one)
    train(other)
    assert losses(other.out) == pytest.approx(losses(one.out), rel=1e-5)


def test_recomputing_activations_changes_no_loss(make_recipe: Any, tmp_path: Path) -> None:
    one, other = (make_recipe(out=str(tmp_path / name), dropout=0.1) for name in ("one", "other"))
    train(one)
    train(make_recipe(out=str(other.out), dropout=0.1, activation_checkpointing=True))
    assert losses(other.out) == pytest.approx(losses(one.out), rel=1e-6)


def test_bfloat16_trains_float32_weights_to_nearly_the_same_loss(make_recipe: Any, tmp_path: Path) -> None:
    one = make_recipe(out=str(tmp_path / "one"), epochs=1)
    other = make_recipe(out=str(tmp_path / "other"), epochs=1, precision="bfloat16")
    train(one)
    AcceleratorState._reset_state()
    train(other)
    AcceleratorState._reset_state()
    assert losses(other.out) == pytest.approx(losses(one.out), rel=0.02)
    assert losses(other.out) != losses(one.out)
    assert {value.dtype for value in weights(other.out).values()} == {torch.float32}


@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_train_what_one_trains(
    make_recipe: Any, tmp_path: Path, processes: int, in_a_fork: Any
) -> None:
    """Two or one forward passes each in place of four."""
    one = make_recipe(out=str(tmp_path / "one"), micro_batch=1)
    several = make_recipe(out=str(tmp_path / "several"), micro_batch=1, processes=processes)
    train(one)
    debug_launcher(in_a_fork, (several, tmp_path), num_processes=processes)
    assert losses(several.out) == pytest.approx(losses(one.out), rel=1e-5)
    validated = [[line["validation"] for line in metrics(run.out) if "validation" in line] for run in (one, several)]
    for alone, together in zip(*validated, strict=True):
        for name in ("loss", "L_gen", "L_eval", "auroc", "average_precision"):
            assert together[name] == pytest.approx(alone[name], rel=1e-5)
    ids = torch.arange(40, 100)[None]
    logits = [load_model(run.out).model(input_ids=ids).logits for run in (one, several)]
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-3, atol=1e-3)


def test_a_checkpoint_of_two_processes_goes_on_in_one(
    make_recipe: Any, tmp_path: Path, before_step: Any, in_a_fork: Any
) -> None:
    straight, begun = (make_recipe(out=str(tmp_path / name), micro_batch=1) for name in ("straight", "begun"))
    train(straight)
    before_step(dies_at(5))
    debug_launcher(in_a_fork, (begun, tmp_path), num_processes=2)
    before_step(lambda _: None)
    assert len(losses(begun.out)) == 4
    train(begun)
    assert losses(begun.out) == pytest.approx(losses(straight.out), rel=1e-5)


@pytest.fixture
def nan_recipe(make_recipe: Any, tmp_path: Path, model_folder: Path, make_examples: Any) -> TrainRecipe:
    """A model without a hundredth position, and one example that reaches it."""
    model = AutoModelForCausalLM.from_pretrained(model_folder)
    with torch.no_grad():
        model.transformer.wpe.weight[100] = float("nan")
    shutil.copytree(model_folder, tmp_path / "model")
    model.save_pretrained(tmp_path / "model")
    odd = Example("the odd one", "r", "line", 0.0, (50,) * 100, (), (), (51,))
    for split in ("train", "validation"):
        part = tmp_path / "data" / split / "part-00000-of-00001.parquet"
        write_parquet(part, [*make_examples(11), odd] if split == "train" else [])
    recipe: TrainRecipe = make_recipe(model=str(tmp_path / "model"), data=str(tmp_path / "data"), micro_batch=1)
    return recipe


def test_a_loss_that_is_not_finite_names_step_and_example(nan_recipe: TrainRecipe) -> None:
    with pytest.raises(UserError, match=r"step \d: the loss is not finite, in the odd one;"):
        train(nan_recipe)


def test_a_loss_that_is_not_finite_stops_every_process(nan_recipe: TrainRecipe, tmp_path: Path, in_a_fork: Any) -> None:
    debug_launcher(in_a_fork, (nan_recipe, tmp_path), num_processes=2)
    first, second = [path.read_text() for path in tmp_path.glob("error-*")]
    assert first == second
    assert "the odd one" in first


def test_another_number_of_processes_than_asked_for_is_refused(make_recipe: Any) -> None:
    with pytest.raises(UserError, match="processes=2 in the recipe, but there are 1"):
        train(make_recipe(processes=2))


def test_a_launch_that_fell_back_to_one_process_is_refused(make_recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for state in (PartialState, AcceleratorState, GradientState):
        state._reset_state()
    with pytest.raises(UserError, match="WORLD_SIZE=2, but accelerate sees 1"):
        train(make_recipe(micro_batch=1))


def test_examples_of_another_tokenizer_are_refused(make_recipe: Any, data_folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(data_folder, data)
    save_encoding(data, ExampleEncoding(preset="pocket", tokenizer="of another model"))
    with pytest.raises(UserError, match="examples.json: the examples were assembled with another tokenizer"):
        train(make_recipe(data=str(data)))


def test_a_run_does_not_go_on_from_a_model_whose_files_have_changed(
    make_recipe: Any, model_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(model_folder, tmp_path / "model")
    recipe = make_recipe(model=str(tmp_path / "model"), epochs=1)
    train(recipe)
    weights = load_file(tmp_path / "model" / "model.safetensors")
    save_file({name: weight + 1 for name, weight in weights.items()}, tmp_path / "model" / "model.safetensors")
    with pytest.raises(UserError, match="model_files was"):
        train(recipe)
