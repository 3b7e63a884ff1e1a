"""Greedy decoding with guesses of what comes next, looked up in what was read: code repeats itself, and so do loops.

The model checks each guess, so guesses change how long decoding takes and not what is written: a forward pass that
confirms two of them replaces three, each of which would read all weights and the whole cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from repoformer.inference.cached_pass import CachedPass, Watch, in_place
from repoformer.inference.stopping import Stop

GUESSED = 96
"""Tokens that are guessed in one step for all rows together: where few rows go on, more for each cost little ..."""
FEWEST, MOST = 2, 12
"""... but so many for each."""

_KNOWN_BY = 2
"""So many tokens have to be the same for what followed them to be guessed again."""


class Lookup:
    """The tokens of one prompt and its completion, by the pairs of tokens that stand in it."""

    def __init__(self, prompt: Sequence[int]) -> None:
        self._tokens: list[int] = []
        self._follows: dict[tuple[int, ...], int] = {}
        """Where the token stands that followed a pair last time; the pair at the end has no such token yet."""
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """The next tokens, of the prompt or of the completion."""
        for token in tokens:
            if len(self._tokens) >= _KNOWN_BY:
                self._follows[tuple(self._tokens[-_KNOWN_BY:])] = len(self._tokens)
            self._tokens.append(token)

    def guess(self, most: int) -> list[int]:
        """What followed the last tokens the time before, at most so many; what repeats itself goes on doing so."""
        place = self._follows.get(tuple(self._tokens[-_KNOWN_BY:]))
        if place is None:
            return []
        period = len(self._tokens) - place
        guessed = self._tokens[place : place + most]
        while len(guessed) < most:
            guessed.append(guessed[-period])
        return guessed


def decode_guessing(
    read: CachedPass, stops: Sequence[Stop], prompts: Sequence[Sequence[int]], watch: Watch | None = None
) -> None:
    """What ``CachedPass.decode`` does, in fewer forward passes; ``prompts`` are the tokens that each row has read."""
    read.limit(stops)
    lookups = [Lookup(prompt) for prompt in prompts]
    running = list(range(len(stops)))
    guessed: list[list[int]] = [[] for _ in running]
    logits = read.next_logits[:, None]
    while running:
        # Each row has read what was guessed: its logits are the last of [rows, columns], from the first guess on.
        best = logits.argmax(dim=-1).tolist()
        written = [
            _take(stops[row], tokens[-len(guess) - 1 :], guess)
            for row, tokens, guess in zip(running, best, guessed, strict=True)
        ]
        if watch is not None:
            _show(watch, running, written, guessed, logits)
        read.take_back([max(len(guess) - len(one.tokens) + 1, 0) for one, guess in zip(written, guessed, strict=True)])
        goes_on = [place for place, one in enumerate(written) if one.goes_on]
        if len(goes_on) < len(running):
            goes_on = in_place(goes_on)
            read.keep(goes_on)
        running = [running[place] for place in goes_on]
        for row, place in zip(running, goes_on, strict=True):
            lookups[row].extend(written[place].tokens)
        if running:
            guessed = [lookups[row].guess(_most(stops[row], len(running))) for row in running]
            rows = [[stops[row].tokens[-1], *guess] for row, guess in zip(running, guessed, strict=True)]
            logits = read.append(rows, keep=max(map(len, rows)))


@dataclass(frozen=True, slots=True)
class _Written:
    """Tokens of a row from one forward pass: those guessed that were confirmed, and the one behind them."""

    tokens: list[int]
    goes_on: bool


def _take(stop: Stop, best: Sequence[int], guess: Sequence[int]) -> _Written:
    """The best token from each place on, as long as the guesses that the later ones go on from are those tokens."""
    for number, token in enumerate(best):
        if not stop.take(token):
            return _Written(list(best[: number + 1]), False)
        if number == len(guess) or token != guess[number]:
            break
    return _Written(list(best[: number + 1]), True)


def _most(stop: Stop, rows: int) -> int:
    """How many tokens to guess for a row: none behind its limit."""
    return min(max(GUESSED // rows, FEWEST), MOST, stop.limit - len(stop.tokens))


def _show(
    watch: Watch,
    running: Sequence[int],
    written: Sequence[_Written],
    guessed: Sequence[Sequence[int]],
    logits: torch.Tensor,
) -> None:
    for number in range(max(len(one.tokens) for one in written)):
        places = [place for place, one in enumerate(written) if number < len(one.tokens)]
        columns = [logits.shape[1] - 1 - len(guessed[place]) + number for place in places]
        watch([running[place] for place in places], logits[places, columns])
