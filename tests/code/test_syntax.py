"""Imports and function bodies as people would point at them."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.languages import LANGUAGES, Language
from repoformer.code.lines import cut, lines_of
from repoformer.code.records import Blank
from repoformer.code.syntax import Import, function_bodies, imports
from repoformer.metrics.completion import postprocess


def test_every_import_statement_is_found_with_its_modules() -> None:
    text = """from __future__ import annotations
import a, b.c as d
def f():
    from ..p.q import (x,
        y)
    from . import z
"""
    assert imports("python", text) == [Import(1, ("a", "b.c")), Import(3, ("..p.q",)), Import(5, (".",))]


def test_imports_agree_with_the_language_itself(python_sources: list[str]) -> None:
    for text in python_sources:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        lines = sorted(node.lineno - 1 for node in nodes if getattr(node, "module", "") != "__future__")
        assert [statement.line for statement in imports("python", text)] == lines


def test_function_bodies_agree_with_the_language_itself(python_sources: list[str]) -> None:
    for text in python_sources[:4]:
        lines = lines_of(text)
        # A comment behind the last statement may count as the body's, which the language's own tree does not hold.
        found = {(start, last_code_line(lines, end)) for start, end in function_bodies("python", text)}
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        assert found == {body_span(node) for node in functions if has_code_on_own_lines(node, lines)}


def last_code_line(lines: list[str], end: int) -> int:
    while lines[end - 1].strip() == "" or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return end


def body_span(node: ast.FunctionDef) -> tuple[int, int]:
    decorators = getattr(node.body[0], "decorator_list", [])
    return min([node.body[0].lineno, *(each.lineno for each in decorators)]) - 1, node.body[-1].end_lineno or 0


def has_code_on_own_lines(node: ast.FunctionDef, lines: list[str]) -> bool:
    code = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    return bool(code) and lines[node.body[0].lineno - 1][: node.body[0].col_offset].strip() in ("", "@")


@pytest.mark.parametrize(
    "text",
    [
        "def f(): return 1\n",
        'def f():\n    """Only words.\n\n    More words.\n    """\n',
        "def f():\n    x = (\n    y = 2\n    return x\n",
        "",
    ],
)
def test_there_is_no_body_where_there_is_no_code_on_lines_of_its_own(text: str) -> None:
    assert function_bodies("python", text) == []


def test_a_body_begins_after_the_whole_header_and_its_comments() -> None:
    text = "def f(a,\n      b):  # why\n    # what\n    x = 1\n\n    return x  # done\n# outside\n"
    assert function_bodies("python", text) == [(3, 6)]


def test_nested_functions_have_bodies_of_their_own() -> None:
    text = "class A:\n    def f(self):\n        async def g():\n            return 1\n        return g\n"
    assert function_bodies("python", text) == [(2, 5), (3, 4)]


def test_an_error_elsewhere_does_not_hide_a_function() -> None:
    assert (1, 3) in function_bodies("python", "def f():\n    x = 1\n    return x\n\nprint 'old'\n)\n")


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_can_be_asked(text: str) -> None:
    count = len(lines_of(text))
    assert all(0 < start < end <= count for start, end in function_bodies("python", text))
    assert all(0 <= statement.line <= count for statement in imports("python", text))


BRACES = {
    "java": (
        "class K {\n  K(int a) {\n    super(a);\n  }\n\n  @Override void f() throws E\n  {\n    g(); // }\n"
        "    h();\n  }\n"
        "  int one() { return 1; }\n  abstract int none();\n  void empty() {\n    // nothing\n  }\n}\n",
        [(2, 3), (7, 9)],
    ),
    "csharp": (
        "namespace N;\nclass K\n{\n  public K()\n  {\n    a = 1;\n  }\n  int P { get { return 1; } }\n  int F() => 2;\n"
        "  int G()\n  {\n    int L() {\n      return 3;\n    }\n    return L();\n  }\n}\n",
        [(5, 6), (11, 15), (12, 13)],
    ),
    "typescript": (
        "export const f = async (a: number): Promise<void> => { // why\n  await g(a);\n};\n"
        "class A<T> {\n  m(): T {\n    return <T>this.x;\n  }\n  one() { return 1; }\n}\nfunction d(): void;\n",
        [(1, 2), (5, 6)],
    ),
    "tsx": (
        "function F(p: P) {\n  return (\n    <p onClick={() => {\n      p.g();\n    }}>{p.x}</p>\n  );\n}\n",
        [(1, 6), (3, 4)],
    ),
    "javascript": (
        "module.exports = function* () {\n  yield 1;\n};\nclass A {\n  get x() {\n    return this.#x;\n  }\n}\n"
        "function s() {\n  'use strict';\n}\nconst o = { f() {\n  return 1; } };\n",
        [(1, 2), (5, 6)],
    ),
}


@pytest.mark.parametrize("language", BRACES)
def test_a_body_in_braces_is_the_lines_between_them(language: str) -> None:
    text, spans = BRACES[language]
    assert function_bodies(language, text) == spans


IMPORTS = {
    "java": ("package a;\nimport b.C;\nimport static b.C.d;\nimport e.*;\nclass K {}\n", ["b.C", "b.C.d", "e"]),
    "csharp": (
        "global using A;\nusing B.C;\nusing static D.E;\nusing F = G.H;\nusing (var x = y) {}\n",
        ["A", "B.C", "D.E", "G.H"],
    ),
    "typescript": (
        "import a, { b } from './a';\nimport type { T } from \"t\";\nexport * from '../c';\nimport d = require('d');\n",
        ["./a", "t", "../c", "d"],
    ),
    "tsx": ("import './side.css';\nconst L = lazy(() => import('./l'));\n", ["./side.css", "./l"]),
    "javascript": (
        "const a = require('./a');\nrequire(name);\nexports.b = required('./b');\nexport { c } from 'c';\n",
        ["./a", "c"],
    ),
}


@pytest.mark.parametrize("language", IMPORTS)
def test_imports_of_every_language(language: str) -> None:
    text, modules = IMPORTS[language]
    assert [module for statement in imports(language, text) for module in statement.modules] == modules


def test_every_language_of_the_table_is_tested_here() -> None:
    assert {"python", *BRACES} == {"python", *IMPORTS} == set(LANGUAGES)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@given(text=st.text(st.sampled_from("{}()[];=\"'`/*$\\\n a<>#:"), max_size=60))
def test_any_text_in_any_language_can_be_asked(language: str, text: str) -> None:
    count = len(lines_of(text))
    assert all(0 < start < end <= count for start, end in function_bodies(language, text))
    assert all(0 <= statement.line <= count for statement in imports(language, text))


def test_a_sixth_language_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing but its entry, files of a language are parsed, sampled and cut as those of the others."""
    entry = Language(
        "ecmascript",
        suffixes=(".es",),
        comment="//",
        grammar=("tree_sitter_javascript", "language"),
        imports="(import_statement source: (string (string_fragment) @module)) @statement",
        functions="(function_declaration body: (statement_block) @body) @function",
        unremarkable=("import ", "//"),
        frame=("function _() {\n", "\n}\n"),
    )
    monkeypatch.setitem(LANGUAGES, entry.name, entry)
    text = "import a from 'a';\nfunction f() {\n  return {a};\n}\n"
    assert imports("ecmascript", text) == [Import(0, ("a",))]
    assert function_bodies("ecmascript", text) == [(2, 3)]
    left, target, right = cut(text, 2, 3)
    blank = Blank("i", "r", "", "MIT", "a.es", "ecmascript", "function", 2, 3, left, right, target)
    assert postprocess(blank, target + right) == target
