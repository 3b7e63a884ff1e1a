"""What the tests said, as records."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar, Literal

Verdict = Literal["passed", "failed", "timeout", "memory", "output", "broken"]
"""``failed`` by its tests; stopped at a limit; or ``broken``: the sandbox ended without a result."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A repository's tests with nothing replaced: the ones that count, because they passed in every run."""

    schema: ClassVar[int] = 1
    repository: str
    tests: tuple[str, ...]
    """What was run."""
    counted: tuple[str, ...]
    """The single tests that passed every time."""
    ignored: int
    """Single tests that did not."""
    seconds: float
    output: str
    """The end of the last run's output, where no test counts."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The verdict on one function body. ``body`` is its hash: models that write the same share it."""

    schema: ClassVar[int] = 1
    id: str
    """Of the blank."""
    repository: str
    body: str
    verdict: Verdict
    failed: tuple[str, ...]
    """Tests that count and did not pass, the first few."""
    seconds: float
    peak: int
    """Bytes of memory seen in use."""
    output: str
    """The end of the output, where the body did not pass."""


def body_hash(body: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
