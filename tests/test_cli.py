"""The command line: one line and exit code 2 for what a person did, and overrides anywhere."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from repoformer.cli import _parse, main

DATA = """
out: {out}
sources: [{{kind: folder, path: {repositories}, licence: LicenseRef-mine}}]
licences: [MIT]
filter: {{imports_per_file: 0, local_imports_per_file: 0, files: 1}}
"""


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The message of a command that ends with code 2."""
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_overrides_may_stand_before_and_behind_options() -> None:
    arguments = _parse(["data", "run", "recipe.yaml", "a=1", "--workers", "2", "b=2"])
    assert (arguments.overrides, arguments.workers) == (["a=1", "b=2"], 2)


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["data", "run", "recipe.yaml", "--worker-count", "2"])
    assert caught.value.code == 2
    assert "--worker-count" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["data", "run"], ["train"], ["eval", "run"], ["quickstart"]])
def test_a_missing_recipe_is_named(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere.yaml" in fails(capsys, *command, "nowhere.yaml")


def test_a_broken_recipe_says_everything_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "broken.yaml"
    recipe.write_text("modell: x\nepochs: many\n")
    said = fails(capsys, "train", str(recipe))
    assert "did you mean model?" in said
    assert "epochs" in said
    assert "data" in said


def test_a_folder_without_repositories_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "repositories" / "empty").mkdir(parents=True)
    recipe = tmp_path / "data.yaml"
    recipe.write_text(DATA.format(out=tmp_path / "out", repositories=tmp_path / "repositories"))
    assert "repositor" in fails(capsys, "data", "run", str(recipe))


def test_an_output_folder_that_is_a_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "repositories" / "one").mkdir(parents=True)
    (tmp_path / "out").write_text("")
    recipe = tmp_path / "data.yaml"
    recipe.write_text(DATA.format(out=tmp_path / "out", repositories=tmp_path / "repositories"))
    assert str(tmp_path / "out") in fails(capsys, "data", "run", str(recipe))


def test_a_message_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in fails(capsys, "train", "no\x1b[31mwhere.yaml")


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "runs/x")

    monkeypatch.setattr("repoformer.training.cli.run", full)
    assert "free some space" in fails(capsys, "train", "recipe.yaml")


def test_an_error_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr("repoformer.training.cli.run", broken)
    with pytest.raises(OSError, match="Bad file"):
        main(["train", "recipe.yaml"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable!r} -P -m repoformer --help | true"
    assert subprocess.run(command, shell=True, capture_output=True, timeout=60).stderr == b""
