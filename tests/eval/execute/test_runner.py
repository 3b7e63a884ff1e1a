"""From predictions to verdicts on a repository written on the fly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Blank
from repoformer.code.storage import read_jsonl, write_jsonl
from repoformer.errors import UserError
from repoformer.eval.execute import runner
from repoformer.eval.execute.execution import Execution
from repoformer.eval.execute.pass_rate import UnitTests, read_unit_tests, summarise, unit_tests_path
from repoformer.eval.execute.recipe import ExecuteRecipe
from repoformer.eval.generate import predictions_log

WRONG = "    return 3 * number"
HANGS = "    while True: pass"


def scores(recipe: ExecuteRecipe) -> dict[str, UnitTests]:
    read = read_jsonl(UnitTests, Path(recipe.evaluation) / "scores/model.unit-tests.jsonl")
    return {score.id: score for score in read}


def test_the_true_body_passes_a_wrong_one_fails_and_one_that_hangs_is_cut(
    evaluation: Any, blanks: dict[str, Blank]
) -> None:
    double, halve = blanks["double"], blanks["halve"]
    recipe = evaluation([(double, WRONG, double.target), (halve, HANGS, halve.target)])
    recipe = recipe.model_copy(update={"limits": recipe.limits.model_copy(update={"seconds": 1.5})})
    summary = runner.run(recipe, workers=2)
    found = scores(recipe)
    assert (found[double.id].verdict_without, found[double.id].verdict_with) == ("failed", "passed")
    assert (found[halve.id].verdict_without, found[halve.id].verdict_with) == ("timeout", "passed")
    assert summary["models"]["model"]["policies"]["always"]["pass_rate"] == 1.0
    assert summary["models"]["model"]["policies"]["never"]["pass_rate"] == 0.0
    assert summary["models"]["model"]["helped"] == 2


def test_verdicts_are_those_of_the_bodies_that_the_predictions_hold(evaluation: Any, blanks: dict[str, Blank]) -> None:
    double, halve = blanks["double"], blanks["halve"]
    recipe = evaluation([(double, WRONG, double.target), (halve, WRONG, halve.target)])
    runner.run(recipe)
    evaluation([(double, WRONG, "    return 4"), (halve, WRONG, halve.target)])
    folder = Path(recipe.evaluation)
    predictions = {one.blank.id: one for one in predictions_log(folder, "model").read()}
    assert read_unit_tests(folder, "model", predictions).keys() == {halve.id}
    assert read_unit_tests(folder, "other", predictions) == {}


def test_verdicts_that_do_not_name_their_bodies_are_none_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unit_tests_path(tmp_path, "model")
    write_jsonl(path, [UnitTests("a", "r", 0.0, 1.0, "failed", "passed", "", "")])
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 1'))
    assert read_unit_tests(tmp_path, "model", {}) == {}
    assert f"{path}: verdicts of schema 1 do not name the bodies" in capsys.readouterr().err


def test_a_policy_that_decides_by_a_coin_passes_as_often_as_it_is_expected_to() -> None:
    scores = [
        UnitTests("a", "r", 0.0, 1.0, "failed", "passed", "", ""),
        UnitTests("b", "s", 1.0, 1.0, "passed", "passed", "", ""),
    ]
    found = summarise(scores, {"coin": [0.25, 0.25]}, resamples=100, seed=0)["policies"]["coin"]
    assert (found["pass_rate"], found["share_with_context"]) == (0.625, 0.25)
    assert (found["against_never"]["point"], found["against_always"]["point"]) == (0.125, -0.375)


def test_tests_that_fail_before_anything_is_replaced_do_not_count(evaluation: Any, blanks: dict[str, Blank]) -> None:
    halve = blanks["halve"]
    summary = runner.run(evaluation([(halve, halve.target, halve.target)]))
    facts = summary["repositories"]["owner/numbers"]
    assert (facts["tests_counted"], facts["tests_ignored"]) == (2, 1)
    assert summary["models"]["model"]["policies"]["never"]["pass_rate"] == 1.0


def test_a_function_that_no_test_calls_is_left_out(evaluation: Any, blanks: dict[str, Blank]) -> None:
    unused = blanks["unused"]
    summary = runner.run(evaluation([(unused, "    return 0", unused.target)]))
    assert summary["judged"] == 0
    assert summary["left_out"] == {"no test notices that the body is gone": 1}


def test_a_run_goes_on_where_it_stopped(
    evaluation: Any, blanks: dict[str, Blank], monkeypatch: pytest.MonkeyPatch
) -> None:
    double = blanks["double"]
    recipe = evaluation([(double, WRONG, double.target)])
    first = runner.run(recipe)
    log = Path(recipe.evaluation) / "executions/owner%2Fnumbers.jsonl"
    kept = [execution for execution in read_jsonl(Execution, log) if execution.verdict == "failed"]
    log.write_text("".join(line for line in log.read_text().splitlines(True) if '"verdict": "failed"' in line))
    ran = []
    judge = runner.Suite.judge
    monkeypatch.setattr(runner.Suite, "judge", lambda self, *rest: ran.append(rest[1]) or judge(self, *rest))
    again = runner.run(recipe)
    assert len(kept) == 2
    assert len(ran) == 1
    assert again["models"] == first["models"]


def test_another_description_is_judged_anew(evaluation: Any, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    made = [(double, WRONG, WRONG)]
    assert runner.run(evaluation(made))["judged"] == 1
    indifferent = {"test": "echo {tests}", "related": {"package/numbers.py": ["tests/none.py"]}}
    assert runner.run(evaluation(made, repository=indifferent))["judged"] == 0


def test_the_tests_of_a_file_are_the_related_ones(evaluation: Any, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    described = {"test": "test {tests} = that.py", "related": {"package/numbers.py": ["that.py"]}}
    summary = runner.run(evaluation([(double, WRONG, WRONG)], repository=described))
    assert summary["repositories"]["owner/numbers"]["tests_counted"] == 1


def test_pytest_writes_a_report_that_is_understood(evaluation: Any, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    command = "python -m pytest -q -p no:cacheprovider --junitxml={report} {tests}"
    described = {"test": command, "environment": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}}
    recipe = evaluation([(double, WRONG, double.target)], repository=described)
    recipe = recipe.model_copy(update={"limits": recipe.limits.model_copy(update={"seconds": 60.0})})
    summary = runner.run(recipe, workers=2)
    assert summary["repositories"]["owner/numbers"]["tests_counted"] == 2
    assert scores(recipe)[double.id].verdict_without == "failed"
    assert scores(recipe)[double.id].verdict_with == "passed"


def test_without_a_report_the_exit_code_speaks_for_all_tests(evaluation: Any, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    command = "python -S -c 'from package.numbers import double; assert double(2) == 4'"
    recipe = evaluation([(double, WRONG, double.target)], repository={"test": command})
    runner.run(recipe)
    assert scores(recipe)[double.id].verdict_without == "failed"
    assert scores(recipe)[double.id].verdict_with == "passed"


def test_lines_that_differ_in_the_source_are_left_out(
    evaluation: Any, blanks: dict[str, Blank], tmp_path: Path
) -> None:
    (tmp_path / "other/package").mkdir(parents=True)
    (tmp_path / "other/package/numbers.py").write_text("# another revision\n")
    double = blanks["double"]
    summary = runner.run(evaluation([(double, WRONG, WRONG)], repository={"source": str(tmp_path / "other")}))
    assert summary["left_out"] == {"the source has other lines there: another revision?": 1}


def test_where_code_cannot_be_contained_none_runs(
    evaluation: Any, blanks: dict[str, Blank], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise UserError("code cannot be contained")

    recipe = evaluation([(blanks["double"], WRONG, WRONG)])
    monkeypatch.setattr(runner, "require_containment", refuse)
    with pytest.raises(UserError, match="cannot be contained"):
        runner.run(recipe)
    assert not (Path(recipe.evaluation) / "executions").exists()


def test_the_summary_is_what_is_on_disk(evaluation: Any, blanks: dict[str, Blank]) -> None:
    recipe = evaluation([(blanks["double"], WRONG, WRONG)])
    summary = runner.run(recipe)
    assert json.loads((Path(recipe.evaluation) / "unit_tests.json").read_text()) == summary
