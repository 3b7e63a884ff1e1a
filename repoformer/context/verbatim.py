"""Targets that can be copied: retrieval may find them, and part of what context gains is that."""

from __future__ import annotations

from collections.abc import Sequence

from repoformer.code.records import Blank, SourceFile
from repoformer.context.leaks import CopyFinder


def stands_elsewhere(blank: Blank, files: Sequence[SourceFile], copies: CopyFinder) -> bool:
    """Whether the target's lines stand as they are in another of these files that is no copy of the blank's own."""
    own = {blank.path} | copies.copies_of(blank.path, blank.left + blank.target + blank.right)
    lines = f"\n{blank.target}\n"
    return any(lines in f"\n{file.text}\n" for file in files if file.path not in own)
