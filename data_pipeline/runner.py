"""One data set, from a recipe: every stage over every shard, skipping what is done already.

A shard is done when its ``.done.json`` says that it was made from the settings and the input of now. It is written
last, so a run that was killed anywhere goes on where it stopped, and gives the same bytes. ``data-card.json`` is taken
away while work is left and written at the end: where it stands, the data are complete.

A batch system runs one step at a time, the sharded ones as an array over the recipe's shards:

    collect (array) -> split -> sample, retrieve, label, assemble (array) -> card
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from repoformer.config import write_run_record
from repoformer.errors import UserError

from . import assemble, collect, label, retrieve, sample
from .card import CARD, write_card
from .done import begin, finish, has_settings, is_done
from .generators import refuse_unusable
from .recipe import DataRecipe
from .split import write_split
from .stage import Advance, Input, Shard, Stage, shards_of
from .workers import Workers

STAGES = (collect.STAGE, sample.STAGE, retrieve.STAGE, label.STAGE, assemble.STAGE)
WHOLE = {"split": write_split, "card": write_card}
"""Steps over all shards at once."""
STEPS = ("collect", "split", "sample", "retrieve", "label", "assemble", "card")

_PART = re.compile(r"part-\d{5}-of-(\d{5})\.")


def run(
    recipe: DataRecipe, workers: int = 1, *, steps: Sequence[str] = STEPS, shards: Sequence[int] | None = None
) -> None:
    """Make the data set of ``recipe`` in its ``out``, with this many processes.

    Their number changes no byte of the stages without a model. Several processes compute with one thread each.
    ``steps`` runs a part of the whole, after the steps before it; ``shards`` then takes only these shards of them.
    """
    chosen = _chosen(recipe, shards, steps)
    with Workers(workers) as processes:
        _refuse_other_shards(recipe)
        if shards is None:
            _clear_leftovers(Path(recipe.out))
        if "label" in steps and not all(has_settings(label.STAGE, shard) for shard in chosen):
            refuse_unusable(recipe)
        if chosen[0].number == 0:  # of an array's tasks only one
            write_run_record(Path(recipe.out), recipe)
        for step in (step for step in STEPS if step in steps):
            earlier = STAGES[: _stages_before(step)]
            _refuse_unfinished([stage for stage in earlier if stage.name not in steps], chosen)
            if step in WHOLE:
                WHOLE[step](recipe)
            else:
                run_stage(STAGES[_stages_before(step)], recipe, processes, chosen)


def run_stage(stage: Stage, recipe: DataRecipe, workers: Workers, shards: Sequence[Shard] = ()) -> None:
    """Do the shards of one stage that are not done, all or the given ones; earlier stages must be finished."""
    shards = shards or shards_of(recipe)
    tasks = [_Task(stage, shard, given) for shard, given in zip(shards, stage.inputs(shards), strict=True)]
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
    finish(task.stage, task.shard, task.given, stats, stats.seconds + time.perf_counter() - started)


def _clear_leftovers(out: Path) -> None:
    """What a killed run has left half-written beside the stages; shards clear their own."""
    for leftover in out.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def _refuse_unfinished(stages: Sequence[Stage], shards: Sequence[Shard]) -> None:
    """What an earlier command should have finished for these shards; sources are not looked at again."""
    for stage in stages:
        if stage is collect.STAGE:
            missing = [shard for shard in shards if not has_settings(stage, shard)]
        else:
            given = zip(shards, stage.inputs(shards), strict=True)
            missing = [shard for shard, each in given if not is_done(stage, shard, each)]
        if missing:
            raise UserError(
                f"{missing[0].done(stage.name)}: {len(missing)} of {len(shards)} shards of {stage.name} are not "
                f"finished with the settings and the input of now; run them first (--stage {stage.name})"
            )


def _stages_before(step: str) -> int:
    """How many stages come before a step: also the place of a stage among the stages."""
    return sum(earlier not in WHOLE for earlier in STEPS[: STEPS.index(step)])


def _chosen(recipe: DataRecipe, shards: Sequence[int] | None, steps: Sequence[str]) -> list[Shard]:
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise UserError(f"--stage {unknown[0]}: no such stage; choose from {', '.join(STEPS)}")
    if shards is None:
        return shards_of(recipe)
    whole = [step for step in steps if step in WHOLE]
    if whole:
        raise UserError(f"--stage {whole[0]}: works on all shards at once; run it without --shards")
    beyond = [shard for shard in shards if not 0 <= shard < recipe.shards]
    if beyond or not shards:
        raise UserError(
            f"--shards {beyond[0] if beyond else ''}: the recipe has shards 0 to {recipe.shards - 1}; "
            "their number comes from the recipe, not from the size of an array"
        )
    return [Shard(recipe, number) for number in sorted(set(shards))]


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
