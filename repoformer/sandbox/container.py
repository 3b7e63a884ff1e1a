"""The program that becomes a container: ``python -I -m repoformer.sandbox.container STATUS_FD < job.json``.

Three processes: this one, outside; the container's first process, which builds the file system, watches memory and
clock and, when the command has ended, ends whatever it left behind; and the command, confined. The first process has
rights that the command has not, and the command can neither signal, trace nor outlive it: when it ends, by whatever
cause, the kernel ends all of its container. Standard output and error are inherited from whoever starts this.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import mounts, syscalls
from .confine import USER, confine, enter_user_namespace
from .limits import Limits

NOBODY = 65534
"""The host's unprivileged user that the code runs as when the host's root starts it."""
_REPORT_BYTES = 16 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class _Start:
    """What :mod:`.sandbox` sends: see its ``Job``."""

    command: list[str]
    environment: dict[str, str]
    readable: dict[str, str]
    writable: dict[str, str]
    repository: str | None
    files: dict[str, str]
    report: str | None
    network: bool
    limits: Limits

    @classmethod
    def read(cls) -> _Start:
        values = json.load(sys.stdin)
        return cls(**(values | {"limits": Limits(**values["limits"])}))


def main() -> None:
    """Start the container and end when it has ended."""
    status = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    syscalls.die_with_parent()
    start = _Start.read()
    _redirect_input()
    by_root = os.geteuid() == 0
    try:
        _leave(by_root, start.network)
        first = os.fork()
    except OSError as error:
        _tell(status, state="broken", detail=str(error))
        return
    if first == 0:
        _first_process(start, by_root, status)
        os._exit(0)
    os.waitpid(first, 0)


def _leave(by_root: bool, network: bool) -> None:
    """New namespaces; who is not root needs a user namespace to be allowed the others."""
    user = os.geteuid()
    group = os.getegid()
    if not by_root:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {user} 1")
        _write("/proc/self/gid_map", f"0 {group} 1")
    flags = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
    syscalls.unshare(flags | syscalls.CLONE_NEWCGROUP | (0 if network else syscalls.CLONE_NEWNET))


def _first_process(start: _Start, by_root: bool, status: Any) -> None:
    try:
        syscalls.die_with_parent()
        os.setsid()
        _prepare(start, by_root)
        begun = time.monotonic()
        command = _start_command(start, by_root)
        outcome = _watch(command, start.limits, begun)
        processor = _processor_time()
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all that the command left behind; never this process itself
        times = {"seconds": time.monotonic() - begun, "processor": processor}
        _tell(status, **outcome, **times, report=_report(start.report))
    except OSError as error:
        _tell(status, state="broken", detail=str(error))


def _prepare(start: _Start, by_root: bool) -> None:
    socket.sethostname("sandbox")
    owner = NOBODY if by_root else 0
    mounts.build(
        readable=start.readable,
        writable=start.writable,
        repository=start.repository,
        size=start.limits.disk,
        names=start.limits.files,
        owner=owner,
    )
    if not start.network:
        syscalls.loopback_up()
    for path, text in start.files.items():
        _substitute(f"{mounts.WORKSPACE}/{path}", text, owner)


def _substitute(path: str, text: str, owner: int) -> None:
    """Replace a file of the copy. The container's file system is the root by now: no link leads out of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o644), "w", encoding="utf-8", errors="surrogatepass", newline="") as handle:
        os.fchown(handle.fileno(), owner, owner)
        handle.write(text)


def _start_command(start: _Start, by_root: bool) -> int:
    """Fork the confined command. The maps of its user namespace are written from here, as it may not do it itself."""
    entered, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            enter_user_namespace()
            os.write(entered[1], b".")
            os.close(mapped[1])
            if os.read(mapped[0], 1) != b".":
                raise OSError("the container's first process could not map the user")
            confine(start.limits, drop_groups=by_root)
            os.chdir(mounts.WORKSPACE)
            os.execvpe(start.command[0], start.command, start.environment)
        except BaseException as error:
            os.write(2, f"sandbox: cannot start {start.command[0]}: {error}\n".encode())
        os._exit(127)
    os.close(entered[1])
    os.close(mapped[0])
    outside = NOBODY if by_root else 0
    if os.read(entered[0], 1) == b".":
        if not by_root:
            _write(f"/proc/{child}/setgroups", "deny")
        _write(f"/proc/{child}/uid_map", f"{USER} {outside} 1")
        _write(f"/proc/{child}/gid_map", f"{USER} {outside} 1")
        os.write(mapped[1], b".")
    os.close(mapped[1])
    return child


def _watch(command: int, limits: Limits, begun: float) -> dict[str, Any]:
    """Wait for the command, reap orphans, and stop everything at the first limit that is passed."""
    peak = 0
    while True:
        while (ended := _reap()) is not None:
            process, code = ended
            if process == command:
                return {"state": "ended", "code": os.waitstatus_to_exitcode(code), "peak": peak}
        used = _memory_in_use()
        peak = max(peak, used)
        if used > limits.memory:
            return {"state": "memory", "peak": peak}
        if _processor_time() > limits.seconds or time.monotonic() - begun > limits.wall_clock:
            return {"state": "timeout", "peak": peak}
        time.sleep(0.02)


def _reap() -> tuple[int, int] | None:
    try:
        process, code = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (process, code) if process else None


def _memory_in_use() -> int:
    """Bytes of all processes but this one that no file on disk stands behind, and of the memory file system."""
    system = os.statvfs(mounts.WORKSPACE) if os.path.ismount(mounts.WORKSPACE) else os.statvfs("/tmp")
    total = (system.f_blocks - system.f_bfree) * system.f_frsize
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            with contextlib.suppress(OSError):  # it may have ended by now
                total += _private_memory(Path(f"/proc/{name}/status").read_text(encoding="utf-8", errors="replace"))
    return total


def _processor_time() -> float:
    """Seconds of all processes, those that have ended included."""
    reaped = os.times()
    total = reaped.children_user + reaped.children_system
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            with contextlib.suppress(OSError):
                values = (
                    Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                )
                total += sum(map(int, values[11:15])) / _TICKS  # its own and its ended children's, user and system
    return total


def _private_memory(status: str) -> int:
    kilobytes = 0
    for line in status.splitlines():
        if line.startswith(("RssAnon:", "RssShmem:")):
            kilobytes += int(line.split()[1])
    return kilobytes * 1024


def _report(name: str | None) -> str | None:
    """The report that the tests wrote, unless something else than a file of sensible size took its place."""
    if name is None:
        return None
    with contextlib.suppress(OSError):
        handle = os.open(f"{mounts.REPORT}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode) and found.st_size <= _REPORT_BYTES:
                return file.read(_REPORT_BYTES).decode("utf-8", "replace")
    return None


def _redirect_input() -> None:
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)


def _tell(status: Any, **outcome: Any) -> None:
    json.dump(outcome, status)
    status.close()


if __name__ == "__main__":
    main()
