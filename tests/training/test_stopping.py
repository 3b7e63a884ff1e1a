"""Requests to stop: who looks, and what they leave behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from repoformer.training.stopping import StopRequests


def test_a_file_from_before_the_start_is_not_meant(tmp_path: Path) -> None:
    (tmp_path / "stop").touch()
    with StopRequests(tmp_path, main=True, plain=True) as requests:
        assert requests.reason() is None


def test_only_the_main_process_looks(tmp_path: Path) -> None:
    with StopRequests(tmp_path, main=False, plain=False) as requests:
        (tmp_path / "stop").touch()
        assert requests.reason() is None
        requests.honour()
    assert (tmp_path / "stop").exists()


def test_a_second_interrupt_does_not_wait(tmp_path: Path) -> None:
    with StopRequests(tmp_path, main=True, plain=True) as requests:
        os.kill(os.getpid(), signal.SIGINT)
        assert requests.reason() == "SIGINT"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_under_a_launcher_signals_go_their_usual_way(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopRequests(tmp_path, main=True, plain=False):
        assert signal.getsignal(signal.SIGTERM) is before
