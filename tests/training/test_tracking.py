"""What can be watched: metrics.jsonl and, where asked for, wandb."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repoformer.training.tracking import Tracker


def lines(recipe: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (recipe.out / "metrics.jsonl").read_text().splitlines()]


def test_lines_after_the_checkpoint_and_half_lines_go(make_recipe: Any) -> None:
    recipe = make_recipe()
    recipe.out.mkdir()
    tracker = Tracker(recipe, 0, main=True)
    for step in (1, 2, 3):
        tracker.log(step, {"loss": step / 10})
    with open(recipe.out / "metrics.jsonl", "a") as handle:
        handle.write('{"step": 2, "lo')
    resumed = Tracker(recipe, 2, main=True)
    resumed.log(3, {"loss": 9.0})
    assert lines(recipe) == [{"step": 1, "loss": 0.1}, {"step": 2, "loss": 0.2}, {"step": 3, "loss": 9.0}]


def test_other_processes_write_nothing(make_recipe: Any) -> None:
    recipe = make_recipe(wandb="offline")
    tracker = Tracker(recipe, 0, main=False)
    tracker.log(1, {"loss": 1.0})
    tracker.close()
    assert not recipe.out.exists()


def test_wandb_goes_on_in_the_same_run(make_recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    calls: list[dict[str, Any]] = []

    class Run:
        def log(self, values: dict[str, Any], step: int) -> None:
            calls.append({"step": step, **values})

        def finish(self) -> None:
            calls.append({"finished": True})

    def init(**values: Any) -> Run:
        calls.append(values)
        return Run()

    monkeypatch.setattr(wandb, "init", init)
    recipe = make_recipe(wandb="offline")
    recipe.out.mkdir()
    for resumed_from in (0, 1):
        tracker = Tracker(recipe, resumed_from, main=True)
        tracker.log(resumed_from + 1, {"loss": 1.0})
        tracker.close()
    first, logged, finished, second, *_ = calls
    assert first["id"] == second["id"]
    assert (first["mode"], first["resume"], first["config"]["lambda"]) == ("offline", "allow", 1.0)
    assert logged == {"step": 1, "loss": 1.0}
    assert finished == {"finished": True}
