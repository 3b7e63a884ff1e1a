"""``repoformer eval``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import yaml

from repoformer.errors import UserError
from repoformer.eval import cli
from repoformer.eval.recipe import EvalRecipe


def call(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return cli.run(parser.parse_args(arguments))


@pytest.fixture
def recipe(tmp_path: Path, finished: EvalRecipe) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(finished.model_dump(mode="json")))
    return path


def test_run_says_what_to_know_and_where_the_report_is(
    recipe: Path, finished: EvalRecipe, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", str(recipe), "resamples=200") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == f"report: {finished.out}/report.html"
    assert "note: Only 12 blanks: a difference has to be large to be seen." in printed


def test_score_goes_on_from_predictions_alone(recipe: Path) -> None:
    assert call("score", str(recipe), "data=/nowhere") == 0


def test_a_broken_recipe_is_the_users_to_hear_about(recipe: Path) -> None:
    with pytest.raises(UserError, match=r"limt: unknown key \(did you mean limit\?\)"):
        call("run", str(recipe), "limt=3")


@pytest.mark.parametrize("arguments", [(), ("run",), ("walk", "recipe.yaml")])
def test_a_call_that_says_too_little_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        call(*arguments)
    assert caught.value.code == 2
