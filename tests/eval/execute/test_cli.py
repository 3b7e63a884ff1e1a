"""``repoformer eval execute``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from repoformer.cli import main
from repoformer.code.records import Blank


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
        "model: never 0.00 % pass, retrieves 0 %",
        "model: always 100.00 % pass, retrieves 100 %",
        "model: context harms 0, helps 1, changes nothing for 0",
        f"verdicts: {tmp_path}/evaluation/unit_tests.json",
    ]


def test_a_mistake_in_the_recipe_is_named(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "execute", str(recipe), "--allow-code-execution", "limits.second=3"]) == 2
    assert "limits.second: unknown key (did you mean seconds?)" in capsys.readouterr().err
