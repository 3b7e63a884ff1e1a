"""``Sandbox(limits).run(job)``: one command in a container, and what became of it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from .limits import Limits

State = Literal["ended", "timeout", "memory", "output", "broken"]
"""``ended`` by itself; stopped at a limit; or ``broken``: the container, not the code, could not do its work."""

_GRACE = 60.0
"""Seconds that the container gets beyond the limit to build its file system and to clean up."""
_KEPT = 64 << 10
"""Bytes of output that an outcome keeps: the last ones."""
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
ENVIRONMENT: Mapping[str, str] = {
    "PATH": _PATH,
    "HOME": "/home",
    "USER": "sandbox",
    "LOGNAME": "sandbox",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""What every command finds in its environment, before what its job adds. Nothing of the caller's is passed on."""


@dataclass(frozen=True)
class Job:
    """A command and what it may see. Host paths are absolute; paths of ``files`` lie in the repository."""

    command: Sequence[str]
    repository: Path | None = None
    """Copied to ``/workspace``, where the command starts."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts that take the place of files in the copy."""
    readable: Mapping[str, Path] = field(default_factory=dict)
    """Paths in the container, and the host's files and folders that are shown there, read-only."""
    writable: Mapping[str, Path] = field(default_factory=dict)
    """Paths in the container, and the host's folders that stand there and keep what is written."""
    environment: Mapping[str, str] = field(default_factory=dict)
    report: str | None = None
    """A file name: what the command writes to ``/report/NAME`` comes back."""
    network: bool = False
    """For installing what a repository needs, never for running completions."""


@dataclass(frozen=True)
class Outcome:
    """What became of a job."""

    state: State
    code: int | None
    """Exit code, or minus the signal, where the command ended by itself."""
    seconds: float
    """On the wall clock."""
    processor: float
    """Seconds of processor time, of all its processes."""
    peak: int
    """The most memory that was seen in use, in bytes."""
    output: str
    """The last of standard output and error."""
    report: str | None

    @property
    def succeeded(self) -> bool:
        """Whether the command ended by itself and well."""
        return self.state == "ended" and self.code == 0


@dataclass(frozen=True)
class Sandbox:
    """Runs jobs, each in a container of its own; safe to use from several threads."""

    limits: Limits = field(default_factory=Limits)

    def run(self, job: Job) -> Outcome:
        """Run ``job`` to its end or to the first limit. What the code does is an outcome, never an exception."""
        started = time.monotonic()
        message = json.dumps(self._message(job)).encode()
        reader, writer = os.pipe()
        with open(reader, "rb") as status:
            try:
                container = _start(writer)
            finally:
                os.close(writer)
            with container:
                _send(container, message)
                heard = _listen(container, status, self.limits.output, started + self.limits.wall_clock + _GRACE)
                container.kill()  # the kernel ends everything in the container with it
        values = heard.values()
        state = heard.stopped or values.get("state", "broken")
        return Outcome(
            state=state,
            code=values.get("code") if state == "ended" else None,
            seconds=values.get("seconds", time.monotonic() - started),
            processor=values.get("processor", 0.0),
            peak=values.get("peak", 0),
            output=heard.output() + (f"\n{values['detail']}" if "detail" in values else ""),
            report=values.get("report"),
        )

    def _message(self, job: Job) -> dict[str, Any]:
        for path in job.files:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise ValueError(f"{path!r} does not lie in the repository")
        return {
            "command": list(job.command),
            "environment": {**ENVIRONMENT, **job.environment},
            "readable": _real(job.readable),
            "writable": _real(job.writable),
            "repository": os.path.realpath(job.repository) if job.repository else None,
            "files": dict(job.files),
            "report": job.report,
            "network": job.network,
            "limits": dataclasses.asdict(self.limits),
        }


def interpreter_folders() -> dict[str, Path]:
    """What a job must see to run this very Python with the packages installed beside it."""
    return at_their_own_paths(Path(sys.base_prefix), Path(sys.prefix))


def at_their_own_paths(*folders: Path) -> dict[str, Path]:
    """Host folders under the names that they have there, and under their real ones: links may lead to either."""
    return {name: folder for folder in folders for name in (os.path.abspath(folder), os.path.realpath(folder))}


def _start(status: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "repoformer.sandbox.container", str(status)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[status],
        env={"PATH": _PATH, "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )


def _send(container: subprocess.Popen[bytes], message: bytes) -> None:
    assert container.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it ended before it read: the missing status says so
        container.stdin.write(message)
        container.stdin.close()


@dataclass
class _Heard:
    """What came out of a container."""

    tail: deque[bytes] = field(default_factory=deque)
    """The last pieces of its output."""
    seen: int = 0
    """Bytes of output."""
    status: bytearray = field(default_factory=bytearray)
    stopped: State | None = None
    """The limit at which it had to be stopped from here."""

    def add(self, piece: bytes) -> None:
        self.seen += len(piece)
        self.tail.append(piece)
        while sum(map(len, self.tail)) - len(self.tail[0]) > _KEPT:
            self.tail.popleft()

    def output(self) -> str:
        return b"".join(self.tail)[-_KEPT:].decode("utf-8", "replace")

    def values(self) -> dict[str, Any]:
        """What its first process told in the end; nothing where it did not come to that."""
        try:
            values: dict[str, Any] = json.loads(self.status)
        except ValueError:
            return {}
        return values


def _listen(container: subprocess.Popen[bytes], status: IO[bytes], limit: int, deadline: float) -> _Heard:
    """Read output and status until nobody is left who could write, or a limit is passed.

    Both at once: a container that cannot get rid of the one would never come to the other.
    """
    assert container.stdout is not None
    heard = _Heard()
    with selectors.DefaultSelector() as selector:
        selector.register(container.stdout, selectors.EVENT_READ, heard.add)
        selector.register(status, selectors.EVENT_READ, heard.status.extend)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or heard.seen > limit:
                heard.stopped = "timeout" if left <= 0 else "output"
                return heard
            for key, _ in selector.select(left):
                piece = os.read(key.fd, 1 << 16)
                if piece:
                    key.data(piece)
                else:
                    selector.unregister(key.fileobj)
    return heard


def _real(folders: Mapping[str, Path]) -> dict[str, str]:
    """In an order in which none hides another: those that hold others first."""
    return {target: os.path.realpath(source) for target, source in sorted(folders.items())}
