"""The leak rule for context that a benchmark gives: its chunks have a path and a text, but no place in their file."""

from __future__ import annotations

from repoformer.code.records import Blank, Chunk, RetrievedContext
from repoformer.context.leaks import squeezed


def given_leaks(blank: Blank, context: RetrievedContext) -> list[str]:
    """Every chunk that breaks the leak rule as far as text can tell, in words; empty when all is well.

    A chunk of the hole's own file has to stand in the left context as a whole. A chunk of another file leaks where it
    holds the target between the lines around it, which only a copy of the file does; that the target by itself stands
    elsewhere is what retrieval is for.
    """
    return [
        f"{chunk.path}: {problem}"
        for chunk in (ranked.chunk for ranked in context.chunks)
        if (problem := _problem(blank, chunk))
    ]


def _problem(blank: Blank, chunk: Chunk) -> str | None:
    text = squeezed(chunk.text)
    if chunk.path == blank.path:
        return None if text in squeezed(blank.left) else "holds the blank or text behind it"
    before, behind = _last_line(blank.left), _first_line(blank.right)
    if before and behind and before + squeezed(blank.target) + behind in text:
        return f"comes from a copy of {blank.path}"
    return None


def _last_line(text: str) -> str:
    lines = [squeezed(line) for line in text.split("\n")]
    return next((line for line in reversed(lines) if line), "")


def _first_line(text: str) -> str:
    return next((line for line in map(squeezed, text.split("\n")) if line), "")
