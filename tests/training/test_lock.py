"""A run's folder belongs to one process at a time, and to nobody once that process is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repoformer.errors import UserError
from repoformer.training.lock import hold

HOLD_ON = (
    "import sys, time; from pathlib import Path; from repoformer.training.lock import hold;"
    "lock = hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
)


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(UserError, match="another process"):
        hold(tmp_path)


def test_a_run_that_ended_lets_go(tmp_path: Path) -> None:
    hold(tmp_path).close()
    hold(tmp_path).close()


def test_a_killed_run_lets_go(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-P", "-c", HOLD_ON, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(UserError):
        hold(tmp_path)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    hold(tmp_path).close()
