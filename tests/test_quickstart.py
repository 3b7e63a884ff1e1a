"""The quickstart: all recipes read before any work, and the whole path at the smallest size."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from repoformer.data_pipeline import runner
from repoformer.errors import UserError
from repoformer.quickstart import SCRATCH_NOTE, Plan, quickstart, read_plan

RECIPE = Path(__file__).resolve().parent.parent / "recipes" / "quickstart.yaml"


def plan(*overrides: str) -> Plan:
    return read_plan(RECIPE, overrides)


def test_every_recipe_works_in_the_folder_of_the_run(tmp_path: Path) -> None:
    read = plan(f"out={tmp_path}")
    folders = [read.data.out, read.selective.out, read.control.out, read.selective.data, read.evaluation.out]
    assert all(Path(folder).is_relative_to(tmp_path) for folder in folders)


def test_control_and_model_differ_in_objective_and_folder_only() -> None:
    read = plan()
    same = {"objective", "out"}
    assert read.selective.model_dump(exclude=same) == read.control.model_dump(exclude=same)
    assert (read.selective.objective, read.control.objective) == ("selective", "fim_only")


def test_the_control_is_evaluated_and_named_as_such() -> None:
    read = plan()
    assert read.evaluation.control in [model.name for model in read.evaluation.models]


def test_an_override_reaches_the_recipe_that_it_names() -> None:
    assert plan("data.sample.chunks_per_repository=7").data.sample.chunks_per_repository == 7


def test_an_override_of_training_reaches_the_control_and_its_process() -> None:
    read = plan("train.learning_rate=1e-4")
    assert read.control.learning_rate == 1e-4
    assert "learning_rate=1e-4" in read.control_command


def test_mistakes_in_all_recipes_are_reported_at_once() -> None:
    with pytest.raises(UserError) as caught:
        plan("data.seeed=1", "train.seeed=1", "eval.seeed=1")
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("override", ["data.label.by=likelyhood", "data.label.threshold.x=1", "data.label"])
def test_a_mistake_in_an_override_names_the_key_as_it_was_typed(override: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(override)
    assert override.partition("=")[0] in str(caught.value)


def test_labels_come_from_the_model_that_is_fine_tuned() -> None:
    read = plan("model=somewhere")
    assert read.data.label.model == read.selective.model == "somewhere"


def test_a_step_that_is_not_needed_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        quickstart(RECIPE, [f"out={tmp_path}"])
    assert "[1/4] skipped: the model is pocket" in capsys.readouterr().err


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run on six packages of the standard library, with a model that has seen next to nothing."""
    repositories = tmp_path_factory.mktemp("repositories")
    for name in ("asyncio", "email", "json", "logging", "unittest", "xml"):
        shutil.copytree(Path(sysconfig.get_path("stdlib"), name), repositories / name)
    out = tmp_path_factory.mktemp("a run")
    quickstart(RECIPE, [*SMALL, f"out={out}", source(repositories)])
    return out


SMALL = (
    "model=scratch",
    "pretrain.steps=6",
    "pretrain.documents.chunks_per_repository=4",
    "pretrain.documents.functions_per_repository=2",
    "data.shards=1",
    "data.sample.chunks_per_repository=4",
    "data.sample.functions_per_repository=1",
    "data.filter.imports_per_file=0",
    "data.filter.local_imports_per_file=0",
    "data.filter.files=3",
    "train.epochs=1",
    "train.batch=4",
    "eval.limit=4",
    "eval.latency_blanks=1",
)


def source(repositories: Path) -> str:
    return f"data.sources=[{{kind: folder, path: '{repositories}', licence: LicenseRef-standard-library}}]"


def test_a_run_ends_in_a_summary_with_every_model_and_the_honest_note(finished: Path) -> None:
    summary = json.loads((finished / "eval" / "summary.json").read_text())
    assert {row["model"] for row in summary["rows"]} == {"base", "fim-only", "repoformer"}
    assert SCRATCH_NOTE in summary["notes"]


def test_a_run_ends_in_a_page(finished: Path) -> None:
    assert "<h1>" in (finished / "eval" / "report.html").read_text()


def test_no_repository_is_on_two_sides(finished: Path) -> None:
    split = json.loads((finished / "data" / "split.json").read_text())
    sides = [set(split[side]) for side in ("train", "validation", "test")]
    assert all(sides)
    assert len(set.union(*sides)) == sum(map(len, sides))
