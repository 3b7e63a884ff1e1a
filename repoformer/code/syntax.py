"""What the rooms ask of a syntax tree, in tree-sitter's terms: imports and function bodies.

tree-sitter parses around errors, so a file that is broken somewhere, or is written for another version of its language,
still yields what can be read of it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from repoformer.code.languages import LANGUAGES

_COMMENTS = ("comment", "line_comment", "block_comment")


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement with the modules as they are written in it, leading dots included, quotes not."""

    line: int
    modules: tuple[str, ...]


def imports(language: str, text: str) -> list[Import]:
    """The import statements of a file, wherever they stand, in the order of the text."""
    modules: dict[int, list[str]] = {}
    lines: dict[int, int] = {}
    for captures in _matches(language, LANGUAGES[language].imports, parse(language, text)):
        statement, module = captures["statement"][0], captures["module"][0]
        lines[statement.start_byte] = statement.start_point.row
        modules.setdefault(statement.start_byte, []).append(_text(module))
    return [Import(lines[start], tuple(modules[start])) for start in sorted(modules)]


def function_bodies(language: str, text: str) -> list[tuple[int, int]]:
    """The bodies of functions as spans of whole lines ``[start, end)``, nested functions included.

    A body in braces is what stands on the lines between them. Left out: bodies that share a line with their header or
    their closing brace, functions with a syntax error, and bodies that are empty or a docstring only, because they hold
    no code to complete.
    """
    spans = set()
    for captures in _matches(language, LANGUAGES[language].functions, parse(language, text)):
        function, body = captures["function"][0], captures["body"][0]
        if not function.has_error and not _without_code(body):
            spans.add(_indented_lines(body) if LANGUAGES[language].frame is None else _lines_between_braces(body))
    return sorted(span for span in spans if span is not None)


def parse(language: str, text: str) -> Tree:
    """The syntax tree of a file."""
    return _parser(language).parse(text.encode("utf-8", "replace"))


def _matches(language: str, query: str, tree: Tree) -> list[dict[str, list[Node]]]:
    cursor = QueryCursor(_query(language, query))
    return [captures for _, captures in cursor.matches(tree.root_node)]


def _indented_lines(body: Node) -> tuple[int, int] | None:
    return (body.start_point.row, body.end_point.row + 1) if _starts_its_line(body) else None


def _lines_between_braces(body: Node) -> tuple[int, int] | None:
    """The lines between the brace that ends its line, but for a comment, and the one that starts its line."""
    inner = body.children[1:-1]
    while inner and inner[0].type in _COMMENTS and inner[0].start_point.row == body.start_point.row:
        inner = inner[1:]
    if not inner:
        return None
    start, end = body.start_point.row + 1, body.end_point.row
    return (start, end) if inner[0].start_point.row >= start and inner[-1].end_point.row < end else None


def _without_code(body: Node) -> bool:
    statements = [child for child in body.named_children if child.type not in _COMMENTS]
    return all(child.type == "expression_statement" and _is_string(child) for child in statements)


def _is_string(statement: Node) -> bool:
    return all(child.type in ("string", "concatenated_string") for child in statement.named_children)


def _starts_its_line(node: Node) -> bool:
    before = node.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    return before is None or before.end_point.row < node.start_point.row


def _text(node: Node) -> str:
    return (node.text or b"").decode()


@cache
def _grammar(language: str) -> Language:
    module, function = LANGUAGES[language].grammar
    return Language(getattr(importlib.import_module(module), function)())


@cache
def _parser(language: str) -> Parser:
    return Parser(_grammar(language))


@cache
def _query(language: str, source: str) -> Query:
    return Query(_grammar(language), source)
