"""CrossCodeEval's post-processing: the completion is cut to one statement, and no comment is compared.

Its rules are kept as they were run, oddities included, so that numbers can be compared with published ones; only their
cost is not: the release parses the whole file once per character.
"""

from __future__ import annotations

import re

from repoformer.code.records import Blank
from repoformer.metrics.parseable import first_parseable_line_end

_COMMENT = re.compile(r"(?:#|//).*")
_STATEMENT_END = re.compile("[;{}]")
_BRACKET_LANGUAGES = frozenset({"java", "csharp", "typescript"})


def compared_statement(blank: Blank, completion: str) -> tuple[str, str]:
    """Completion and target as CrossCodeEval compares them."""
    statement = first_statement(blank.language, blank.left, completion)
    return without_comments(statement), without_comments(blank.target)


def first_statement(language: str, left: str, completion: str) -> str:
    """The first statement of ``completion``, or all of it where none can be told.

    Python: up to the end of the first line with which the file so far parses. A left context that cannot be parsed
    itself, such as one in Python 2, therefore keeps the whole completion. Other languages: up to the first ``;``,
    ``{`` or ``}``, wherever it stands, a string included; one that stands first does not count.
    """
    if language == "python":
        end = first_parseable_line_end(left, completion)
        return completion if end is None else completion[:end].rstrip()
    if language not in _BRACKET_LANGUAGES:
        raise ValueError(f"CrossCodeEval has no rule for the end of a statement in {language}")
    end_mark = _STATEMENT_END.search(completion)
    return completion[: end_mark.end()] if end_mark and end_mark.start() else completion


def without_comments(code: str) -> str:
    """``code`` without line comments: ``#`` and ``//`` start one in every language, inside of strings too."""
    return _COMMENT.sub("", code)
