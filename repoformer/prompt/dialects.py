"""How each model family spells fill-in-the-middle, in one table.

The entries were written from the families' published tokenizers; none but the pocket model has been run against its
real weights by this project's tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repoformer.errors import UserError


@dataclass(frozen=True, slots=True)
class Dialect:
    """The control tokens of one fill-in-the-middle family, by their text."""

    name: str
    prefix: str
    suffix: str
    middle: str
    end: str
    begin: str | None = None
    """Token in front of everything else, where the family wants one."""
    file_separator: str | None = None


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>"),
        Dialect(
            "starcoder2", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>", file_separator="<file_sep>"
        ),
        Dialect(
            "qwen2.5-coder",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
            "<|endoftext|>",
            file_separator="<|file_sep|>",
        ),
        Dialect("codegemma", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>", begin="<bos>"),
        Dialect(
            "deepseek-coder",
            "<｜fim▁begin｜>",
            "<｜fim▁hole｜>",
            "<｜fim▁end｜>",
            "<｜end▁of▁sentence｜>",
            begin="<｜begin▁of▁sentence｜>",
        ),
        Dialect("codellama", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>", begin="<s>"),
    )
}

RETRIEVE = "<cc>"
"""The model asks for cross-file context (the paper's one new decision token)."""
END_OF_FILE_CONTEXT = "<eof>"
"""Ends the in-file context; the decision is read right after it."""


def dialect_named(name: str) -> Dialect:
    """The dialect called ``name``; an unknown name lists the known ones."""
    if name not in DIALECTS:
        raise UserError(f"dialect {name!r} is unknown; choose one of {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


def token_id(tokenizer: Any, token: str) -> int:
    """The id of a control token; a tokenizer that lacks it is refused by the token's name."""
    ids = tokenizer.convert_tokens_to_ids([token])
    # StarCoder's own unknown token is <|endoftext|>: a token may be the unknown token and yet be known.
    if not ids or ids[0] is None or (ids[0] == tokenizer.unk_token_id and token != tokenizer.unk_token):
        raise UserError(
            f"tokenizer {tokenizer.name_or_path or type(tokenizer).__name__!r} has no token {token!r}; "
            "choose another dialect or a fill-in-the-middle model"
        )
    return int(ids[0])
