"""Checkpoints that a run resumes from exactly: written aside, then renamed; the newest whole one wins."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object

from repoformer.code.storage import read_json, write_json
from repoformer.errors import UserError

_PROGRESS = "progress.json"
_BEST = "best.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, and what it is: stands in a checkpoint beside weights, optimiser state and random states."""

    step: int
    settings: dict[str, Any]
    """The recipe's values that decide the outcome, and the data's fingerprint."""
    layout: str = "whole"
    """How it is cut up, see :func:`repoformer.training.processes.layout`."""


@dataclass(frozen=True, slots=True)
class Best:
    """The step with the lowest validation loss so far."""

    step: int
    loss: float


class Checkpoints:
    """The checkpoints of one run, ``step-00000050`` and so on, in one folder.

    Everything that changes a file is called by all processes; the main one renames and deletes.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def newest(self) -> Progress | None:
        """Progress of the newest whole checkpoint; a broken one is passed over."""
        for path in reversed(self._paths()):
            progress = _whole(path)
            if progress is not None:
                return progress
        return None

    def save(self, accelerator: Accelerator, progress: Progress) -> None:
        """Write a checkpoint, unless this step has one; then delete old ones, never the best."""
        path = self.path(progress.step)
        if _whole(path) is not None:
            return
        aside = self.folder / f".{path.name}.tmp"
        if accelerator.is_main_process:
            for left in [*self.folder.glob(".step-*.tmp"), path]:  # by saves that were killed, at whatever step
                shutil.rmtree(left, ignore_errors=True)
        accelerator.wait_for_everyone()
        try:
            self._all_or_none(accelerator, path, lambda: accelerator.save_state(str(aside)))
            self._all_or_none(accelerator, path, lambda: self._complete(accelerator, aside, path, progress))
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise

    def _complete(self, accelerator: Accelerator, aside: Path, path: Path, progress: Progress) -> None:
        """Once all files are there: note them, make sure that they are on the disk, rename."""
        if not accelerator.is_main_process:
            return
        files = {str(file.relative_to(aside)): file.stat().st_size for file in _files(aside)}
        write_json(aside / _PROGRESS, {**asdict(progress), "files": files})
        for file in [*_files(aside), aside]:
            _sync(file)
        os.replace(aside, path)
        _sync(self.folder)
        self._prune()

    def _all_or_none(self, accelerator: Accelerator, path: Path, write: Callable[[], None]) -> None:
        """``write`` in every process; a failure in one, of a full disk say, is raised in all, so that none waits."""
        try:
            write()
            failure, cause = None, None
        except Exception as error:  # safetensors and torch have their own for what is an OSError
            failure, cause = f"{type(error).__name__}: {' '.join(str(error).split())}", error
        failures = [one for one in gather_object([failure]) if one is not None]
        if failures:
            newest = self.newest()
            stands = f"that of step {newest.step} stands" if newest else "there is none before it"
            free = shutil.disk_usage(self.folder.parent).free // 2**20
            raise UserError(
                f"{path}: this checkpoint could not be written, {stands} ({failures[0]}; {free} MiB free); "
                "free some space and run the same again"
            ) from cause

    def load(self, accelerator: Accelerator, step: int) -> None:
        """Put the state of step ``step`` into everything the accelerator has prepared."""
        accelerator.load_state(str(self.path(step)))

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step lies."""
        return self.folder / f"step-{step:08d}"

    @property
    def best(self) -> Best | None:
        """The best validated checkpoint that still stands."""
        if not (self.folder / _BEST).exists():
            return None
        best = Best(**read_json(self.folder / _BEST))
        return best if _whole(self.path(best.step)) is not None else None

    def note_validation(self, step: int, loss: float) -> None:
        """Called by the main process: remember the step if its loss is the lowest so far; the best until now may go."""
        if self.best is None or loss < self.best.loss:
            write_json(self.folder / _BEST, asdict(Best(step, loss)))
            self._prune()

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("step-*") if path.is_dir())

    def _prune(self) -> None:
        best = self.best
        for path in self._paths()[: -self.keep]:
            if best is None or path != self.path(best.step):
                shutil.rmtree(path)


def check_same(before: dict[str, Any], now: dict[str, Any], out: Path) -> None:
    """Refuse to go on in ``out`` with other settings than those it was begun with, naming each."""
    changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if changed:
        differences = ", ".join(f"{key} was {before.get(key)!r}, is now {now.get(key)!r}" for key in changed)
        raise UserError(f"{out}: holds a run with other settings ({differences}); choose another out=DIR or delete it")


def check_layout(progress: Progress, now: str, out: Path) -> None:
    """Refuse a checkpoint whose parts are those of another number of processes, or of another way of sharding."""
    if progress.layout != now:
        raise UserError(
            f"{out}: its checkpoint of step {progress.step} is {progress.layout}, this launch is {now}; launch it as "
            "before, or choose another out=DIR"
        )


def keep_names_plain(accelerator: Accelerator) -> None:
    """Make checkpoints independent of the number of processes: weights are named as without a distributed wrapper."""

    def save_plain(models: list[Any], weights: list[dict[str, Any]], _: str) -> None:
        for state in weights:
            seen: set[tuple[int, tuple[int, ...]]] = set()
            for name in list(state):
                tensor = state.pop(name)
                place = (tensor.data_ptr(), tuple(tensor.shape))
                if place not in seen:  # a tied weight is saved once; loading ties it again
                    state[name.removeprefix("module.")] = tensor
                seen.add(place)

    def load_plain(models: list[Any], _: str) -> None:
        models[:] = [accelerator.unwrap_model(model) for model in models]

    accelerator.register_save_state_pre_hook(save_plain)
    accelerator.register_load_state_pre_hook(load_plain)


def _whole(path: Path) -> Progress | None:
    """Progress of a checkpoint all of whose files are there in full; None for anything else."""
    try:
        values = read_json(path / _PROGRESS)
        files = values.pop("files")
        whole = all((path / name).stat().st_size == size for name, size in files.items())
        return Progress(**values) if whole else None
    except (UserError, OSError, KeyError, TypeError, AttributeError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
