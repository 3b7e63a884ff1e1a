"""A corpus as token ids in one compressed file, small enough to be carried to the machine that trains on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from repoformer.code.storage import written_aside
from repoformer.errors import UserError

Ids = npt.NDArray[np.uint16]


class BlankTokens(NamedTuple):
    """A blank as token ids, every part cut to the budgets of completion time, the target whole."""

    left: Ids
    right: Ids
    cross_file: Ids
    target: Ids


@dataclass(frozen=True, slots=True)
class Ragged:
    """Sequences of different lengths in one array: sequence ``i`` is ``ids[ends[i - 1]:ends[i]]``."""

    ids: Ids
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        """Put sequences one behind the other."""
        ends = np.cumsum([len(sequence) for sequence in sequences], dtype=np.int64)
        ids = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint16)
        for sequence, end in zip(sequences, ends, strict=True):
            ids[end - len(sequence) : end] = sequence
        return cls(ids, ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, position: int) -> Ids:
        return self.ids[self.ends[position - 1] if position else 0 : self.ends[position]]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Whole files, and blanks cut out of them."""

    key: str
    """Hash of all that the ids depend on: texts, tokenizer, recipe."""
    files: Ragged
    segments: Ragged
    """Left, right, cross-file context and target of each blank, one after the other."""

    @property
    def blanks(self) -> int:
        """Number of blanks."""
        return len(self.segments) // 4

    @property
    def tokens(self) -> int:
        """Number of tokens, in files and blanks together."""
        return self.files.ids.size + self.segments.ids.size

    def blank(self, position: int) -> BlankTokens:
        """One blank's parts."""
        return BlankTokens(*(self.segments[4 * position + part] for part in range(4)))

    def save(self, path: Path) -> None:
        """Write the file, all or nothing."""
        with written_aside(path) as aside, open(aside, "wb") as handle:
            np.savez_compressed(
                handle,
                key=np.array(self.key),
                files=self.files.ids,
                file_ends=self.files.ends,
                segments=self.segments.ids,
                segment_ends=self.segments.ends,
            )


def load_tokens(path: Path) -> TokenFile:
    """Read a token file; what is broken is the user's to delete."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return TokenFile(
                str(arrays["key"]),
                Ragged(arrays["files"], arrays["file_ends"]),
                Ragged(arrays["segments"], arrays["segment_ends"]),
            )
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise UserError(f"{path}: not a token file ({error}); delete it and run again") from None
