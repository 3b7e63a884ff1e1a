"""Fill-in-the-middle prompts as text, for models behind an endpoint that takes nothing else.

A server reads control tokens wherever their text stands, in user code too, and no escape is common to all. Code that
holds such text is therefore refused by :class:`ControlText`; where a prompt goes to a model in this process,
``prompt/builder.py`` has no such limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Blank, Chunk
from repoformer.errors import UserError
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.cross_file import cross_file_text
from repoformer.prompt.dialects import Dialect

_FRAMED = r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>"
"""How most families spell their control tokens."""
_OTHERS = {
    "starcoder": r"<(?:fim_\w+|filename|gh_stars|issue_\w+|jupyter_\w+|empty_output|commit_\w+|reponame)>",
    "starcoder2": r"<(?:fim_\w+|repo_name|file_sep|issue_\w+|jupyter_\w+|empty_output|pr(?:_\w+)?|\w+_to_\w+)>",
    "qwen2.5-coder": r"</?tool_call>",
    "codegemma": r"<(?:bos|eos|pad|unk|mask|(?:start|end)_of_turn|unused\d+)>",
}


class ControlText(ValueError):
    """User code holds text that the served model would read as a control token."""


class TextPrompts:
    """Prompts in the ``base`` style for a served model, cut to the budgets of ``measure``.

    ``measure`` counts tokens with a tokenizer that is at hand; the served model's own may differ from it, and then the
    budgets hold approximately. The token that begins a sequence is left to the server, which adds it.
    """

    def __init__(self, dialect: Dialect, measure: PromptBuilder) -> None:
        if dialect.name == "codellama":
            raise UserError(
                "dialect 'codellama': its control tokens cannot be told from code in a prompt of text; "
                "load the model in this process instead"
            )
        self.dialect = dialect
        self._measure = measure
        own = [dialect.begin, dialect.prefix, dialect.suffix, dialect.middle, dialect.end, dialect.file_separator]
        literals = [re.escape(token) for token in own if token]
        self._control = re.compile("|".join([*literals, _FRAMED, *filter(None, [_OTHERS.get(dialect.name)])]))

    def prompt(self, blank: Blank, chunks: Iterable[Chunk]) -> str:
        """The prompt for a blank with these cross-file chunks; without context for no chunks."""
        chunks = tuple(chunks)
        left, right = self._in_file(blank)
        comment = LANGUAGES[blank.language].comment
        cross_file = self._first(cross_file_text(chunks, comment), self._measure.cross_file(chunks, comment))
        for text in (left, right, cross_file):
            self._refuse_control(text)
        one = self.dialect
        return f"{one.prefix}{left}{one.suffix}{right}{cross_file}{one.middle}"

    def completion(self, text: str) -> str:
        """What a server returned, up to the first control token, which some servers spell out."""
        return self._control.split(text, maxsplit=1)[0]

    def _in_file(self, blank: Blank) -> tuple[str, str]:
        in_file = self._measure.in_file(blank.left, blank.right)
        start = len(blank.left) - len(self._decoded(in_file.left))
        return blank.left[max(start, 0) :], self._first(blank.right, in_file.right)

    def _first(self, text: str, tokens: Iterable[int]) -> str:
        return text[: len(self._decoded(tokens))]

    def _decoded(self, tokens: Iterable[int]) -> str:
        return str(self._measure.tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))

    def _refuse_control(self, text: str) -> None:
        found = self._control.search(text)
        if found:
            raise ControlText(f"its prompt holds {found.group()!r} as text, which an endpoint reads as a control token")
