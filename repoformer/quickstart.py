"""From the code that is installed here to a report on selective retrieval, with one command.

    repoformer quickstart recipes/quickstart.yaml

Collect repositories and split them; sample blanks, retrieve context, label with a fill-in-the-middle model; fine-tune
it to decide, and the FIM-only control beside it; evaluate all three on repositories that neither has seen. Stop it at
any time: run again, and it goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoformer.code.records import Repository
from repoformer.code.storage import read_json, read_parquet
from repoformer.config import Section, load_recipe
from repoformer.errors import UserError
from repoformer.models.pretraining.recipe import PretrainRecipe
from repoformer.training.recipe import TrainRecipe

if TYPE_CHECKING:
    from repoformer.data_pipeline.recipe import DataRecipe
    from repoformer.eval.recipe import EvalRecipe

SCRATCH = "scratch"
SCRATCH_NOTE = (
    "The model was trained from scratch for a few minutes: the figures only show that the path works, "
    "not what selective retrieval is worth."
)


class QuickstartRecipe(Section):
    """``recipes/quickstart.yaml``: one recipe of each kind, by paths relative to this one."""

    out: Path
    """Folder of everything that the run writes; the named recipes' own folders do not count."""
    model: str = "pocket"
    """What is labelled with and fine-tuned: a model's folder or name, or ``scratch`` to train a tiny one first."""
    pretrain: Path
    """Used by ``scratch`` only."""
    data: Path
    train: Path
    eval: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """Every recipe of a run, read before any work starts, so that all mistakes are known at once."""

    out: Path
    scratch: bool
    pretrain: PretrainRecipe
    data: DataRecipe
    selective: TrainRecipe
    control: TrainRecipe
    control_command: list[str]
    evaluation: EvalRecipe


def quickstart(recipe: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Run every stage that is not done yet; prints where the report is and returns its summary.

    An override may reach into a recipe that this one names: ``data.sample.chunks_per_repository=40``.
    """
    import torch

    from repoformer.data_pipeline.runner import run as make_data
    from repoformer.eval.runner import run as evaluate
    from repoformer.training.loop import train

    started = time.perf_counter()
    plan = read_plan(recipe, overrides)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(plan.data.shards, cores)
    # Two trainings run at the same time; threads that fight for cores are many times slower than one.
    threads = max(1, cores // 2)
    torch.set_num_threads(threads)
    if plan.scratch:
        _say(1, "train a tiny fill-in-the-middle model from scratch on the training repositories")
        _pretrain(plan, workers)
    else:
        _say(1, f"skipped: the model is {plan.selective.model}; only model=scratch trains one first")
    _say(2, "collect, sample, retrieve, label: the training data")
    make_data(plan.data, workers)
    _say(3, "fine-tune it to decide and, beside it, the FIM-only control")
    control = _start_control(plan, threads)
    try:
        if not train(plan.selective).finished:
            raise KeyboardInterrupt  # it was asked to stop, and saved
        if control.wait():
            raise UserError(f"the FIM-only control ended with code {control.returncode}; see {_control_log(plan)}")
    finally:
        control.terminate()  # where it still runs, it saves and goes on next time
        control.wait()
    _say(4, "evaluate retrieval policies on repositories that no stage trained on")
    summary = evaluate(plan.evaluation, notes=[SCRATCH_NOTE] if plan.scratch else [])
    minutes = (time.perf_counter() - started) / 60
    print(f"done in {minutes:.1f} minutes; open {Path(plan.evaluation.out, 'report.html')}")
    return summary


def read_plan(recipe: Path, overrides: Sequence[str]) -> Plan:
    """The four recipes with their folders and model set to those of this run."""
    from repoformer.data_pipeline.recipe import DataRecipe
    from repoformer.eval.recipe import EvalRecipe

    nested: dict[str, list[str]] = {"pretrain": [], "data": [], "train": [], "eval": []}
    own: list[str] = []
    for override in overrides:
        section, dot, rest = override.partition(".")
        if dot and section in nested:
            nested[section].append(rest)
        else:
            own.append(override)
    quick = load_recipe(QuickstartRecipe, recipe, own)
    base, out = recipe.parent, quick.out
    scratch = quick.model == SCRATCH
    model = str(out / "scratch" / "model") if scratch else quick.model

    problems: list[str] = []

    def load(schema: Any, name: str, *ours: str) -> Any:
        try:
            return load_recipe(schema, base / getattr(quick, name), [*nested[name], *ours], f"{name}.")
        except UserError as error:
            problems.append(str(error))
            return None

    data = load(DataRecipe, "data", f"out={out}/data", f"label.model={model}")
    ours = [f"data={out}/data/assemble", f"model={model}"]
    selective = load(TrainRecipe, "train", *ours, f"out={out}/repoformer", "objective=selective")
    control_overrides = [*ours, f"out={out}/fim-only", "objective=fim_only"]
    control = load(TrainRecipe, "train", *control_overrides)
    rows = [("base", model), ("fim-only", out / "fim-only"), ("repoformer", out / "repoformer")]
    models = ", ".join(f"{{name: {name}, path: '{path}'}}" for name, path in rows)
    evaluation = load(
        EvalRecipe, "eval", f"data={out}/data", f"out={out}/eval", f"models=[{models}]", "control=fim-only"
    )
    pretrain = load(PretrainRecipe, "pretrain")
    if problems:
        raise UserError("\n".join(dict.fromkeys(problems)))
    command = [sys.executable, "-P", "-m", "repoformer.training.cli", str(base / quick.train)]
    command += [*nested["train"], *control_overrides]
    return Plan(out, scratch, pretrain, data, selective, control, command, evaluation)


def _pretrain(plan: Plan, workers: int) -> None:
    """Train the tiny model on training repositories only: those of the test split stay unseen by every stage."""
    from repoformer.data_pipeline import collect, split
    from repoformer.data_pipeline.runner import run_stage
    from repoformer.data_pipeline.workers import Workers
    from repoformer.models.pretraining import pretrain

    with Workers(workers) as processes:
        run_stage(collect.STAGE, plan.data, processes)
    split.write_split(plan.data)
    training = set(read_json(Path(plan.data.out, "split.json"))["train"])
    collected = read_parquet(Repository, Path(plan.data.out, "collect"))
    seen = [repository for repository in collected if repository.id in training]
    if pretrain(seen, plan.out / "scratch", plan.pretrain) is None:
        raise KeyboardInterrupt  # it was asked to stop, and saved


def _start_control(plan: Plan, threads: int) -> subprocess.Popen[bytes]:
    """Train the control in a process of its own, at the same time; what it says goes to a file."""
    plan.control.out.mkdir(parents=True, exist_ok=True)
    with open(_control_log(plan), "ab") as log:
        return subprocess.Popen(
            plan.control_command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        )


def _control_log(plan: Plan) -> Path:
    return plan.control.out / "train.log"


def _say(number: int, what: str) -> None:
    print(f"[{number}/4] {what}", file=sys.stderr, flush=True)
