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

_IMPORTS = {
    # Captures @statement and @module, one match per imported module. `from __future__` is a node type of its own, and
    # rightly left out: it imports no code.
    "python": """
        (import_statement name: (dotted_name) @module) @statement
        (import_statement name: (aliased_import name: (dotted_name) @module)) @statement
        (import_from_statement module_name: (_) @module) @statement
    """,
}
_FUNCTIONS = {
    "python": "(function_definition body: (block) @body) @function",
}


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement with the modules as they are written in it, leading dots included."""

    line: int
    modules: tuple[str, ...]


def imports(language: str, text: str) -> list[Import]:
    """The import statements of a file, wherever they stand, in the order of the text."""
    modules: dict[int, list[str]] = {}
    lines: dict[int, int] = {}
    for captures in _matches(language, _IMPORTS[language], parse(language, text)):
        statement, module = captures["statement"][0], captures["module"][0]
        lines[statement.start_byte] = statement.start_point.row
        modules.setdefault(statement.start_byte, []).append(_text(module))
    return [Import(lines[start], tuple(modules[start])) for start in sorted(modules)]


def function_bodies(language: str, text: str) -> list[tuple[int, int]]:
    """The bodies of functions as spans of whole lines ``[start, end)``, nested functions included.

    Left out: bodies on the line of their header, functions with a syntax error, and bodies that are a docstring only,
    because they hold no code to complete.
    """
    spans = set()
    for captures in _matches(language, _FUNCTIONS[language], parse(language, text)):
        function, body = captures["function"][0], captures["body"][0]
        if function.has_error or _only_docstring(body) or not _starts_its_line(body):
            continue
        spans.add((body.start_point.row, body.end_point.row + 1))
    return sorted(spans)


def parse(language: str, text: str) -> Tree:
    """The syntax tree of a file."""
    return _parser(language).parse(text.encode())


def _matches(language: str, query: str, tree: Tree) -> list[dict[str, list[Node]]]:
    cursor = QueryCursor(_query(language, query))
    return [captures for _, captures in cursor.matches(tree.root_node)]


def _only_docstring(body: Node) -> bool:
    statements = [child for child in body.named_children if child.type != "comment"]
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
    return Language(importlib.import_module(LANGUAGES[language].grammar).language())


@cache
def _parser(language: str) -> Parser:
    return Parser(_grammar(language))


@cache
def _query(language: str, source: str) -> Query:
    return Query(_grammar(language), source)
