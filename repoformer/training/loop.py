"""Fine-tuning, from a recipe to an exported model.

    repoformer train recipes/train/quickstart.yaml
    accelerate launch --multi_gpu --num_processes 8 -m repoformer.training.cli recipes/train/paper.yaml

A run that was stopped or killed goes on where its newest checkpoint stands when it is run again.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from traceback import format_exc
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from tqdm import tqdm

from repoformer.code.storage import read_json, write_json
from repoformer.config import write_run_record
from repoformer.models.example_encoding import load_encoding
from repoformer.models.fingerprint import model_hash
from repoformer.models.loading import model_folder
from repoformer.training.checkpoints import Checkpoints, Progress, check_layout, check_same, keep_names_plain
from repoformer.training.examples import check_threshold, fingerprint, label_recipe, read_examples
from repoformer.training.export import export_model, model_card, threshold_origin
from repoformer.training.lock import hold
from repoformer.training.lora import FOLDER as ADAPTERS
from repoformer.training.lora import merged, save_adapters
from repoformer.training.order import DataOrder
from repoformer.training.packed_attention import attending_packed
from repoformer.training.processes import layout, start_processes
from repoformer.training.recipe import TrainRecipe
from repoformer.training.start import Start, start_from
from repoformer.training.step import Stepper, build_optimizer
from repoformer.training.stopping import StopRequests
from repoformer.training.tracking import Tracker
from repoformer.training.validation import Validation, Validator, saved_validation

FINISHED = "training.json"


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a call of :func:`train` ended."""

    out: Path
    step: int
    finished: bool
    """False for a run that was asked to stop; run it again to go on."""
    validation: dict[str, Any] | None
    """Summary of the exported model's validation, or of the last one before a stop."""


def train(recipe: TrainRecipe) -> TrainResult:
    """Train, or go on training, until the recipe's last step or until asked to stop."""
    files = {"data": fingerprint(recipe.data), "model_files": model_hash(model_folder(recipe.model))}
    settings = recipe.settings() | files
    finished = _finished(recipe.out, settings)
    if finished is not None:
        return finished

    accelerator = start_processes(recipe)
    with hold(recipe.out) if accelerator.is_main_process else nullcontext():
        return _train(recipe, settings, accelerator)


def _train(recipe: TrainRecipe, settings: dict[str, Any], accelerator: Accelerator) -> TrainResult:
    main = accelerator.is_main_process

    # Model, data
    check_threshold(recipe.label_threshold, recipe.data)
    start = start_from(recipe)
    encoding = load_encoding(recipe.data)
    if encoding is not None:
        encoding.check_tokenizer(start.loaded.tokenizer, recipe.data, recipe.model)
    else:
        _say(accelerator, f"{recipe.data}: does not say whose token ids its examples hold; they are taken as they are")
    fit = (start.verbalise, start.vocabulary, start.loaded.positions)
    examples = read_examples(recipe.data / "train", *fit)
    held_out = read_examples(recipe.data / "validation", *fit)
    order = DataOrder(len(examples.examples), recipe.batch, recipe.epochs, recipe.seed)
    _say(accelerator, f"training: {examples}; validation: {held_out}")
    _say(accelerator, f"{order}; {accelerator.num_processes} process(es), {accelerator.distributed_type.value}")

    # Optimiser, state
    loss_model = start.loss_model()
    loss_model, optimizer = accelerator.prepare(loss_model, build_optimizer(loss_model, recipe))
    checkpoints = Checkpoints(recipe.out / "checkpoints", recipe.keep_checkpoints)
    step = _resume(accelerator, checkpoints, settings, recipe.out)
    if main:
        write_run_record(recipe.out, recipe)
    stepper = Stepper(accelerator, loss_model, optimizer, start.verbalise, examples.examples, order, recipe)
    validator = Validator(accelerator, loss_model, start.verbalise, held_out.examples, recipe)
    tracker = Tracker(recipe, step, main=main)

    # Loop
    stopped = None
    with (
        attending_packed(start.model),
        StopRequests(recipe.out, main=main, plain=accelerator.num_processes == 1) as requests,
        tqdm(total=order.steps, initial=step, desc="train", unit="step", disable=not main) as bar,
    ):
        while True:
            # Save, then evaluate: an evaluation that fails must not cost the steps before it. A run that was stopped
            # or killed between the two comes through here again.
            if step and _validates(step, order, recipe) and not stopped:
                _validate(validator, checkpoints, tracker, recipe.out, step)
            if stopped or step == order.steps:
                break
            step += 1
            report = stepper.step(step)
            tracker.log(step, {"epoch": round(order.epoch(step), 4), **asdict(report)})
            bar.set_postfix(loss=f"{report.loss:.3f}", refresh=False)
            bar.update()
            stopped = _agreed(accelerator, requests.reason())
            if stopped or step % recipe.save_every == 0 or _validates(step, order, recipe):
                checkpoints.save(accelerator, Progress(step, settings, layout(accelerator)))
        requests.honour()
    tracker.close()

    # Export
    if stopped:
        _say(accelerator, f"stopped at step {step} of {order.steps} by {stopped}; run the same again to go on")
        validation = saved_validation(recipe.out, step)
    else:
        validation = _export(accelerator, loss_model, start, checkpoints, recipe, step)
        _say(accelerator, f"finished at step {step}; the model is in {recipe.out}")
    result = TrainResult(recipe.out, step, not stopped, validation.summary() if validation else None)
    if main and result.finished:
        write_json(recipe.out / FINISHED, {"settings": settings, "step": step, "validation": result.validation})
    accelerator.end_training()
    return result


