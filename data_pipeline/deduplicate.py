"""Near-duplicates, found by MinHash over the lines that files are recognised by.

*Repositories* that are copies of each other (forks, renamed releases, one with the other inside) would let a model be
tested on what it was trained on, so of several only the first is kept. *Files* of a kept repository that are copies of
another one's, as they come with templates and copied modules, stay where they are, because the code around refers to
them, but no blank is drawn from them.

Memory: half a kilobyte for every file of the collection.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from repoformer.code.minhash import HASHES, first_alike, signature, similarity
from repoformer.code.records import Repository
from repoformer.context.leaks import SHARED_LINES, telling_lines
from repoformer.seeding import stable_hash

SIMILAR_FILES = 0.7
"""Jaccard similarity of two files' telling lines from which on one is a copy of the other."""
SHARED_SHARE = 0.3
"""Of the smaller repository's telling lines. Unrelated ones share less than a tenth, forks four fifths."""
_LEAST_EQUAL = 8
"""Places of a signature: fewer may be equal by chance, which matters where one repository is much the larger."""


@dataclass(frozen=True, slots=True)
class FileSignature:
    """What a file is recognised by, without its text; with an empty path the whole repository."""

    schema: ClassVar[int] = 1
    repository: str
    path: str
    lines: int
    """Different telling lines."""
    minhash: bytes


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What is a copy of what."""

    originals: list[str]
    """Repositories that are kept, in the order given."""
    copies: dict[str, str] = field(default_factory=dict)
    """The others, and the one that each is a copy of."""
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    """By kept repository and path, as ``REPOSITORY/PATH``, what the file is a copy of."""


def signatures(repository: Repository) -> Iterator[FileSignature]:
    """The signatures of a repository's files and, last, its own."""
    everything: set[int] = set()
    smallest = signature(())
    for file in repository.files:
        lines = {stable_hash(line) for line in telling_lines(file.path, file.text)}
        own = signature(lines)
        yield FileSignature(repository.id, file.path, len(lines), own.tobytes())
        everything |= lines
        smallest = np.minimum(smallest, own)
    yield FileSignature(repository.id, "", len(everything), smallest.tobytes())


def find_duplicates(found: Iterable[FileSignature], order: Sequence[str]) -> Duplicates:
    """Copies among the repositories; of several the first in ``order`` is the original."""
    rank = {name: place for place, name in enumerate(order)}
    ordered = sorted((one for one in found if one.repository in rank), key=lambda one: (rank[one.repository], one.path))
    whole = {one.repository: one for one in ordered if not one.path}
    files = [one for one in ordered if one.path and one.lines >= SHARED_LINES]
    copied = _copied(files, rank)
    kept = _Originals(len(order))
    duplicates = Duplicates(kept.names)
    for name in order:
        original = kept.like(whole[name]) or kept.holding(whole[name], copied[name])
        if original is not None:
            duplicates.copies[name] = original
        else:
            kept.add(whole[name])
    # Again without the copies: what a file is most like may have gone with one of them.
    remaining = [one for one in files if one.repository not in duplicates.copies]
    for name, pairs in _copied(remaining, rank).items():
        duplicates.files[name] = {one.path: f"{other.repository}/{other.path}" for one, other in pairs}
    return duplicates


def _copied(
    files: Sequence[FileSignature], rank: Mapping[str, int]
) -> dict[str, list[tuple[FileSignature, FileSignature]]]:
    """By repository its files that are copies of another one's before it, each with the first of these."""
    owners = np.array([rank[one.repository] for one in files], dtype=np.intp)
    copied: dict[str, list[tuple[FileSignature, FileSignature]]] = defaultdict(list)
    for one, place in zip(files, first_alike(_matrix(files), owners, SIMILAR_FILES), strict=True):
        if place >= 0:
            copied[one.repository].append((one, files[place]))
    return copied


class _Originals:
    """Repositories that are no copies of each other, in the order in which they were added."""

    def __init__(self, most: int) -> None:
        self.names: list[str] = []
        self._sizes = np.zeros(most)
        self._signatures = np.zeros((most, HASHES), dtype=np.uint32)
        self._places: dict[str, int] = {}

    def add(self, whole: FileSignature) -> None:
        """Keep a repository."""
        place = self._places[whole.repository] = len(self.names)
        self.names.append(whole.repository)
        self._sizes[place], self._signatures[place] = whole.lines, _matrix([whole])[0]

    def like(self, whole: FileSignature) -> str | None:
        """The one here that shares most lines with a repository, if it is enough to make one a copy of the other."""
        count = len(self.names)
        alike = similarity(self._signatures[:count], _matrix([whole]))
        sizes = self._sizes[:count]
        shared = alike / (1 + alike) * (sizes + whole.lines)  # |A and B| from |A and B| / |A or B|
        enough = (alike * HASHES >= _LEAST_EQUAL) & (shared >= SHARED_SHARE * np.minimum(sizes, whole.lines))
        return self.names[int(np.argmax(np.where(enough, alike, -1)))] if whole.lines and enough.any() else None

    def holding(self, whole: FileSignature, pairs: Sequence[tuple[FileSignature, FileSignature]]) -> str | None:
        """The one here whose files are copied most, if those are enough; it may be much larger, or much smaller."""
        lines: Counter[str] = Counter()
        for one, other in pairs:
            lines[other.repository] += one.lines
        for name, count in lines.most_common():
            place = self._places.get(name)
            if place is not None and count >= SHARED_SHARE * min(whole.lines, float(self._sizes[place])):
                return name
        return None


def _matrix(found: Sequence[FileSignature]) -> NDArray[np.uint32]:
    joined = b"".join(one.minhash for one in found)
    return np.frombuffer(joined, dtype=np.uint32).reshape(len(found), HASHES)
