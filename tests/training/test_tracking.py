"""What can be watched: metrics.jsonl and, where asked for, wandb."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repoformer.training.loop import train
from repoformer.training.step import Stepper, StepReport
from repoformer.training.tracking import Tracker
from repoformer.training.validation import saved_validation


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


def wandb_records(path: Path) -> Iterator[Any]:
    """The records of a ``.wandb`` file: LevelDB's log (blocks of 32 KiB; checksum, length, type) after 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, gathered = path.read_bytes(), 7, b""
    while place + 7 <= len(content):
        left_in_block = 32768 - place % 32768
        if left_in_block < 7:
            place += left_in_block
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        gathered += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = Record()
            record.ParseFromString(gathered)
            yield record
            gathered = b""


def wandb_runs(out: Path) -> list[tuple[str, dict[int, dict[str, Any]]]]:
    """Of each offline run, oldest first: its id, and what it noted by step, nested keys joined by dots."""
    found = []
    for path in sorted(out.glob("wandb/offline-run-*/run-*.wandb"), key=lambda path: path.stat().st_mtime):
        identity, history = "", {}
        for record in wandb_records(path):
            if record.HasField("run"):
                identity = record.run.run_id
            elif record.HasField("history"):
                values = {".".join(one.nested_key) or one.key: one.value_json for one in record.history.item}
                noted = {name: json.loads(value) for name, value in values.items()}
                history.setdefault(record.history.step.num, {}).update(noted)
        found.append((identity, history))
    return found


def test_wandb_offline_holds_what_metrics_hold_and_resumes_the_same_run(
    make_recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real run, stopped and gone on with, read back from the files that ``wandb sync`` would upload."""
    recipe = make_recipe(wandb="offline")
    step = Stepper.step

    def stops(self: Stepper, number: int) -> StepReport:
        if number == 4:
            (recipe.out / "stop").touch()
        return step(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "step", stops)
        assert not train(recipe).finished
    assert train(recipe).finished

    (first_id, first), (second_id, second) = wandb_runs(recipe.out)
    assert first_id == second_id == (recipe.out / "wandb_id").read_text()
    for noted in lines(recipe):
        shown = (first if noted["step"] <= 4 else second)[noted["step"]]
        if "loss" in noted:
            assert {name: shown[name] for name in noted if name != "step"} == {
                name: value for name, value in noted.items() if name != "step"
            }
    validation = saved_validation(recipe.out, 6)
    assert validation is not None
    assert second[6]["P(<cc>).wants context.values"] == validation.histograms["wants context"]
    assert second[6]["validation.L_eval"] == validation.L_eval
