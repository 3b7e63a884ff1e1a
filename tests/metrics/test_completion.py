"""What of a model's output counts as its completion."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.lines import cut
from repoformer.code.records import Blank, Kind
from repoformer.metrics.completion import first_lines, postprocess


def a_blank(left: str, target: str, kind: Kind = "function", language: str = "python") -> Blank:
    start = left.count("\n")
    end = start + target.count("\n") + 1
    return Blank("id", "repo", "", "MIT", "m.py", language, kind, start, end, left, "\n", target)


METHOD = a_blank("class A:\n    def f(\n        self,\n    ):\n", "        return 1")
FUNCTION = a_blank("def f():\n", "    return 1")


@pytest.mark.parametrize("kind", ["line", "api", "chunk"])
def test_as_many_lines_as_the_target_has(kind: Kind) -> None:
    assert postprocess(a_blank("", "a\n\nb", kind), "x\n\ny\nz\n") == "x\n\ny"


def test_blank_lines_in_front_count() -> None:
    assert postprocess(a_blank("", "a", "line"), "\na") == ""


def test_a_short_completion_is_kept_whole() -> None:
    assert postprocess(a_blank("", "a\nb\nc", "chunk"), "    x") == "    x"


@given(st.text(alphabet="a \n\r\x0c\u2028", max_size=20), st.integers(1, 6))
def test_lines_end_at_newlines_only(text: str, count: int) -> None:
    assert first_lines(text, count) == "\n".join(text.split("\n")[:count])


@pytest.mark.parametrize(
    "body",
    [
        "{i}x = 1\n\n{i}# why\n{i}return x",
        "{i}return '''\ntext at the margin\n'''",
        "{i}return (\n1,\n)",
        "{i}def inner():\n{i}    pass\n{i}return inner",
        "{i}'''Docstring.'''",
        "{i}await x\n{i}yield",
    ],
)
@pytest.mark.parametrize(
    "after",
    [
        "",
        "\n",
        "\n\n{o}def g(self",
        "\n\n{o}@property\n{o}def g(self):\n{i}y = foo('''abc",
        "\n\n{o}# of the next\n{o}x = 1\n",
        "\nclass B:\n    pass\n",
        "\n)))",
    ],
)
@pytest.mark.parametrize(("blank", "outer"), [(METHOD, "    "), (FUNCTION, "")], ids=["method", "function"])
def test_the_body_ends_where_the_code_after_it_begins(blank: Blank, outer: str, body: str, after: str) -> None:
    indentation = {"i": outer + "    ", "o": outer}
    wanted = body.format(**indentation)
    assert postprocess(blank, wanted + after.format(**indentation)) == wanted


@pytest.mark.parametrize(
    "raw",
    [
        "        return (1,\n",
        "        x = = 1\n    def g(self): pass\n",
        "    def g(self): pass\n",
        "pass\n",
        "",
        "\n\n",
    ],
)
def test_what_is_no_body_stays_raw(raw: str) -> None:
    assert postprocess(METHOD, raw) == raw


def test_a_language_that_is_not_in_the_table_stays_raw() -> None:
    blank = a_blank("fn f() {\n", "  1", language="rust")
    assert postprocess(blank, "  2\n}\nf()") == "  2\n}\nf()"


BRACES = {
    "java": "    super(x);\n    if (a) {\n      b(\"}\");  // }\n    }\n    /* } */ return '}';",
    "csharp": '    var s = $"{a}}}" + @"}";\n    yield return await b();\n    foreach (var c in d) { }',
    "typescript": "    const s = `a ${ {b: 1}.b } }`;\n    return <T>/[}]/.test(s);",
    "tsx": "    const f = (): void => { g(); };\n    return <p style={{a: 1}}>{f} </p>;",
    "javascript": "    const {a} = b;\n    for (const c of a) {\n      d(`}`);\n    }",
}


@pytest.mark.parametrize("after", ["", "\n}\n", "\n  int next(", "\n\n  // more }\n}\n}}}", "\n`'\"/*"])
@pytest.mark.parametrize("language", BRACES)
def test_a_body_in_braces_ends_before_the_brace_that_closes_it(language: str, after: str) -> None:
    body = BRACES[language]
    assert postprocess(a_blank("f() {\n", "    x();", language=language), body + "\n  }" + after) == body


@pytest.mark.parametrize("language", BRACES)
@pytest.mark.parametrize("raw", ["    f(;\n  }\n", "\n  }\n", "}", "", "    f();\n", '    f("é);\n}'])
def test_what_is_no_body_in_braces_stays_raw(language: str, raw: str) -> None:
    assert postprocess(a_blank("f() {\n", "    x();", language=language), raw) == raw


def test_tabs_indent_too() -> None:
    blank = a_blank("class A:\n\tdef f(self):\n", "\t\treturn 1")
    assert postprocess(blank, "\t\tx = 1\n\t\treturn x\n\n\tdef g(self):\n\t\tpass") == "\t\tx = 1\n\t\treturn x"


def test_a_definition_in_the_docstring_above_is_not_the_header() -> None:
    blank = a_blank(
        'class A:\n    def f(self):\n        """For example\n        def f(): ...\n        """\n', "        pass"
    )
    assert postprocess(blank, "        return 1\n    x = 2\n") == "        return 1"


def test_every_function_of_real_code_gets_its_own_body_back(python_sources: list[str]) -> None:
    checked = 0
    for text in python_sources[:4]:
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or node.body[0].lineno == node.lineno:
                continue
            start, end = node.body[0].lineno - 1, node.end_lineno
            assert end is not None
            left, target, right = cut(text, start, end)
            blank = Blank("id", "r", "", "MIT", "m.py", "python", "function", start, end, left, right, target)
            completed = postprocess(blank, target + first_lines(right, 100))
            # A comment that is indented like the body and follows it belongs to it for tree-sitter, not for ast.
            rest = completed.removeprefix(target)
            assert completed.startswith(target)
            assert all(not line.strip() or line.strip().startswith("#") for line in rest.split("\n"))
            checked += 1
    assert checked > 100


def test_long_output_takes_linear_time() -> None:
    body = "        x = foo(x)\n" * 20_000
    start = time.perf_counter()
    postprocess(METHOD, body)
    assert time.perf_counter() - start < 5
