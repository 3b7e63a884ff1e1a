"""Rows of tokens for the optimiser, put together anew at each step from the token file.

A row starts with one document of the kind that the mixture draws, ends it with the end token, and is filled with parts
of plain files. Nothing depends on a state: row ``i`` of step ``s`` is the same after every resumption.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from repoformer.models.pretraining.recipe import Phase
from repoformer.models.pretraining.token_file import BlankTokens, TokenFile
from repoformer.models.pretraining.twins import COMMENT, with_twin
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import InFile, PromptBuilder
from repoformer.prompt.cross_file import as_comments
from repoformer.seeding import generator

_BUDGETS = COMPLETION["pocket"]
_SHORTEST_FILLING = 16
_TRIES = 8


class RowMaker:
    """Draws the rows of optimiser steps."""

    def __init__(self, tokens: TokenFile, builder: PromptBuilder, seed: int) -> None:
        self._tokens = tokens
        self.builder = builder
        self._seed = seed
        self._file_weights = np.cumsum(np.diff(tokens.files.ends, prepend=0))

    def batch(self, step: int, phase: Phase) -> npt.NDArray[np.int64]:
        """Token ids [rows, length] of one step."""
        rows = [self._row(generator(self._seed, "row", step, row), phase) for row in range(phase.rows)]
        return np.array(rows, dtype=np.int64)

    def _row(self, rng: random.Random, phase: Phase) -> list[int]:
        mixture, length = phase.mixture, phase.length
        kinds = (self._plain, self._infill, self._infill_with_context, self._infill_with_twin, self._copy)
        shares = (mixture.plain, mixture.infill, mixture.infill_with_context, mixture.twins, mixture.copies)
        (document,) = rng.choices(kinds, shares)
        row = [*document(rng, length)]
        while len(row) < length:
            row += self._plain(rng, max(length - len(row), _SHORTEST_FILLING))
        return row[:length]

    # -- documents ---------------------------------------------------------------------------------------------------

    def _plain(self, rng: random.Random, length: int) -> list[int]:
        """A part of a file, drawn by the token; half of the parts start where the file does."""
        place = rng.randrange(self._tokens.files.ids.size)
        position = int(np.searchsorted(self._file_weights, place, side="right"))
        file = self._tokens.files[position]
        start = rng.randrange(max(1, len(file) - length)) if rng.random() < 0.5 else 0
        part = file[start : start + length].tolist()
        return [*part, self.builder.end_id] if start + length >= len(file) else part

    def _copy(self, rng: random.Random, length: int) -> list[int]:
        """Code, then the same code again after a gap of other code, and so on until the row is full.

        In half of the rows the first time is in comments, as cross-file context is.
        """
        before = self._as_comments if rng.random() < 0.5 else list
        row: list[int] = []
        while len(row) < length:
            span = self._plain(rng, rng.randrange(8, max(9, length // 4)))
            gap = self._plain(rng, rng.randrange(1, max(2, length // 4)))
            row += [*before(span), *gap, *span]
        return row

    def _as_comments(self, code: list[int]) -> list[int]:
        text = self.builder.tokenizer.decode([token for token in code if token != self.builder.end_id])
        return self.builder.encode(as_comments(text, COMMENT))

    def _infill(self, rng: random.Random, length: int) -> list[int]:
        return self._document(self._blank(rng, length), length, with_context=False)

    def _infill_with_context(self, rng: random.Random, length: int) -> list[int]:
        return self._document(self._blank(rng, length), length, with_context=True)

    def _infill_with_twin(self, rng: random.Random, length: int) -> list[int]:
        blank = self._blank(rng, length)
        if not len(blank.cross_file):
            return self._document(blank, length, with_context=False)
        decode, encode = self.builder.tokenizer.decode, self.builder.encode
        left, right, cross_file, target = (decode(part.tolist()) for part in blank)
        context = encode(with_twin(cross_file, left, target, right, rng))
        return self._document(blank._replace(cross_file=np.array(context, dtype=np.uint16)), length, with_context=True)

    def _blank(self, rng: random.Random, length: int) -> BlankTokens:
        """A blank whose target leaves most of the row to its context."""
        for _ in range(_TRIES):
            blank = self._tokens.blank(rng.randrange(self._tokens.blanks))
            if len(blank.target) <= length // 3:
                return blank
        return blank._replace(target=blank.target[: length // 3])

    def _document(self, blank: BlankTokens, length: int, *, with_context: bool) -> list[int]:
        """A blank in the ``base`` prompt, with its target and the end token."""
        room = length - len(blank.target) - 5
        left, right, cross_file = shares_of(room, with_context=with_context)
        context = blank.cross_file[:cross_file].tolist() if with_context else None
        in_file = InFile(
            tuple(blank.left[max(0, len(blank.left) - left) :].tolist()), tuple(blank.right[:right].tolist())
        )
        return [*self.builder.prompt(in_file, context), *blank.target.tolist(), self.builder.end_id]


def shares_of(room: int, *, with_context: bool) -> tuple[int, int, int]:
    """Budgets of left, right and cross-file context in ``room`` tokens.

    In a short row cross-file context may take half of the room, so that something of it is left behind its header;
    left and right context shrink in proportion.
    """
    cross_file = min(_BUDGETS.cross_file, room // 2) if with_context else 0
    shrink = min(1.0, (room - cross_file) / (_BUDGETS.left + _BUDGETS.right))
    return int(_BUDGETS.left * shrink), int(_BUDGETS.right * shrink), cross_file


def target_mask(ids: npt.NDArray[np.int64], middle_id: int, end_id: int) -> npt.NDArray[np.bool_]:
    """Where the target of a row's blank stands [rows, length], the end token behind it included."""
    middles = ids == middle_id
    behind = np.cumsum(middles, axis=1) - middles > 0
    ends = behind & (ids == end_id)
    is_target: npt.NDArray[np.bool_] = behind & (np.cumsum(ends, axis=1) - ends == 0)
    return is_target


def shifted_positions(rng: random.Random, rows: int, length: int, positions: int) -> Sequence[Sequence[int]]:
    """Position ids of a batch: half of the rows start at 0, where prompts start, the others anywhere that fits.

    So every learned position is trained even while the rows are short.
    """
    starts = [rng.randrange(positions - length + 1) if rng.random() < 0.5 else 0 for _ in range(rows)]
    return [range(start, start + length) for start in starts]
