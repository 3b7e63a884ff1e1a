"""What of a model's output counts as its completion (section 4.2): as many lines as the target, or the function's body.

Models without a trained end token write on until their limit, so every arm of every model goes through here.
"""

from __future__ import annotations

import re
from functools import cache

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from repoformer.code.records import Blank

_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?def\b")
_INDENTATION = re.compile(r"[ \t]*")


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
    header = _header(blank)
    if header is None:
        return completion
    tree = _parser().parse((header + completion).encode("utf-8", "surrogatepass"))
    function = _first_function(tree.root_node)
    body = function.child_by_field_name("body") if function else None
    if body is None or body.has_error or not body.named_child_count:
        return completion
    return first_lines(completion, body.end_point.row + 1 - header.count("\n"))


def _header(blank: Blank) -> str | None:
    """A bare function header at the indentation of the blank's own; a class around it where that is not zero."""
    if blank.language != "python":
        return None
    inside = min((_width(line) for line in blank.target.split("\n") if line.strip()), default=1)
    for line in reversed(blank.left.split("\n")):
        definition = _DEFINITION.match(line)
        if definition and _width(line) < inside:
            indentation = definition.group(1)
            return ("class _:\n" if indentation else "") + f"{indentation}def _():\n"
    return None


def _width(line: str) -> int:
    indentation = _INDENTATION.match(line)
    assert indentation is not None
    return len(indentation.group().expandtabs(8))


def _first_function(node: Node) -> Node | None:
    """The header's own node: the first function definition in the order of the text."""
    if node.type == "function_definition":
        return node
    return next((found for child in node.children if (found := _first_function(child))), None)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))
