"""``repoformer eval execute``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from repoformer.cli import main
from repoformer.code.records import Blank
from repoformer.code.storage import write_json
from repoformer.eval import runner as evaluation_runner
from repoformer.eval.execute import runner


@pytest.fixture
def recipe(evaluation: Any, blanks: dict[str, Blank], tmp_path: Path) -> Path:
    double = blanks["double"]
    values = evaluation([(double, "    return 0", double.target), (blanks["unused"], "", "")])
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(values.model_dump(mode="json")))
    return path


def test_nothing_runs_unless_it_is_allowed(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "execute", str(recipe)]) == 2
    assert "only with --allow-code-execution" in capsys.readouterr().err
    assert not (tmp_path / "evaluation/executions").exists()


def test_it_says_what_came_of_it(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "execute", str(recipe), "--allow-code-execution", "resamples=200"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "note: 1 functions left out: no test notices that the body is gone",
        "1 functions of 1 repositories judged",
        "model: never 0.00 % pass, 0 % with context",
        "model: always 100.00 % pass, 100 % with context",
        "model: context harms 0, helps 1, changes nothing for 0",
        f"verdicts: {tmp_path}/evaluation/unit_tests.json",
        "note: pass rates of policies that decide come with the evaluation's report, which is not written yet",
    ]


def test_policies_that_decide_do_so_as_in_the_report(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = {"left_out": {}, "judged": 1, "repositories": {"r": {}}, "models": {}}
    rates = {"threshold": {"pass_rate": 0.5, "share_with_context": 0.25}}
    gated = {"policies": rates, "helped": 1, "unchanged": 0, "harmed": 0}
    monkeypatch.setattr(runner, "run", lambda recipe, workers: judged)
    monkeypatch.setattr(evaluation_runner, "reported", lambda folder: folder)
    monkeypatch.setattr(evaluation_runner, "report_again", lambda _: {"unit_tests": {"models": {"gated": gated}}})
    assert main(["eval", "execute", str(recipe), "--allow-code-execution"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "gated: threshold 50.00 % pass, 25 % with context" in said
    assert said[-1] == f"report: {tmp_path}/evaluation/report.html"


def test_an_evaluation_that_cannot_be_read_is_found_before_anything_runs(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run", lambda recipe, workers: pytest.fail("it ran"))
    (tmp_path / "evaluation/report.html").touch()
    write_json(tmp_path / "evaluation/run.json", {"config": {"out": "o", "model": []}})
    assert main(["eval", "execute", str(recipe), "--allow-code-execution"]) == 2
    assert "run.json: config: model: unknown key (did you mean models?)" in capsys.readouterr().err


def test_a_mistake_in_the_recipe_is_named(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "execute", str(recipe), "--allow-code-execution", "limits.second=3"]) == 2
    assert "limits.second: unknown key (did you mean seconds?)" in capsys.readouterr().err
