"""Files cut into chunks of whole lines; blank lines and indentation survive."""

from __future__ import annotations

from repoformer.code.lines import lines_of
from repoformer.code.records import Chunk


def windows(path: str, text: str, size: int, stride: int) -> list[Chunk]:
    """Windows of ``size`` lines that start every ``stride`` lines, up to the first that reaches the end of the file.

    The last one may be shorter, and is not cut further: none of the windows stands wholly inside another. An empty
    file has no windows.
    """
    if size < 1 or not 1 <= stride <= size:
        raise ValueError(f"windows of {size} lines every {stride} lines leave lines out or are empty")
    lines = lines_of(text)
    starts = range(0, max(len(lines) - size + stride, 1), stride) if lines else ()
    return [chunk_of(path, lines, start, start + size) for start in starts]


def chunk_of(path: str, lines: list[str], start: int, end: int) -> Chunk:
    """The lines ``[start, end)`` of a file, or as many of them as there are."""
    return Chunk(path, start, min(end, len(lines)), "\n".join(lines[start:end]))
