"""When a completion is over: the end token, the number of lines, the end of the function's body, the token limit.

Decoding stops as soon as post-processing (``metrics.completion``) can no longer change, and not before.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from repoformer.code.records import Blank
from repoformer.metrics.completion import first_lines, function_body
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import token_id

Reason = Literal["end", "lines", "body", "limit"]


class TokenText:
    """Generated tokens as text, and which of them no text can hold; one for all completions of a tokenizer."""

    def __init__(self, builder: PromptBuilder) -> None:
        self._tokenizer = builder.tokenizer
        self._anchor = builder.middle_id
        self.ends = _control_tokens(builder)
        self.newlines = cache(self._newlines)

    def text(self, tokens: list[int]) -> str:
        """The text of these tokens, byte for byte where they are whole characters."""
        # Some families' decoders drop a space that begins the text: here it is indentation, so the text begins before.
        return self._decode([self._anchor, *tokens]).removeprefix(self._decode([self._anchor]))

    def _decode(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, clean_up_tokenization_spaces=False))

    def _newlines(self, token: int) -> int:
        # A newline is one byte that no other UTF-8 character contains, so counts of single tokens add up.
        return self.text([token]).count("\n")


class Stop:
    """One completion while it is generated: its tokens so far, and whether it goes on.

    ``lines``: the left context ends in a newline, the right one starts with one, so a completion of n lines is over at
    its n-th newline, which is not part of it. ``body`` names a function blank whose completion is over where the
    function's body is.
    """

    def __init__(self, text: TokenText, limit: int, *, lines: int | None = None, body: Blank | None = None) -> None:
        self.limit = limit
        self.tokens: list[int] = []
        self.reason: Reason | None = None
        """Why the completion ended; None while it goes on."""
        self._text = text
        self._lines = lines
        self._body = body
        self._newlines = 0
        self._line_start = 0  # the token in which the last line starts
        self._line_judged = False

    def take(self, token: int) -> bool:
        """Add the next token; False when the completion is over."""
        self.reason = self._judge(token)
        return self.reason is None

    @property
    def text(self) -> str:
        """The completion, without what stopped it."""
        text = self._text.text(self.tokens)
        if self.reason == "lines" and self._lines is not None:
            return first_lines(text, self._lines)
        if self.reason == "body" and self._body is not None:
            return function_body(self._body, text)
        return text

    def _judge(self, token: int) -> Reason | None:
        if token in self._text.ends:
            return "end"
        if len(self.tokens) >= self.limit:
            return "limit"
        self.tokens.append(token)
        newlines = self._text.newlines(token)
        if newlines:
            self._newlines += newlines
            self._line_start, self._line_judged = len(self.tokens) - 1, False
        if self._lines is not None and self._newlines >= self._lines:
            return "lines"
        if self._body is not None and not self._line_judged and self._body_is_over(self._body):
            return "body"
        return "limit" if len(self.tokens) >= self.limit else None

    def _body_is_over(self, blank: Blank) -> bool:
        """Whether the line just begun cannot belong to the body; each line is judged once, at its first character."""
        line = self._text.text(self.tokens[self._line_start :]).rpartition("\n")[2]
        if not line.strip():
            return False
        self._line_judged = True
        if line.lstrip().startswith("#"):  # a comment belongs to what follows it
            return False
        before = self._text.text(self.tokens).rpartition("\n")[0] + "\n"
        indentation = line[: len(line) - len(line.lstrip())]
        return statement_ends_body(blank, before, indentation)


def stop_for(builder: PromptBuilder, text: TokenText, blank: Blank, lines: int | None = None) -> Stop:
    """When a completion of ``blank`` is over: after ``lines``, else with the body or the target's last line."""
    limit = builder.budgets.generated(blank.kind)
    if lines is None and blank.kind == "function":
        return Stop(text, limit, body=blank)
    return Stop(text, limit, lines=lines or blank.target.count("\n") + 1)


def _control_tokens(builder: PromptBuilder) -> frozenset[int]:
    """What ends a completion: a hole in a file holds no control token, so each of them does, not the end token only."""
    # Some families register theirs as ordinary added tokens: those the prompt is made of are named one by one.
    of_prompt = {builder.end_id, builder.prefix_id, builder.suffix_id, builder.middle_id, *builder.begin_ids}
    if builder.style != "base":
        of_prompt |= {builder.retrieve_id, builder.eof_id}
    if builder.dialect.file_separator:
        of_prompt.add(token_id(builder.tokenizer, builder.dialect.file_separator))
    added = builder.tokenizer.added_tokens_decoder.items()
    return frozenset(of_prompt | {identity for identity, token in added if token.special})


def statement_ends_body(blank: Blank, before: str, indentation: str) -> bool:
    """Whether a statement at ``indentation`` after the lines ``before`` stands behind the function's body.

    Asked of post-processing itself: the statement is not counted in. Inside brackets and strings, and where the body
    has a syntax error or is still empty, it is.
    """
    after = before + indentation + "pass\n"
    return function_body(blank, after) == function_body(blank, before)
