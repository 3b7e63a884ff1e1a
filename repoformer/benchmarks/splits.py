"""Moving a split of a file to the ends of lines, where a benchmark makes it elsewhere."""

from __future__ import annotations

from repoformer.benchmarks.checkouts import Unusable


def on_whole_lines(left: str, target: str, right: str) -> tuple[str, str, str]:
    """The same text, split as blanks are: indentation goes to the target, the newline at its end to the right context.

    Some benchmarks put the cursor behind the first line's indentation and end the target with its newline. A cursor
    that stands behind code, or a target that ends inside a line, cannot be moved without changing the problem.
    """
    before, indentation = left[: left.rfind("\n") + 1], left[left.rfind("\n") + 1 :]
    if indentation.strip():
        raise Unusable("its cursor stands inside a line")
    if target.endswith("\n"):
        target, right = target[:-1], "\n" + right
    if right and not right.startswith("\n"):
        raise Unusable("its target ends inside a line")
    return before, indentation + target, right
