"""What a JUnit report says about single tests. pytest, Maven, Gradle, Jest and others write this format.

The report comes from a process that ran untrusted code, so it is read event by event, holds no entities of its own, and
anything else than a well-formed report counts as none.
"""

from __future__ import annotations

from xml.parsers import expat

_NOT_PASSED = {"failure", "error", "skipped", "rerunFailure", "flakyFailure"}


def passed_tests(report: str) -> tuple[set[str], set[str]]:
    """The tests that passed and those that did not, by name; no tests at all where the report is not one."""
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(report.encode("utf-8", "replace"), True)
    except (expat.ExpatError, _NotAReport):
        return set(), set()
    return reader.passed - reader.others, reader.others


class _NotAReport(Exception):
    """Something that test runners do not write."""


class _Reader:
    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.others: set[str] = set()
        self._test: str | None = None
        self._well = True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            self._test = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            self._well = True
        elif tag in _NOT_PASSED:
            self._well = False

    def end(self, tag: str) -> None:
        if tag == "testcase" and self._test is not None:
            (self.passed if self._well else self.others).add(self._test)
            self._test = None

    def refuse(self, *_: object) -> None:
        raise _NotAReport
