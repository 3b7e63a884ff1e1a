"""What of a model's output counts as its completion (section 4.2): as many lines as the target, or the function's body.

Models without a trained end token write on until their limit, so every arm of every model goes through here.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Blank
from repoformer.code.syntax import parse

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

    The completion is parsed without the rest of its file: neither errors there nor output that breaks off in the code
    after the function matter, and the cost is linear. The raw completion is returned when the body itself has a syntax
    error or is empty, and for languages that are not in the table.
    """
    language = LANGUAGES.get(blank.language)
    if language is None:
        return completion
    if language.frame is None:
        return _indented_body(blank, completion)
    return _body_in_braces(blank.language, language.frame, completion)


def _indented_body(blank: Blank, completion: str) -> str:
    """What stands under a header of the same indentation as the one above the blank."""
    indentation = _definition_indentation(blank)
    if indentation is None:
        return completion
    around = "class _:\n" if indentation else ""
    header = f"{around}{indentation}def _():\n"
    tree = parse(blank.language, header + completion)
    row = header.count("\n") - 1
    keyword = tree.root_node.descendant_for_point_range((row, len(indentation)), (row, len(indentation)))
    function = keyword.parent if keyword else None
    body = function.child_by_field_name("body") if function and not function.has_error else None
    if body is None or not body.named_child_count:
        return completion
    return first_lines(completion, body.end_point.row - row)


def _body_in_braces(language: str, frame: tuple[str, str], completion: str) -> str:
    """What stands before the brace that closes the function."""
    before, after = frame
    end = _closing_brace(language, before, completion)
    if end is None:
        return completion
    body = completion.encode("utf-8", "replace")[:end].decode().rstrip(" \t").removesuffix("\n")
    if not body.strip() or parse(language, before + body + after).root_node.has_error:
        return completion
    return body


def _closing_brace(language: str, before: str, completion: str) -> int | None:
    """Where in the completion, in bytes, the brace stands that closes one opened in front of it; None without one.

    Told from the tree's leaves, which hold even where errors follow: braces in strings and comments are none of them.
    """
    start, depth = len(before.encode()), 0
    pending: list[Node] = [parse(language, before + completion).root_node]
    while pending:
        node = pending.pop()
        if node.end_byte <= start:
            continue
        if node.child_count:
            pending += reversed(node.children)
        elif node.start_byte >= start and not node.is_missing:
            depth += node.type.endswith("{") - (node.type == "}")
            if depth < 0:
                return node.start_byte - start
    return None


def _definition_indentation(blank: Blank) -> str | None:
    """The indentation of the ``def`` whose body the blank is: the nearest one above that stands left of the body."""
    inside = next((_width(line) for line in blank.target.split("\n") if line.strip()), 1)
    for line in reversed(blank.left.split("\n")):
        definition = _DEFINITION.match(line)
        if definition and _width(line) < inside:
            return definition.group(1)
    return None


def _width(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))
