"""CrossCodeEval's cut to one statement, with the oddities of the release, which decide the published numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Blank
from repoformer.metrics.parseable import parse_python
from repoformer.metrics.statements import compared_statement, first_statement, without_comments

# Without three quotes in a row: see parseable.py for the one place where its rule differs.
python_text = st.text(st.sampled_from("ab(){}[]:='\n \\#."), max_size=20).filter(lambda text: "''" not in text)


def character_by_character(left: str, completion: str) -> str:
    """The rule as it is stated: the shortest prefix that parses and is followed by a newline, else everything."""
    for end in range(1, len(completion)):
        nodes = [parse_python(left + completion[:end]).root_node]
        for node in nodes:
            nodes += node.children
        if completion[end] == "\n" and all(node.type != "ERROR" for node in nodes):
            return completion[:end].rstrip()
    return completion


@given(python_text, python_text)
def test_python_statements_are_those_of_the_stated_rule(left: str, completion: str) -> None:
    assert first_statement("python", left, completion) == character_by_character(left, completion)


def test_a_python_statement_ends_where_its_bracket_closes() -> None:
    assert first_statement("python", "y = obj.", "call(\n    1)\nz = 3\n") == "call(\n    1)"


@pytest.mark.parametrize(
    ("language", "completion", "statement"),
    [
        ("java", "getColor());\nfoo();", "getColor());"),
        ("csharp", "Where(x => x.Ok) {\n  y();", "Where(x => x.Ok) {"),
        ("typescript", "items }\nmore;", "items }"),
        ("java", "no end of any kind", "no end of any kind"),
    ],
)
def test_bracket_languages_end_at_the_first_mark(language: str, completion: str, statement: str) -> None:
    assert first_statement(language, "", completion) == statement


def test_a_mark_that_stands_first_ends_nothing() -> None:
    assert first_statement("java", "", "}\nfoo();\nbar();") == "}\nfoo();\nbar();"


def test_a_language_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="kotlin"):
        first_statement("kotlin", "", "x")


def test_comments_of_both_kinds_go_in_every_language() -> None:
    assert without_comments("a // b\nc  # d\n'http://e'") == "a \nc  \n'http:"


def test_the_target_loses_its_comments_too() -> None:
    blank = Blank("i", "r", "", "", "a.py", "python", "line", 0, 1, "x = ", "\n", "f(1)  # one")
    assert compared_statement(blank, "f(1)  # ein\ny = 2\n") == ("f(1)  ", "f(1)  ")
