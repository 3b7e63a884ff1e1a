"""Post-processing as in Repoformer's release, where it differs from the paper's text and so from ``completion.py``."""

from __future__ import annotations

from repoformer.code.records import Blank
from repoformer.metrics.parseable import longest_parseable_prefix, parse_python


def compared_non_blank_lines(blank: Blank, completion: str) -> tuple[str, str]:
    """Line, API and chunk level: blank lines of the output are dropped, then as many lines kept as the target has.

    RepoCoder does the same. Where the model writes a blank line first, this looks past it.
    """
    count = len(_non_blank_lines(blank.target))
    return "\n".join(_non_blank_lines(completion)[:count]), blank.target


def compared_function_bodies(blank: Blank, completion: str) -> tuple[str, str]:
    """Function level: the body of the function in the longest prefix of the output with which the file parses.

    The function is the last one of ``left + "pass"``, looked up by its number. The target goes through the same, so
    what of the body stands in the left context (a docstring) is in both texts and raises their similarity. Output that
    cannot be parsed at any length is compared as it is.
    """
    prefix = longest_parseable_prefix(blank.left, completion)
    if prefix is None:
        return completion, blank.target
    prefix = prefix.rstrip()
    indentation = blank.target[: len(blank.target) - len(blank.target.lstrip(" \t"))]
    number = len(_function_bodies(f"{blank.left}{indentation}pass")) - 1
    written, wanted = (_function_bodies(blank.left + body) for body in (prefix, blank.target))
    if not 0 <= number < min(len(written), len(wanted)):
        return prefix, blank.target
    return written[number], wanted[number]


def _function_bodies(text: str) -> list[str]:
    """The bodies of all functions of a Python file, nested ones included, in the order of their headers."""
    bodies = []
    pending = [parse_python(text).root_node]
    while pending:
        node = pending.pop()
        pending += reversed(node.children)
        body = node.child_by_field_name("body") if node.type == "function_definition" else None
        if body is not None:
            bodies.append((body.text or b"").decode("utf-8", "replace"))
    return bodies


def _non_blank_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]
