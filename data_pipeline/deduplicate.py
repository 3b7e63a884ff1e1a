"""Repositories that are copies of each other: forks, renamed releases, one with the other inside.

On different sides of the split they would let a model be tested on what it was trained on, so only the first is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from repoformer.code.records import Repository
from repoformer.context.leaks import telling_lines
from repoformer.seeding import stable_hash

SHARED_SHARE = 0.3
"""Of the smaller repository's telling lines. Unrelated ones share less than a tenth, forks four fifths."""


def line_hashes(repository: Repository) -> frozenset[int]:
    """What a repository is recognised by, without its texts."""
    return frozenset(stable_hash(line) for file in repository.files for line in telling_lines(file.path, file.text))


class Originals:
    """Repositories that are no copies of each other, in the order in which they were added."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._sizes: list[int] = []
        self._holders: dict[int, list[int]] = defaultdict(list)

    def copied(self, lines: Iterable[int]) -> str | None:
        """The repository here that shares most with these lines, if that is enough to make one a copy of the other."""
        own = set(lines)
        shared = Counter(holder for line in own for holder in self._holders.get(line, ()))
        for holder, count in shared.most_common():
            if count >= SHARED_SHARE * min(len(own), self._sizes[holder]):
                return self.names[holder]
        return None

    def add(self, name: str, lines: frozenset[int]) -> None:
        """Keep a repository."""
        for line in lines:
            self._holders[line].append(len(self.names))
        self.names.append(name)
        self._sizes.append(len(lines))
