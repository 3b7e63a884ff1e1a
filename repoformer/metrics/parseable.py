"""Which prefixes of a completion leave a file that parses: what two published post-processings cut at.

Both ask about one prefix after the other. Parsing the whole file for each is quadratic; here the tree of the last
answer is edited and only what changed is parsed again, so that each further prefix costs about as much as its own end.
Error recovery is slow and would begin again every time, so a left context that no completion can mend, like one that
was cropped inside of a line, is told from one parse.

"Parses" means, as in both releases, that tree-sitter's tree holds no ERROR node. A token that tree-sitter supplies
because it is missing is no ERROR: ``f(a`` parses, its bracket being supplied. Unlike there, a triple-quoted string that
is open where the completion begins has to be closed by it, even where tree-sitter would supply the quotes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Point, Tree

_STRING_COMMENT_OR_DEFINITION = re.compile(
    r"""
    \#[^\n]*
    | (?P<quotes>\"{3}|\'{3}) (?P<closed> (?:[^\\]|\\.)*? (?P=quotes) )?
    | "(?:[^"\\\n]|\\.)*"
    | '(?:[^'\\\n]|\\.)*'
    | (?<!\\\n)^(?P<indentation>[ \t]*)(?:async[ \t]+def|def|class)[ \t]
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


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
    shortest = _shortest_candidate(left, completion)
    if shortest is None:
        return None
    parser = PrefixParser(left)
    end = completion.find("\n", max(shortest, 1))
    while end != -1:
        if parser.parses(completion[:end]):
            return end
        end = completion.find("\n", end + 1)
    return None


def longest_parseable_prefix(left: str, completion: str) -> str | None:
    """The longest prefix of ``completion``, by characters, with which the file parses; None if none does."""
    shortest = _shortest_candidate(left, completion)
    if shortest is None:
        return None
    parser = PrefixParser(left)
    ends = range(len(completion), shortest - 1, -1)
    return next((completion[:end] for end in ends if parser.parses(completion[:end])), None)


def parse_python(text: str) -> Tree:
    """tree-sitter's tree of a Python file; whatever the text, there is one."""
    return _parser().parse(_encoded(text))


def _shortest_candidate(left: str, completion: str) -> int | None:
    """How much of ``completion`` it takes at least until the file can parse; None where no amount mends ``left``."""
    definition, open_quotes = last_definition_and_open_quotes(left)
    if definition is not None:
        # Such a line starts a statement whatever follows: no bracket before it can still be open.
        indentation = definition["indentation"]
        probe = f"{left[: definition.start()]}{indentation}def _():\n{indentation}    pass\n"
        if _holds_error(parse_python(probe).root_node):
            return None
    if open_quotes is None:
        return 0
    overlap = left[-2:]  # the closing quotes may begin in the left context
    closing = (overlap + completion).find(open_quotes)
    return None if closing == -1 else max(closing - len(overlap) + len(open_quotes), 0)


def last_definition_and_open_quotes(left: str) -> tuple[re.Match[str] | None, str | None]:
    """The last line of ``left`` that begins a definition outside of strings, and the quotes of a string left open."""
    definition = None
    for match in _STRING_COMMENT_OR_DEFINITION.finditer(left):
        if match["indentation"] is not None:
            definition = match
        elif match["quotes"] and not match["closed"]:
            return definition, match["quotes"]
    return definition, None


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
