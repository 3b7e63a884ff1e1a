"""Whether code can be contained on this machine: found out by trying, not by reading version numbers."""

from __future__ import annotations

import json
import sys
import tempfile
from functools import cache

from repoformer.errors import UserError

from .limits import MIB, Limits
from .sandbox import ENVIRONMENT, Job, Outcome, Sandbox, interpreter_folders

_LIMITS = Limits(seconds=20.0, memory=256 * MIB, processes=12, disk=16 * MIB, file=4 * MIB, output=MIB)

# Runs in the container and prints what it was able to do and must not be.
_ATTEMPTS = """
import json, os, socket, sys

escapes = []
if os.geteuid() == 0:
    escapes.append("it runs as root")
if os.path.exists(sys.argv[1]):
    escapes.append("it sees files that it was not given")
for place in ("/", "/usr", "/etc"):
    try:
        open(os.path.join(place, "repoformer-probe"), "w").close()
        escapes.append(f"it can write to {place}")
    except OSError:
        pass
try:
    socket.create_connection(("192.0.2.1", 9), timeout=1).close()
    escapes.append("it has a network")
except TimeoutError:
    escapes.append("it has a network")
except OSError:
    pass
if os.getppid() != 1 or sum(name.isdigit() for name in os.listdir("/proc")) > 2:
    escapes.append("it sees processes that are not its own")
if set(os.environ) - set(json.loads(sys.argv[2])):
    escapes.append("it sees the caller's environment")
children = []
try:
    for _ in range(24):
        child = os.fork()
        if child == 0:
            import time
            time.sleep(20)
            os._exit(0)
        children.append(child)
    escapes.append("its number of processes has no limit")
except OSError:
    pass
print(json.dumps(escapes))
"""


@cache
def require_containment() -> None:
    """Raise :class:`UserError` with the reason where this machine cannot contain code: then nothing may run."""
    if sys.platform != "linux":
        raise UserError("code can be contained on Linux only, and is not run without; use a Linux machine")
    with tempfile.NamedTemporaryFile(prefix="repoformer-probe-") as canary:
        outcome = _attempt(canary.name)
    reason = _reason(outcome)
    if reason:
        raise UserError(
            f"code cannot be contained on this machine, so none was run: {reason}; it takes Linux 5.14 or newer, and "
            "root or unprivileged user namespaces (inside Docker: --privileged, or a profile that allows them)"
        )


def _attempt(canary: str) -> Outcome:
    names = json.dumps([*ENVIRONMENT, "LC_CTYPE"])
    command = [sys.executable, "-I", "-S", "-c", _ATTEMPTS, canary, names]
    return Sandbox(_LIMITS).run(Job(command, readable=interpreter_folders()))


def _reason(outcome: Outcome) -> str:
    last = outcome.output.strip().rpartition("\n")[2]
    if not outcome.succeeded:
        return last or f"the container ended with {outcome.state}"
    try:
        return ", ".join(json.loads(last))
    except json.JSONDecodeError:
        return f"the probe answered {last!r}"
