"""What can be watched while a run goes: ``metrics.jsonl``, always, and wandb, where the recipe asks for it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from repoformer.code.storage import write_text
from repoformer.errors import UserError
from repoformer.training.recipe import TrainRecipe

FILE_NAME = "metrics.jsonl"

_WANDB_ID = "wandb_id"


class Tracker:
    """One line per step and per validation; lines after the step that a run resumes from are dropped first.

    Nothing is written where ``main`` is false, that is in all processes but one.
    """

    def __init__(self, recipe: TrainRecipe, resumed_from: int, *, main: bool) -> None:
        self._path = recipe.out / FILE_NAME
        self._main = main
        self._wandb: Any = None
        if main:
            _keep_lines_until(self._path, resumed_from)
            self._wandb = _start_wandb(recipe) if recipe.wandb != "off" else None

    def log(self, step: int, values: dict[str, Any], histograms: Mapping[str, Sequence[int]] | None = None) -> None:
        """Note ``values`` (numbers, or dicts of numbers) after step ``step``.

        ``histograms`` are counts over equal parts of [0, 1]; wandb draws them.
        """
        if not self._main:
            return
        with open(self._path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps({"step": step, **values}) + "\n")
        if self._wandb is not None:
            drawn = {name: _wandb_histogram(counts) for name, counts in (histograms or {}).items()}
            self._wandb.log({**values, **({"P(<cc>)": drawn} if drawn else {})}, step=step)

    def close(self) -> None:
        """Finish the wandb run, if there is one."""
        if self._wandb is not None:
            self._wandb.finish()


def _keep_lines_until(path: Path, step: int) -> None:
    """Drop what a killed run noted after its last checkpoint, and the line it may have been killed in."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            noted = json.loads(line)["step"]
        except (json.JSONDecodeError, TypeError, KeyError):
            continue
        if noted <= step:
            kept.append(line + "\n")
    write_text(path, "".join(kept))


def _wandb_histogram(counts: Sequence[int]) -> Any:
    import wandb

    return wandb.Histogram(np_histogram=(np.asarray(counts), np.linspace(0, 1, len(counts) + 1)))


def _start_wandb(recipe: TrainRecipe) -> Any:
    """A wandb run with an identity of its own in the run's folder, so that a resumed run goes on in the same one."""
    import wandb

    identity = recipe.out / _WANDB_ID
    if not identity.exists():
        write_text(identity, secrets.token_hex(4))
    try:
        return wandb.init(
            project=recipe.wandb_project,
            id=identity.read_text(encoding="utf-8"),
            name=recipe.out.name,
            dir=recipe.out,
            mode="online" if recipe.wandb == "online" else "offline",
            resume="allow",
            config=recipe.model_dump(mode="json"),
        )
    except wandb.errors.Error as error:
        raise UserError(
            f"wandb={recipe.wandb}: {' '.join(str(error).split())}; use wandb=offline or wandb=off"
        ) from None
