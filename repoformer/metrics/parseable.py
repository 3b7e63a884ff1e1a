"""Which prefixes of a completion leave a file that parses: what two published post-processings cut at.

Both ask about one prefix after the other. Parsing the whole file for each is quadratic; here the tree of the last
answer is edited and only what changed is parsed again, so that each further prefix costs about as much as its own end.

"Parses" means, as in both releases, that tree-sitter's tree holds no ERROR node. A token that tree-sitter supplies
because it is missing is no ERROR: ``f(a`` parses, its bracket being supplied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Point, Tree


class PrefixParser:
    """Says whether a Python file ``left + prefix`` parses, for one prefix of the same completion after another."""

    def __init__(self, left: str) -> None:
        self._left = _encoded(left)
        self._text = self._left
        self._tree = _parser().parse(self._text)

    def parses(self, prefix: str) -> bool:
        """Whether ``left + prefix`` parses. Prefixes that grow or shrink little by little are cheap."""
        text = self._left + _encoded(prefix)
        self._tree.edit(**_change_of_end(self._text, text))
        self._tree = _parser().parse(text, self._tree)
        self._text = text
        return not _holds_error(self._tree.root_node)


def first_parseable_line_end(left: str, completion: str) -> int | None:
    """Where the first line of ``completion`` ends at which the file parses; None if there is no such line.

    Only an end that a newline follows counts: the completion's last line may be cut off by the token limit.
    """
    parser = PrefixParser(left)
    end = completion.find("\n", 1)
    while end != -1:
        if parser.parses(completion[:end]):
            return end
        end = completion.find("\n", end + 1)
    return None


def longest_parseable_prefix(left: str, completion: str) -> str | None:
    """The longest prefix of ``completion``, by characters, with which the file parses; None if none does."""
    parser = PrefixParser(left)
    ends = range(len(completion), -1, -1)
    return next((completion[:end] for end in ends if parser.parses(completion[:end])), None)


def parse_python(text: str) -> Tree:
    """tree-sitter's tree of a Python file; whatever the text, there is one."""
    return _parser().parse(_encoded(text))


def _holds_error(root: Node) -> bool:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error:
            return True
        if node.has_error:
            pending += node.children
    return False


def _change_of_end(old: bytes, new: bytes) -> dict[str, Any]:
    """The edit that makes ``new`` of ``old``, of which one is the beginning of the other."""
    kept = min(len(old), len(new))
    return {
        "start_byte": kept,
        "old_end_byte": len(old),
        "new_end_byte": len(new),
        "start_point": _point(new, kept),
        "old_end_point": _point(old, len(old)),
        "new_end_point": _point(new, len(new)),
    }


def _point(text: bytes, end: int) -> Point:
    """Row and column, in bytes, of a place in ``text``."""
    return Point(text.count(b"\n", 0, end), end - text.rfind(b"\n", 0, end) - 1)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))
