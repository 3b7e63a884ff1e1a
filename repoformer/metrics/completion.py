"""What of a model's output counts as its completion (section 4.2): as many lines as the target, or the function's body.

Models without a trained end token write on until their limit, so every arm of every model goes through here.
"""

from __future__ import annotations

import re
from functools import cache

import tree_sitter_python
from tree_sitter import Language, Parser

from repoformer.code.records import Blank

_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?def\b")


def postprocess(blank: Blank, completion: str) -> str:
    """The part of ``completion`` that is compared with the target.

    Line, API and chunk blanks keep the first n lines, n being the target's number of lines. Blank lines count, on both
    sides: the blank is whole lines, and what stands in the hole is what would be inserted. Function blanks keep the
    body of the function, or the raw output where it cannot be parsed as one.
    """
    if blank.kind == "function":
        return function_body(blank, completion)
    return first_lines(completion, blank.target.count("\n") + 1)


def first_lines(text: str, count: int) -> str:
    """The first ``count`` lines, without the newline at their end."""
    return "\n".join(text.split("\n", count)[:count])


def function_body(blank: Blank, completion: str) -> str:
    """The lines of ``completion`` that belong to the body of the function that the left context opens.

    One parse of the completion under a header of the same indentation, so the cost is linear and neither errors in the
    rest of the file nor output that breaks off in the code after the function matter. The raw completion is returned
    when the body itself has a syntax error or is empty, and for languages without a grammar here.
    """
    indentation = _definition_indentation(blank)
    if indentation is None:
        return completion
    around = "class _:\n" if indentation else ""
    header = f"{around}{indentation}def _():\n"
    tree = _parser().parse((header + completion).encode("utf-8", "replace"))
    row = header.count("\n") - 1
    keyword = tree.root_node.descendant_for_point_range((row, len(indentation)), (row, len(indentation)))
    function = keyword.parent if keyword else None
    body = function.child_by_field_name("body") if function and not function.has_error else None
    if body is None or not body.named_child_count:
        return completion
    return first_lines(completion, body.end_point.row - row)


def _definition_indentation(blank: Blank) -> str | None:
    """The indentation of the ``def`` whose body the blank is: the nearest one above that stands left of the body."""
    if blank.language != "python":
        return None
    inside = next((_width(line) for line in blank.target.split("\n") if line.strip()), 1)
    for line in reversed(blank.left.split("\n")):
        definition = _DEFINITION.match(line)
        if definition and _width(line) < inside:
            return definition.group(1)
    return None


def _width(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))
