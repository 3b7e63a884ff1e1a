"""What a line is, decided once: text between newline characters, and nothing else.

``str.splitlines`` also breaks at form feeds, U+2028 and the like, which source files do contain; editors, tree-sitter
and Python itself do not count those as the ends of lines.
"""

from __future__ import annotations


def lines_of(text: str) -> list[str]:
    """The lines without their newlines. A newline at the end of the text ends its last line and starts no other."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def line_count(text: str) -> int:
    """The number of lines of a text, without making them."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def cut(text: str, start: int, end: int) -> tuple[str, str, str]:
    """Left context, target and right context around the lines ``[start, end)``, which must not be empty.

    The left context ends in a newline or is empty, the target has none at its end, and the right context starts with
    one or is empty: put together they are the text again.
    """
    lines = lines_of(text)
    if not 0 <= start < end <= len(lines):
        raise ValueError(f"lines [{start}, {end}) are no lines of a text of {len(lines)}")
    left = "".join(f"{line}\n" for line in lines[:start])
    target = "\n".join(lines[start:end])
    return left, target, text[len(left) + len(target) :]
