"""The only place where a prompt is put together, always from token ids.

    base       <fim_prefix> L <fim_suffix> R [CFC] <fim_middle> Y
    selective  <fim_prefix> L <fim_suffix> R <eof> [<cc> CFC] <fim_middle> Y

and, for the paper's ablation A4 only, with <eof> in the part of the paper's second new token:

    after_middle  <fim_prefix> L <fim_suffix> R <fim_middle> [<cc> CFC <eof>] Y

A prompt is its *in-file part*, which both arms share, and one *branch*: with cross-file context or without. The
decision is read at the end of the in-file part, from the same forward pass that both branches continue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from repoformer.code.records import Chunk
from repoformer.prompt.budgets import Budgets
from repoformer.prompt.cross_file import cross_file_text
from repoformer.prompt.dialects import END_OF_FILE_CONTEXT, RETRIEVE, Dialect, token_id

Style = Literal["base", "selective", "after_middle"]

# One token never spans more text than this in code; only the speed of cutting depends on the guess.
_CHARACTERS_PER_TOKEN = 8


@dataclass(frozen=True, slots=True)
class InFile:
    """Left and right context as token ids, already within their budgets."""

    left: tuple[int, ...]
    right: tuple[int, ...]


class PromptBuilder:
    """Prompts of one style for one tokenizer and dialect.

    Text from users is encoded with ``split_special_tokens``: control tokens that stand in code are ordinary text there,
    and only this class ever emits a control token's id.
    """

    def __init__(self, tokenizer: Any, dialect: Dialect, budgets: Budgets, style: Style) -> None:
        self.tokenizer = tokenizer
        self.dialect = dialect
        self.budgets = budgets
        self.style: Style = style
        self.prefix_id = token_id(tokenizer, dialect.prefix)
        self.suffix_id = token_id(tokenizer, dialect.suffix)
        self.middle_id = token_id(tokenizer, dialect.middle)
        self.end_id = token_id(tokenizer, dialect.end)
        self.begin_ids = [token_id(tokenizer, dialect.begin)] if dialect.begin else []
        self.retrieve_id = token_id(tokenizer, RETRIEVE) if style != "base" else -1
        self.eof_id = token_id(tokenizer, END_OF_FILE_CONTEXT) if style != "base" else -1

    # -- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """Token ids of user text; no control token among them, whatever the text says."""
        ids = self._encode_plain(text)
        if not self._control_ids.isdisjoint(ids):
            # Some families register control tokens as ordinary added tokens, which split_special_tokens does not
            # split: encode each such literal in two halves instead.
            ids = [token for piece in self._split_controls(text) for token in self._encode_plain(piece)]
        return ids

    def in_file(self, left: str, right: str, budget: tuple[int, int] | None = None) -> InFile:
        """Left context cut at its left end, right context at its right end, to ``budget`` or the completion budgets."""
        left_budget, right_budget = budget or (self.budgets.left, self.budgets.right)
        return InFile(tuple(self._tail(left, left_budget)), tuple(self._head(right, right_budget)))

    def cross_file(self, chunks: Iterable[Chunk], comment: str) -> list[int]:
        """Token ids of the cross-file context, cut at the end to its budget; empty for no chunks."""
        return self._head(cross_file_text(chunks, comment), self.budgets.cross_file)

    # -- ids to prompts ----------------------------------------------------------------------------------------------

    def in_file_part(self, in_file: InFile) -> list[int]:
        """What both arms share; a selective prompt ends here in ``<eof>``, where the decision is read."""
        last = {"base": [], "selective": [self.eof_id], "after_middle": [self.middle_id]}[self.style]
        return [*self.begin_ids, self.prefix_id, *in_file.left, self.suffix_id, *in_file.right, *last]

    def branch(self, cross_file: Sequence[int] | None) -> list[int]:
        """What follows the in-file part: the context, if there is one, and ``<fim_middle>`` where it is still to come.

        Empty context is no context: ``<cc>`` is never directly followed by ``<fim_middle>``.
        """
        if self.style == "after_middle":
            return [self.retrieve_id, *cross_file, self.eof_id] if cross_file else []
        if not cross_file:
            return [self.middle_id]
        if self.style == "selective":
            return [self.retrieve_id, *cross_file, self.middle_id]
        return [*cross_file, self.middle_id]

    def prompt(self, in_file: InFile, cross_file: Sequence[int] | None) -> list[int]:
        """The whole prompt, for a model that starts from nothing."""
        return self.in_file_part(in_file) + self.branch(cross_file)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _encode_plain(self, text: str) -> list[int]:
        if not text:
            return []
        encoded = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
        return list(encoded["input_ids"])

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        return frozenset(self.tokenizer.get_added_vocab().values())

    def _split_controls(self, text: str) -> list[str]:
        literals = sorted(
            (token for token in self.tokenizer.get_added_vocab() if len(token) > 1), key=len, reverse=True
        )
        pieces, start = [], 0
        for match in re.finditer("|".join(map(re.escape, literals)), text):
            middle = match.start() + len(match.group()) // 2
            pieces.append(text[start:middle])
            start = middle
        return [*pieces, text[start:]]

    def _tail(self, text: str, budget: int) -> list[int]:
        """The last ``budget`` tokens of ``text``, without encoding all of a long file."""
        if budget <= 0:
            return []
        size = _CHARACTERS_PER_TOKEN * budget
        while True:
            start = text.find("\n", len(text) - size) + 1 if size < len(text) else 0
            end_part = text[start:]
            ids = self.encode(end_part)
            if start == 0 or len(ids) > budget + _seam(end_part, end_part.lstrip()):
                return ids[-budget:]
            size *= 2

    def _head(self, text: str, budget: int) -> list[int]:
        """The first ``budget`` tokens of ``text``, without encoding all of a long file."""
        if budget <= 0:
            return []
        size = _CHARACTERS_PER_TOKEN * budget
        while True:
            end = max(text.rfind("\n", 0, size), 0) if size < len(text) else len(text)
            first_part = text[:end]
            ids = self.encode(first_part)
            if end == len(text) or len(ids) > budget + _seam(first_part, first_part.rstrip()):
                return ids[:budget]
            size *= 2


def _seam(part: str, stripped: str) -> int:
    """How many tokens next to a cut may differ from those of the uncut text: these are encoded, but not kept.

    The cut may divide a run of white space, which ``stripped`` lacks; a character has up to four tokens.
    """
    return 16 + 4 * (len(part) - len(stripped))
