"""Reports of test runners, and things that are none."""

from __future__ import annotations

import pytest

from repoformer.eval.execute.junit import passed_tests

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest">
  <testcase classname="tests.a" name="good"><system-out>printed</system-out></testcase>
  <testcase classname="tests.a" name="bad"><failure message="no">trace</failure></testcase>
  <testcase classname="tests.a" name="worse"><error/></testcase>
  <testcase classname="tests.a" name="never"><skipped/></testcase>
  <testcase classname="tests.b" name="twice"/>
  <testcase classname="tests.b" name="twice"><failure/></testcase>
</testsuite></testsuites>"""


def test_only_what_passed_every_time_has_passed() -> None:
    passed, others = passed_tests(REPORT)
    assert passed == {"tests.a::good"}
    assert others == {"tests.a::bad", "tests.a::worse", "tests.a::never", "tests.b::twice"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all tests passed",
        REPORT[:-20],
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase classname="c" name="n"/></testsuite>',
        "<testsuite>" * 100_000,
        "\x00<testsuite/>",
    ],
    ids=["empty", "words", "broken off", "entities", "deep", "zero"],
)
def test_anything_else_is_no_report(text: str) -> None:
    assert passed_tests(text) == (set(), set())
