"""One run writes into one folder: a second process there would tear the first one's checkpoints."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

from repoformer.errors import UserError


def hold(out: Path) -> TextIO:
    """Take the folder of a run for as long as the returned file is open, which ends with this process at the latest.

    A run that was killed therefore never locks out the next one.
    """
    out.mkdir(parents=True, exist_ok=True)
    lock = open(out / ".lock", "w", encoding="utf-8")  # noqa: SIM115 - the caller's to close
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UserError(f"{out}: another process trains here; wait for it, stop it, or choose another out") from None
    return lock
