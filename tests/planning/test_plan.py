"""The paper's arithmetic, and what ``repoformer plan`` says of a run that cannot be launched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from repoformer.cli import main
from repoformer.code.records import Example
from repoformer.code.storage import write_parquet
from repoformer.config import load_recipe
from repoformer.planning.plan import changes, describe, plan
from repoformer.planning.schedule import PAPER_EXAMPLES
from repoformer.training.recipe import TrainRecipe

TRAIN = Path(__file__).resolve().parents[2] / "recipes" / "train"


def recipe(name: str, *overrides: str) -> TrainRecipe:
    return load_recipe(TrainRecipe, TRAIN / f"{name}.yaml", overrides)


def test_the_papers_steps() -> None:
    """350,000 examples (360,000 of 18,000 repositories, without the 500 held out) in batches of 512, twice."""
    made = plan(recipe("paper"))
    assert made.examples.number == PAPER_EXAMPLES == 360_000 * 17_500 // 18_000
    assert (made.schedule.steps, made.schedule.left_over) == (1367, 96)
    assert made.schedule.tokens == 1367 * 512 * 2048


@pytest.mark.parametrize(("examples", "steps"), [(240_000, 937), (120_000, 468), (360_000, 1406), (512, 2)])
def test_steps_follow_from_the_size_of_the_split(examples: int, steps: int) -> None:
    assert plan(recipe("paper"), examples=examples).schedule.steps == steps


@pytest.mark.parametrize(
    ("model", "hours"),
    [("starcoderbase-1b", 8), ("starcoderbase-3b", 12), ("starcoderbase-7b", 20), ("starcoder", 50)],
)
def test_the_papers_hours_lie_where_the_estimate_says(model: str, hours: float) -> None:
    """Section 3.3: eight A100. The edges are rounded, as the paper's hours are."""
    run = plan(recipe("paper", f"model=bigcode/{model}")).schedule
    fastest, slowest = run.hours(8, "A100", 0.45), run.hours(8, "A100", 0.20)
    assert fastest * 0.9 < hours < slowest * 1.1


@pytest.mark.parametrize(
    ("gpus", "comes_out"), [(8, True), (16, True), (3, False), (7, False), (64, True), (256, False)]
)
def test_whether_the_batch_comes_out(gpus: int, comes_out: bool) -> None:
    made = plan(recipe("paper", "processes=null"), gpus=gpus)
    assert made.batch_comes_out == comes_out
    assert made.ready == comes_out


def test_a_recipe_for_another_number_of_gpus_is_not_ready() -> None:
    made = plan(recipe("paper"), gpus=4)
    assert not made.ready
    assert "set processes=4" in changes(made)[0]


def test_each_proposed_batch_comes_out() -> None:
    proposed = changes(plan(recipe("paper", "processes=null"), gpus=6))
    assert proposed == ["batch=504", "micro_batch=3"] or proposed == ["batch=504"]
    assert plan(recipe("paper", "processes=null", proposed[0]), gpus=6).batch_comes_out


def test_each_proposal_for_a_run_that_does_not_fit_makes_it_fit() -> None:
    made = plan(recipe("paper", "model=bigcode/starcoder"), gpu_memory=40)
    assert not made.fitting
    proposals = [proposal for proposal in changes(made) if not proposal.startswith("--gpus")]
    assert proposals
    for proposal in proposals:
        overrides = proposal.partition(":")[0].split()
        assert plan(recipe("paper", "model=bigcode/starcoder", *overrides), gpu_memory=40).ready, proposal


PAPERS = ("paper", "starcoderbase-3b", "starcoderbase-7b", "starcoder-16b")


@pytest.mark.parametrize("name", [*PAPERS, "repoformer-m-1b", "grid/reference"])
def test_the_papers_values(name: str) -> None:
    """Section 3.3: 2 epochs, batch 512, learning rate 2e-5, 50 steps of warm-up, lambda 1, on eight GPUs."""
    values = recipe(name)
    assert (values.epochs, values.batch, values.learning_rate, values.warmup_steps, values.lambda_) == (
        *(2, 512, 2e-5, 50, 1.0),
    )
    assert values.batch == values.processes * values.micro_batch * values.accumulation(values.processes or 1)  # type: ignore[operator]


def test_the_grid_is_the_papers_one_value_at_a_time() -> None:
    reference = recipe("grid/reference")
    tried: dict[str, set[float]] = {}
    for path in (TRAIN / "grid").glob("*.yaml"):
        values = recipe(f"grid/{path.stem}")
        changed = {key for key in TrainRecipe.model_fields if getattr(values, key) != getattr(reference, key)} - {"out"}
        assert len(changed) == (path.stem != "reference")
        for key in changed:
            tried.setdefault(key, {getattr(reference, key)}).add(getattr(values, key))
    assert tried == {
        "learning_rate": {1e-5, 2e-5, 5e-5},
        "lambda_": {0.2, 1.0, 2.0, 5.0},
        "epochs": {1, 2, 5},
        "warmup_steps": {50, 100},
    }


@pytest.mark.parametrize("path", sorted(TRAIN.glob("*.yaml")), ids=lambda path: path.name)
def test_each_recipe_names_a_launch_that_fits_on_the_papers_gpus(path: Path) -> None:
    """Eight A100 of 40 GB; the comment on top names recipes/accelerate/NAME.yaml."""
    launch = re.search(r"recipes/accelerate/(\w+)\.yaml", path.read_text())
    if launch:
        made = plan(recipe(path.stem), gpu_memory=40)
        assert made.batch_comes_out
        assert launch[1] in made.fitting


def test_one_b_fits_on_the_papers_gpus() -> None:
    assert "ddp" in plan(recipe("paper"), gpu_memory=40).fitting


def test_data_that_are_there_are_counted(tmp_path: Path) -> None:
    rows = [
        Example(f"e{n}", "r", "line", gain, (1,) * 20, (1,) * 10, (1,) * 8, (1,) * 5)
        for n, gain in enumerate((0.5, -0.5))
    ]
    write_parquet(tmp_path / "train" / "part-00000-of-00001.parquet", rows)
    found = plan(recipe("paper", f"data={tmp_path}", "batch=4", "processes=1")).examples
    assert (found.number, found.longest, found.mean, found.longest_target) == (2, 49, 45, 6)


def test_the_command_tells_in_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(TRAIN / "paper.yaml")
    assert main(["plan", path, "--gpu-memory", "80"]) == 0
    assert "1.137 B parameters" in capsys.readouterr().out
    assert main(["plan", path, "model=bigcode/starcoder", "--gpu-memory", "24"]) == 1
    assert "DOES NOT FIT" in capsys.readouterr().out
    assert main(["plan", path, "--gpus", "5", "processes=null"]) == 1
    assert "DOES NOT COME OUT" in capsys.readouterr().out
    assert main(["plan", path, "--gpus", "-1"]) == 2
    assert main(["plan", path, "model=someone/unknown"]) == 2
    assert "shapes known without their files" in capsys.readouterr().err


def test_figures_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(TRAIN / "paper.yaml"), "--json", "--gpu-memory", "40"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["parameters"] == 1_137_207_296
    assert told["memory"]["zero3"]["total"] < told["memory"]["ddp"]["total"]
    assert "ddp" in describe(plan(recipe("paper")))
