"""A repository's tests with one function body replaced, in a sandbox."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from repoformer.sandbox.limits import Limits
from repoformer.sandbox.sandbox import Job, Outcome, Sandbox

from .environments import Environment
from .execution import Baseline, Execution, Verdict
from .junit import passed_tests
from .recipe import UnderTest

ALL = "all tests, by exit code"
"""The single test that a run without a report consists of."""
_REPORT = "report.xml"
_FEW = 10
_OUTPUT = 2000


@dataclass(frozen=True)
class Suite:
    """The tests of one repository."""

    repository: UnderTest
    environment: Environment
    limits: Limits

    def baseline(self, tests: tuple[str, ...], runs: int) -> Baseline:
        """Run ``tests`` with nothing replaced, and keep the ones that pass every time."""
        outcomes = [self._run(tests, {}) for _ in range(runs)]
        results = [self._results(outcome) for outcome in outcomes]
        counted = set.intersection(*(passed for passed, _ in results))
        seen = set.union(*(passed | others for passed, others in results))
        return Baseline(
            repository=self.repository.id,
            tests=tests,
            counted=tuple(sorted(counted)),
            ignored=len(seen - counted),
            seconds=max(outcome.seconds for outcome in outcomes),
            output="" if counted else _end(outcomes[-1]),
        )

    def judge(self, id: str, body: str, files: dict[str, str], baseline: Baseline) -> Execution:
        """Run the baseline's tests with ``files`` in place of the repository's own; ``body`` is a name for them."""
        outcome = self._run(baseline.tests, files)
        passed, _ = self._results(outcome)
        failed = [test for test in baseline.counted if test not in passed]
        verdict = _verdict(outcome, failed)
        return Execution(
            id=id,
            repository=self.repository.id,
            body=body,
            verdict=verdict,
            failed=tuple(failed[:_FEW]),
            seconds=outcome.seconds,
            peak=outcome.peak,
            output="" if verdict == "passed" else _end(outcome),
        )

    def _run(self, tests: tuple[str, ...], files: dict[str, str]) -> Outcome:
        line = self.repository.test.format(tests=shlex.join(tests), report=f"/report/{_REPORT}")
        job = Job(
            ["sh", "-c", line],
            repository=self.environment.repository,
            files=files,
            readable=self.environment.readable,
            environment={"PATH": self.environment.path, **self.repository.environment},
            report=_REPORT,
        )
        return Sandbox(self.limits).run(job)

    def _results(self, outcome: Outcome) -> tuple[set[str], set[str]]:
        """The single tests that passed in a run, and those that did not."""
        if outcome.state != "ended" or outcome.code is None or outcome.code < 0:  # stopped, or ended by a signal
            return set(), set()
        if "{report}" not in self.repository.test:
            return ({ALL}, set()) if outcome.code == 0 else (set(), {ALL})
        return passed_tests(outcome.report) if outcome.report else (set(), set())


def _verdict(outcome: Outcome, failed: list[str]) -> Verdict:
    if outcome.state != "ended":
        return outcome.state
    return "failed" if failed else "passed"


def _end(outcome: Outcome) -> str:
    return outcome.output[-_OUTPUT:]
