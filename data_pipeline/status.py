"""``repoformer data status DIR``: what of a data set is done, what is missing, and how long that will take.

Rates are those of the finished shards, and of what is logged of unfinished label shards. What earlier stages have not
made yet cannot be counted: it is taken to be as much per shard as in the shards that are there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from repoformer.code.storage import read_json
from repoformer.config import parse_recipe
from repoformer.errors import UserError

from .card import CARD
from .done import has_settings, is_done, read_done
from .label_log import log_path, logged
from .recipe import DataRecipe
from .runner import STAGES
from .stage import Shard, Stage, shards_of


@dataclass(frozen=True, slots=True)
class StageStatus:
    """How far one stage is; seconds are those of one process."""

    stage: str
    done: int
    shards: int
    missing: tuple[int, ...]
    unit: str
    rows: int
    seconds: float
    """What the finished shards took."""
    seconds_per_unit: float | None
    """None where nothing was measured yet."""
    units_left: float | None
    """None where nothing is known about how much there will be."""

    @property
    def seconds_left(self) -> float | None:
        """Of one process; None where it cannot be told yet."""
        if not self.missing:
            return 0.0
        if self.seconds_per_unit is None or self.units_left is None:
            return None
        return self.seconds_per_unit * self.units_left


@dataclass(frozen=True, slots=True)
class Status:
    """How far a data set is."""

    out: str
    split: bool
    card: bool
    stages: tuple[StageStatus, ...]

    @property
    def complete(self) -> bool:
        """Whether all stages are done and the card says so."""
        return self.card and not any(stage.missing for stage in self.stages)

    def json(self) -> str:
        """For programs."""
        stages = [asdict(stage) | {"seconds_left": stage.seconds_left} for stage in self.stages]
        return json.dumps(asdict(self) | {"stages": stages, "complete": self.complete}, indent=2)

    def missing(self, stage: str) -> str:
        """The missing shards of a stage as an array's tasks: ``3,7-9``."""
        found = [each for each in self.stages if each.stage == stage]
        if not found:
            raise UserError(f"--missing {stage}: choose from {', '.join(each.stage for each in self.stages)}")
        return _ranges(found[0].missing)

    def lines(self, workers: int) -> list[str]:
        """A table for people; times are those of so many processes."""
        lines = [f"{'stage':9} {'shards':>11} {'rows':>9} {'took':>8} {'rate':>22} {'left':>9}  missing"]
        for each in self.stages:
            rate = "" if each.seconds_per_unit is None else f"{each.seconds_per_unit:.3g} s per {each.unit}"
            left = "unknown" if each.seconds_left is None else _clock(each.seconds_left / workers)
            lines.append(
                f"{each.stage:9} {f'{each.done} of {each.shards}':>11} {each.rows:9} {_clock(each.seconds):>8} "
                f"{rate:>22} {left:>9}  {_ranges(each.missing)}"
            )
        return [*lines, f"{self.out}: {'complete' if self.complete else self._left(workers)}"]

    def _left(self, workers: int) -> str:
        known = sum(each.seconds_left or 0.0 for each in self.stages) / workers
        unknown = ", ".join(each.stage for each in self.stages if each.seconds_left is None)
        if not unknown:
            return f"{_clock(known)} left"
        return f"{f'at least {_clock(known)} left, ' if known else ''}time not known yet for {unknown}"


def status(out: Path) -> Status:
    """How far the data set in ``out`` is, by the recipe in its ``run.json``."""
    named = "name the folder that `repoformer data run` writes to"
    if not (out / "run.json").exists():
        raise UserError(f"{out}: holds no data set, there is no run.json; {named}")
    run = read_json(out / "run.json")
    if not isinstance(run, dict) or "config" not in run:
        raise UserError(f"{out / 'run.json'}: holds no recipe; {named}")
    recipe = parse_recipe(DataRecipe, run["config"] | {"out": str(out)}, str(out / "run.json"))
    found: list[StageStatus] = []
    for stage in STAGES:
        found.append(_stage_status(stage, recipe, found[-1] if found else None))
    return Status(str(out), (out / "split.json").is_file(), (out / CARD).is_file(), tuple(found))


def _stage_status(stage: Stage, recipe: DataRecipe, before: StageStatus | None) -> StageStatus:
    shards = shards_of(recipe)
    finished = [shard for shard in shards if _is_done(stage, shard)]
    done = [read_done(shard.done(stage.name)) for shard in finished]
    missing = [shard for shard in shards if shard not in finished]
    begun = [logged(log_path(shard)) for shard in missing] if stage.name == "label" else []
    units = sum(each.units for each in done) + sum(count for count, _ in begun)
    seconds = sum(each.seconds for each in done) + sum(spent for _, spent in begun)
    expected = _expected_units(stage, missing, before)
    return StageStatus(
        stage=stage.name,
        done=len(done),
        shards=len(shards),
        missing=tuple(shard.number for shard in missing),
        unit=stage.unit,
        rows=sum(each.rows for each in done),
        seconds=sum(each.seconds for each in done),
        seconds_per_unit=seconds / units if units else None,
        units_left=None if expected is None else max(0.0, expected - sum(count for count, _ in begun)),
    )


def _is_done(stage: Stage, shard: Shard) -> bool:
    """As the runner asks, but sources are not looked at, and a model that is not here is taken on trust."""
    if stage.name == "collect" or not has_settings(stage, shard):
        return has_settings(stage, shard)
    try:
        (given,) = stage.inputs([shard])
    except UserError:
        return stage.name == "label"
    return is_done(stage, shard, given)


def _expected_units(stage: Stage, missing: Sequence[Shard], before: StageStatus | None) -> float | None:
    """How much there is to do in the missing shards, or will be."""
    if not missing:
        return 0.0
    if before is None or not before.done:
        return None
    try:
        return float(sum(given.units for given in stage.inputs(missing)))
    except UserError:  # stages before are not finished: as much as in the shards that are
        return len(missing) * before.rows / before.done


def _ranges(numbers: Sequence[int]) -> str:
    """``[3, 7, 8, 9]`` as ``3,7-9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
