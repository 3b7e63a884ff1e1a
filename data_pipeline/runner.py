"""One data set, from a recipe: every stage over every shard, skipping what is done already.

A shard is done when its ``.done.json`` says that it was made from the settings and the input of now. It is written
last, so a run that was killed anywhere goes on where it stopped, and gives the same bytes. ``data-card.json`` is taken
away while work is left and written at the end: where it stands, the data are complete.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from repoformer.config import write_run_record
from repoformer.errors import UserError

from . import assemble, collect, label, retrieve, sample
from .card import CARD, write_card
from .done import begin, finish, is_done
from .recipe import DataRecipe
from .split import write_split
from .stage import Advance, Input, Shard, Stage, shards_of
from .workers import Workers

STAGES = (collect.STAGE, sample.STAGE, retrieve.STAGE, label.STAGE, assemble.STAGE)

_PART = re.compile(r"part-\d{5}-of-(\d{5})\.")


def run(recipe: DataRecipe, workers: int = 1) -> None:
    """Make the data set of ``recipe`` in its ``out``, with this many processes.

    Their number changes no byte of the stages without a model. Several processes compute with one thread each.
    """
    with Workers(workers) as processes:
        _refuse_other_shards(recipe)
        write_run_record(Path(recipe.out), recipe)
        for stage in STAGES:
            run_stage(stage, recipe, processes)
            if stage is collect.STAGE:
                write_split(recipe)
        write_card(recipe)


def run_stage(stage: Stage, recipe: DataRecipe, workers: Workers) -> None:
    """Do the shards of one stage that are not done; the stages before it must be finished."""
    tasks = [_Task(stage, shard, given) for shard, given in zip(shards_of(recipe), stage.inputs(recipe), strict=True)]
    pending = [task for task in tasks if not is_done(stage, task.shard, task.given)]
    if not pending:
        return
    pending.sort(key=lambda task: task.given.units, reverse=True)  # the longest first, so that none is waited for alone
    Path(recipe.out, CARD).unlink(missing_ok=True)
    units = sum(task.given.units for task in pending)
    with tqdm(total=units, desc=stage.name, unit=stage.unit) as bar:
        workers.do(_run_shard, pending, bar)
        bar.update(units - bar.n)  # what workers reported last may still be on its way


@dataclass(frozen=True, slots=True)
class _Task:
    stage: Stage
    shard: Shard
    given: Input


def _run_shard(task: _Task, advance: Advance) -> None:
    begin(task.stage, task.shard)
    started = time.perf_counter()
    stats = task.stage.run_shard(task.shard, advance)
    finish(task.stage, task.shard, task.given, stats, time.perf_counter() - started)


def _refuse_other_shards(recipe: DataRecipe) -> None:
    for stage in STAGES:
        for path in sorted(Path(recipe.out, stage.name).rglob("part-*")):
            part = _PART.match(path.name)
            shards = int(part.group(1)) if part else recipe.shards
            if shards != recipe.shards:
                raise UserError(
                    f"{path.parent}: holds parts of {shards} shards and the recipe says shards: {recipe.shards}; "
                    f"set shards={shards}, choose another out, or delete {recipe.out}"
                )
