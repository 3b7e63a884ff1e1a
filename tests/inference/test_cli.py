"""``repoformer complete`` as people and programs see it."""

from __future__ import annotations

import argparse
import copy
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.errors import UserError
from repoformer.inference import cli
from repoformer.models.settings import ModelSettings, save_settings


@pytest.fixture(scope="module")
def model(tiny_model: Any, tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    copy.deepcopy(tiny_model).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    save_settings(folder, ModelSettings(style="selective", preset="pocket"))
    return folder


@pytest.fixture(scope="module")
def repository(python_sources: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    for number, source in enumerate(python_sources[:4]):
        (folder / f"module_{number}.py").write_text(source, encoding="utf-8")
    return folder


def complete(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return cli.run(parser.parse_args([str(argument) for argument in arguments]))


def test_people_see_completion_decision_context_and_times(
    model: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete("--repo", repository, "module_0.py:100", "--model", model, "--threshold", 0) == 0
    shown = capsys.readouterr().out
    assert "decision: retrieve, P(<cc>) = 0." in shown
    assert "(policy threshold: above 0.0000 for a line blank)" in shown
    assert "retrieved:\n  module_" in shown
    assert "similarity 0." in shown
    assert all(part in shown for part in ("time: decide 0.", "retrieve 0.", "generate 0."))


def test_nothing_retrieved_is_nothing_shown(model: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complete("--repo", repository, "module_0.py:100", "--model", model, "--threshold", 1)
    shown = capsys.readouterr().out
    assert "decision: do not retrieve" in shown
    assert "retrieved:" not in shown
    assert "retrieve 0." not in shown.partition("time:")[2]


def test_programs_get_one_json_object(model: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complete("--repo", repository, "module_0.py:100", "--model", model, "--policy", "always", "--json")
    result = json.loads(capsys.readouterr().out)
    assert result["retrieve"] is True
    assert 0 < result["p_retrieve"] < 1
    assert set(result["seconds"]) == {"decide", "retrieve", "generate"}
    first = result["chunks"][0]
    lines = (repository / first["path"]).read_text(encoding="utf-8").split("\n")
    assert lines[first["start_line"] - 1 : first["end_line"]] == first["text"].split("\n")


def test_without_options_the_pocket_model_completes_and_says_that_it_takes_no_decisions(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete("--repo", repository, "module_0.py:100") == 0
    shown = capsys.readouterr().out
    assert "(policy always)\nnote: this model was not trained to decide" in shown


def test_a_threshold_for_a_model_that_takes_no_decisions_is_refused(repository: Path) -> None:
    with pytest.raises(UserError, match="the policy 'threshold' has nothing to go by"):
        complete("--repo", repository, "module_0.py:100", "--threshold", 0.5)


def test_json_holds_no_raw_control_character(model: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complete("--repo", repository, "module_1.py:9", "--model", model, "--policy", "never", "--replace", 5, "--json")
    out = capsys.readouterr().out
    assert out.isascii()
    assert out.removesuffix("\n").isprintable()


@given(st.text())
def test_nothing_that_steers_a_terminal_is_printed_raw(text: str) -> None:
    categories = {unicodedata.category(character) for character in cli.printable(text) if character not in "\n\t"}
    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_harmless_text_is_printed_as_it_is() -> None:
    assert cli.printable("\tif x:\n    é = 'π 中 🙂'") == "\tif x:\n    é = 'π 中 🙂'"
    assert cli.printable("\x1b[2J\x07\r\x9b\u202e\u2028") == r"\x1b[2J\x07\r\x9b\u202e\u2028"


def test_a_place_that_is_not_there_is_told_before_a_model_is_read(repository: Path) -> None:
    with pytest.raises(UserError, match="has no line 99999"):
        complete("--repo", repository, "module_0.py:99999", "--model", "no/such-model")


def test_mistakes_are_the_users_to_read(model: Path, repository: Path) -> None:
    with pytest.raises(UserError, match="has no line 99999"):
        complete("--repo", repository, "module_0.py:99999", "--model", model)
    with pytest.raises(UserError, match="says nothing to the policy 'never'"):
        complete("--repo", repository, "module_0.py:9", "--model", model, "--policy", "never", "--threshold", "0.5")
    with pytest.raises(UserError, match="no such folder"):
        complete("--repo", repository, "module_0.py:9", "--model", repository / "missing")