def _finished(out: Path, settings: dict[str, Any]) -> TrainResult | None:
    """The result of a run that is through already."""
    if not ((out / FINISHED).exists() and (out / "config.json").exists()):
        return None
    record = read_json(out / FINISHED)
    check_same(record["settings"], settings, out)
    if os.environ.get("RANK", "0") == "0":
        print(f"{out}: already finished at step {record['step']}; nothing to do", file=sys.stderr)
    return TrainResult(out, record["step"], True, record["validation"])


def _resume(accelerator: Accelerator, checkpoints: Checkpoints, settings: dict[str, Any], out: Path) -> int:
    """Load the newest whole checkpoint; the step it stands at, 0 where there is none."""
    keep_names_plain(accelerator)
    progress = _agreed(accelerator, checkpoints.newest())
    if progress is None:
        return 0
    check_same(progress.settings, settings, out)
    check_layout(progress, layout(accelerator), out)
    checkpoints.load(accelerator, progress.step)
    _say(accelerator, f"going on from step {progress.step}")
    return int(progress.step)


def _validates(step: int, order: DataOrder, recipe: TrainRecipe) -> bool:
    if step == order.steps:
        return True
    return step % recipe.evaluate_every == 0 if recipe.evaluate_every else order.ends_epoch(step)


def _validate(validator: Validator, checkpoints: Checkpoints, tracker: Tracker, out: Path, step: int) -> None:
    """Validate, unless that was done; a failure is said loudly, and the run goes on."""
    accelerator = validator.accelerator
    if not validator.examples:
        return
    validation: Validation | None = _agreed(accelerator, saved_validation(out, step))
    if validation is None:
        try:
            validation = validator.validate(step)
        except Exception:
            _say(
                accelerator,
                f"VALIDATION FAILED at step {step}; the checkpoint stands, training goes on\n{format_exc()}",
            )
            return
        tracker.log(step, {"validation": validation.summary()}, validation.histograms)
        if accelerator.is_main_process:
            validation.save(out)
    # Also after one that was saved by a process that died before it could note it.
    if accelerator.is_main_process:
        checkpoints.note_validation(step, validation.loss)


def _export(
    accelerator: Accelerator,
    loss_model: torch.nn.Module,
    start: Start,
    checkpoints: Checkpoints,
    recipe: TrainRecipe,
    step: int,
) -> Validation | None:
    """Export the last or the best step, as the recipe says; returns the validation of that step."""
    best = _agreed(accelerator, checkpoints.best)
    if recipe.export == "best" and best is not None and best.step != step:
        step = best.step
        checkpoints.load(accelerator, step)
    validation: Validation | None = _agreed(accelerator, saved_validation(recipe.out, step))
    gathered = accelerator.get_state_dict(loss_model)
    if accelerator.is_main_process:  # where weights are sharded the others get none
        encoding = load_encoding(recipe.data)
        weights = {name.removeprefix("model."): weight for name, weight in gathered.items()}
        settings = start.loaded.settings.model_copy(
            update={
                "style": start.objective.style,
                "preset": encoding.preset if encoding else start.loaded.settings.preset,
                "thresholds": validation.thresholds if validation else {},
                "thresholds_from": threshold_origin(validation) if validation and validation.thresholds else "",
                "labels": {"threshold": recipe.label_threshold, **label_recipe(recipe.data)},
            }
        )
        card = model_card(recipe, settings, step, validation)
        model = start.model
        if start.adapted is not None:
            save_adapters(start.adapted, weights, recipe.out / ADAPTERS)
            base = start_from(recipe.model_copy(update={"lora": None})).model
            model = merged(base, recipe.out / ADAPTERS)
            weights = model.state_dict()
        export_model(model, weights, start.loaded.tokenizer, settings, card, recipe.out)
    accelerator.wait_for_everyone()
    return validation


def _agreed(accelerator: Accelerator, value: Any) -> Any:
    """What the main process has for ``value``, in all processes."""
    if accelerator.num_processes == 1:
        return value
    return broadcast_object_list([value])[0]


def _say(accelerator: Accelerator, message: str) -> None:
    if accelerator.is_main_process:
        tqdm.write(message, file=sys.stderr)
