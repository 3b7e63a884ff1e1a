"""How a run is asked to stop between two steps: a file named ``stop`` in its folder or, without launcher, a signal."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

FILE_NAME = "stop"

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequests:
    """Within its block, notices requests to stop; the loop asks :meth:`reason` at the end of each step.

    Only the main process looks, and tells the others. Under a launcher signals go their usual way: launchers send them
    to all processes at different times, and kill what has not gone soon after.
    """

    def __init__(self, out: Path, *, main: bool, plain: bool) -> None:
        self._file = out / FILE_NAME
        self._main = main
        self._heeds_signals = plain and threading.current_thread() is threading.main_thread()
        self._signal: str | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequests:
        if self._main:
            self._file.unlink(missing_ok=True)  # meant for a run that is over
        if self._heeds_signals:
            self._before = {number: signal.signal(number, self._notice) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def reason(self) -> str | None:
        """Why to stop, in words; None to go on. Always None outside the main process."""
        if not self._main:
            return None
        return self._signal or (f"file {self._file}" if self._file.exists() else None)

    def honour(self) -> None:
        """The run has saved and is about to return: what asked it to stop is not meant for the run that resumes it."""
        if self._main:
            self._file.unlink(missing_ok=True)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt  # asked twice: do not wait for the step
        self._signal = signal.Signals(number).name
