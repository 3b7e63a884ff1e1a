"""Parsing from where the text changed says the same as parsing everything, and costs a fraction of it."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoformer.metrics.parseable import (
    first_parseable_line_end,
    last_definition_and_open_quotes,
    longest_parseable_prefix,
    parse_python,
)

# What breaks and repairs Python: brackets, quotes, colons, indentation, continuation lines, comments, keywords.
PIECES = (
    "x",
    "f(",
    ")",
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    '"""',
    ":",
    "=",
    " + ",
    "\\\n",
    "\n",
    "\n    ",
    "\n        ",
    "\t",
)
WORDS = (
    "def g(a):",
    "return ",
    "if x:",
    "else:",
    "for i in y:",
    "lambda: ",
    "# note",
    "é",
    "'s'",
    "1.",
    "@d\n",
    "class A:",
)
code = st.lists(st.sampled_from(PIECES + WORDS), max_size=14).map("".join)


def parses(left: str, prefix: str) -> bool:
    """By the definition: everything parsed from nothing, every node looked at, a string that is open closed."""
    _, quotes = last_definition_and_open_quotes(left)
    if quotes is not None and quotes not in left[-2:] + prefix:
        return False
    nodes = [parse_python(left + prefix).root_node]
    while nodes:
        node = nodes.pop()
        if node.type == "ERROR":
            return False
        nodes += node.children
    return True


def slow_first_line_end(left: str, completion: str) -> int | None:
    ends = [end for end in range(1, len(completion)) if completion[end] == "\n"]
    return next((end for end in ends if parses(left, completion[:end])), None)


def slow_longest_prefix(left: str, completion: str) -> str | None:
    prefixes = [completion[:end] for end in range(len(completion), -1, -1)]
    return next((prefix for prefix in prefixes if parses(left, prefix)), None)


@settings(max_examples=200)
@given(code, code)
def test_both_searches_agree_with_parsing_everything_on_broken_code(left: str, completion: str) -> None:
    assert first_parseable_line_end(left, completion) == slow_first_line_end(left, completion)
    assert longest_parseable_prefix(left, completion) == slow_longest_prefix(left, completion)


@pytest.mark.parametrize("seed", range(12))
def test_both_searches_agree_with_parsing_everything_on_real_code(seed: int, python_sources: list[str]) -> None:
    rng = random.Random(seed)
    source = rng.choice(python_sources)
    start = rng.randrange(len(source) - 200)
    # Now and then the left context begins in the middle of a line, as a cropped prompt does.
    left = source[max(0, start - rng.choice((300, 1500))) : start]
    completion = source[start : start + 120]
    if seed % 3 == 0:  # a model that goes wrong
        middle = rng.randrange(len(completion))
        completion = completion[:middle] + rng.choice((")", '"', "\n  else:", " = = ")) + completion[middle:]
    assert first_parseable_line_end(left, completion) == slow_first_line_end(left, completion)
    assert longest_parseable_prefix(left, completion) == slow_longest_prefix(left, completion)


def test_the_last_line_has_no_end() -> None:
    assert first_parseable_line_end("x = ", "1") is None


def test_a_statement_over_three_lines_ends_with_its_third() -> None:
    completion = "f(\n    1,\n)\ny = 2\n"
    assert completion[: first_parseable_line_end("x = ", completion)] == "f(\n    1,\n)"


def test_a_left_context_that_is_not_python_leaves_nothing_parseable() -> None:
    assert longest_parseable_prefix("x = = )\n", "y = 1\n") is None


def test_an_error_before_a_definition_is_told_from_one_parse() -> None:
    left = "x = = )\n" * 200 + "def f():\n"
    begin = time.process_time()
    assert longest_parseable_prefix(left, "    return 1\n" * 80) is None
    longest = time.process_time() - begin
    begin = time.process_time()
    parse_python(left)
    assert longest < 20 * (time.process_time() - begin) + 0.05


@pytest.mark.parametrize(
    ("left", "quotes"),
    [
        ('x = """a', '"""'),
        ("x = '''a\n\"\"\"", "'''"),
        ('x = """a"""', None),
        ('x = \'a\' # """', None),
        ('x = \'a"""\'', None),
    ],
)
def test_a_string_left_open_is_known_by_its_quotes(left: str, quotes: str | None) -> None:
    assert last_definition_and_open_quotes(left)[1] == quotes


@pytest.mark.parametrize(
    ("left", "line"),
    [
        ("def f():\n    class A:\n        x = 1\n", 1),
        ("async def f():\n    x = 'def g():'\n", 0),
        ('def f():\n    """\n    def in a docstring\n    """\n', 0),
        ("x = \\\ndef f():\n", None),
        ("define = 1\n", None),
    ],
)
def test_definitions_in_strings_and_after_a_backslash_start_no_statement(left: str, line: int | None) -> None:
    definition, _ = last_definition_and_open_quotes(left)
    assert (None if definition is None else left.count("\n", 0, definition.start())) == line


def test_searching_costs_a_fraction_of_parsing_everything(python_sources: list[str]) -> None:
    source = max(python_sources, key=len)
    middle = source.index("\n    def ", len(source) // 2)
    left, completion = source[:middle], source[middle : middle + 1000] + "\nx = = )"  # about 256 tokens
    begin = time.process_time()
    longest_parseable_prefix(left, completion)
    fast = time.process_time() - begin
    begin = time.process_time()
    for end in range(0, len(completion), 100):
        parse_python(left + completion[:end])
    everything = 100 * (time.process_time() - begin)
    assert fast < everything / 5
