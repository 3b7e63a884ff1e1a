"""Post-processing as in Repoformer's release: blank lines do not count, function bodies are found by their number."""

from __future__ import annotations

from repoformer.code.records import Blank
from repoformer.metrics.released import compared_function_bodies, compared_non_blank_lines


def blank(left: str, target: str) -> Blank:
    start = left.count("\n")
    return Blank(
        "i", "r", "", "", "a.py", "python", "function", start, start + target.count("\n") + 1, left, "\n", target
    )


def test_blank_lines_of_the_output_are_passed_over() -> None:
    hole = blank("", "x = 1\n\ny = 2")
    assert compared_non_blank_lines(hole, "\na\n\n\nb\nc\n") == ("a\nb", hole.target)


def test_the_body_ends_with_the_function() -> None:
    hole = blank("class A:\n    def f(self):\n", "        return 1")
    written, wanted = compared_function_bodies(
        hole, "        x = 2\n        return x\n\n    def g(self):\n        pass\n"
    )
    assert (written, wanted) == ("x = 2\n        return x", "return 1")


def test_a_function_inside_the_body_is_not_taken_for_it() -> None:
    hole = blank("def f():\n", "    return 1")
    completion = "    def g():\n        return 2\n    return g()\n"
    assert compared_function_bodies(hole, completion)[0] == completion.strip()


def test_output_that_breaks_off_is_cut_back_to_where_it_parses() -> None:
    hole = blank("def f():\n", "    return 1")
    assert compared_function_bodies(hole, "    x = 1\n    y = = ")[0] == "x = 1\n    y"


def test_a_docstring_in_the_left_context_is_in_both_texts() -> None:
    hole = blank('def f():\n    """Says one."""\n', "    return 1")
    written, wanted = compared_function_bodies(hole, "    return 2\n")
    assert [text.split("\n")[0] for text in (written, wanted)] == ['"""Says one."""'] * 2


def test_what_parses_at_no_length_is_compared_as_it_is() -> None:
    hole = blank("def f() = = :\n", "    return 1")
    assert compared_function_bodies(hole, "    return 2\n") == ("    return 2\n", "    return 1")
