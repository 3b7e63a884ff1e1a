"""The entry under a launcher, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENDING = """
import atexit, os
class Aborts:
    def __del__(self, abort=os.abort):
        abort()
last = Aborts()  # goes when the interpreter is taken apart, as native threads of process groups do
atexit.register(print, "asked to be called")
"""


@pytest.fixture
def left(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A process that aborts once its interpreter is taken apart, after a recipe that is not there."""
    (tmp_path / "sitecustomize.py").write_text(ENDING)
    return subprocess.run(
        [sys.executable, "-m", "repoformer.training.cli", "missing.yaml"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_native_threads_cannot_abort_a_process_at_its_end(left: subprocess.CompletedProcess[str]) -> None:
    assert left.returncode == 2


def test_what_asked_to_be_called_at_the_end_is(left: subprocess.CompletedProcess[str]) -> None:
    assert left.stdout == "asked to be called\n"


def test_what_was_said_is_not_lost(left: subprocess.CompletedProcess[str]) -> None:
    assert left.stderr.startswith("repoformer: ")
    assert left.stderr.count("\n") == 1
