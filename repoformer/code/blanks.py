"""Holes in the files of a repository."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from repoformer.code.lines import cut
from repoformer.code.records import Blank, Kind, Repository, SourceFile

_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Sampled:
    """Blanks of one kind from one repository, in order of path and line."""

    blanks: tuple[Blank, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    """How many candidates could not become blanks, by reason."""


def blank_at(repository: Repository, file: SourceFile, kind: Kind, start: int, end: int) -> Blank:
    """The blank over lines ``[start, end)`` of a file. Its id says where it stands, lines counted from 1."""
    left, target, right = cut(file.text, start, end)
    return Blank(
        id=f"{kind}:{repository.id}:{file.path}:{start + 1}-{end}",
        repository=repository.id,
        revision=repository.revision,
        licence=repository.licence,
        path=file.path,
        language=file.language,
        kind=kind,
        start=start,
        end=end,
        left=left,
        right=right,
        target=target,
    )


def holds_a_word(text: str) -> bool:
    """Whether there is anything in a text that it could be compared with others by."""
    return _WORD.search(text) is not None
