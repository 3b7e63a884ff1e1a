"""Cross-file context as text: retrieved chunks as comments of the current file's language."""

from __future__ import annotations

from collections.abc import Iterable

from repoformer.code.records import Chunk

HEADER = "Here are some relevant code fragments from other files of the repo:"
ORIGIN = "the below code fragment can be found in:"


def cross_file_text(chunks: Iterable[Chunk], comment: str) -> str:
    """Best chunk first, every line a comment; empty for no chunks. The caller cuts the end to the budget.

    Paths are relative to the repository, so the text does not depend on where a repository happens to lie.
    """
    chunks = list(chunks)
    if not chunks:
        return ""
    shown = (as_comments(f"{ORIGIN}\n{chunk.path}\n{chunk.text}", comment) for chunk in chunks)
    return "\n\n".join([f"{comment} {HEADER}", *shown, ""])


def as_comments(code: str, comment: str) -> str:
    """Every line a comment, as cross-file context shows it."""
    return "\n".join(f"{comment} {line}".rstrip() for line in code.split("\n"))
