"""A blank's own lines as they would stand in another file: what its cross-file context looks like where it helps most.

In a real repository few blanks have such a relative, too few for a small model to learn within its tokens what to do
with one: look in the context, whose lines are comments, for those above the blank, and go on as they do. So the blank's
surroundings are written into its retrieved context, with names changed, lines lost, and other lines around them.
"""

from __future__ import annotations

import keyword
import random
import re

from repoformer.code.languages import LANGUAGES
from repoformer.prompt.cross_file import ORIGIN, as_comments

COMMENT = LANGUAGES["python"].comment
"""The corpus is Python."""

_NAME = re.compile(r"\b[A-Za-z_]\w{2,}\b")
_MOST_ABOVE, _MOST_BELOW, _MOST_BEFORE = 8, 6, 4
_UNCHANGED = 0.4
_RENAMED = 3
_LOST_LINE = 0.3


def with_twin(context: str, left: str, target: str, right: str, rng: random.Random) -> str:
    """The cross-file context with a relative of the blank among the lines of its first chunk, as comments.

    ``context`` is what ``cross_file_text`` makes, perhaps cut at its end.
    """
    lines = context.split("\n")
    body = next((at for at, line in enumerate(lines) if line.endswith(ORIGIN)), len(lines)) + 2
    at = min(len(lines), body + rng.choice([0, 0, rng.randint(1, _MOST_BEFORE)]))
    twin = as_comments("\n".join(relative(left, target, right, rng)), COMMENT)
    return "\n".join([*lines[:at], twin, *lines[at:]])


def relative(left: str, target: str, right: str, rng: random.Random) -> list[str]:
    """The blank's lines with some of those around them, often with other names, now and then with a line less."""
    lines = with_neighbours(left, target, right, rng.randint(1, _MOST_ABOVE), rng.randint(0, _MOST_BELOW))
    if rng.random() < _UNCHANGED:
        return lines
    if len(lines) > 2 and rng.random() < _LOST_LINE:
        del lines[rng.randrange(len(lines))]
    return renamed("\n".join(lines), _names(f"{left}{right}"), rng).split("\n")


def with_neighbours(left: str, target: str, right: str, above: int, below: int) -> list[str]:
    """The lines of the target, with at most so many of those above and below it."""
    *above_lines, start = left.split("\n")[-above - 1 :]
    end, *below_lines = right.split("\n")[: below + 1]
    return [*above_lines, *f"{start}{target}{end}".split("\n"), *below_lines]


def renamed(text: str, other_names: list[str], rng: random.Random) -> str:
    """The text with up to three of its names replaced throughout, each by one of ``other_names``."""
    own = _names(text)
    changed = rng.sample(own, min(len(own), rng.randint(1, _RENAMED)))
    new_names = {name: rng.choice(other_names) for name in changed} if other_names else {}
    return _NAME.sub(lambda match: new_names.get(match[0], match[0]), text)


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(_NAME.findall(text)) if not keyword.iskeyword(name)]
