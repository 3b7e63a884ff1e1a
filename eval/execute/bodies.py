"""Which function bodies there are to try, and why some are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repoformer.code.records import Blank, Prediction
from repoformer.metrics.completion import postprocess

from .execution import body_hash

RAISES = 'raise AssertionError("this body was taken out")'
"""The body that the tests have to notice."""


@dataclass(frozen=True)
class Hole:
    """The place of a blank in its repository's file."""

    blank: Blank
    before: str
    after: str

    @property
    def without_body(self) -> str:
        """A body that raises, indented as the true one."""
        return f"{_indentation(self.blank.target)}{RAISES}"

    def filled(self, body: str) -> dict[str, str]:
        """The file with ``body`` in the hole, by its path."""
        return {self.blank.path: self.before + body + self.after}


@dataclass(frozen=True)
class Bodies:
    """Everything to try, each body of a hole once however many models wrote it."""

    holes: list[Hole]
    texts: dict[str, dict[str, str]]
    """Of each blank, by id: bodies by their hash."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many blanks are not tried, by reason."""


def arms(prediction: Prediction) -> tuple[str, str]:
    """The bodies that a model wrote without and with context."""
    blank = prediction.blank
    return postprocess(blank, prediction.text_without), postprocess(blank, prediction.text_with)


def bodies_of(predictions: Iterable[Sequence[Prediction]], sources: dict[str, Path], limit: int = 0) -> Bodies:
    """What the models' ``predictions`` put into the holes of the repositories whose folders ``sources`` names."""
    blanks = {prediction.blank.id: prediction.blank for model in predictions for prediction in model}
    left_out: Counter[str] = Counter()
    holes = []
    for blank in sorted(blanks.values(), key=lambda blank: blank.id):
        hole = _hole(blank, sources)
        if isinstance(hole, str):
            left_out[hole] += 1
        else:
            holes.append(hole)
    if limit:
        left_out["beyond the limit"] += max(0, len(holes) - limit)
        holes = holes[:limit]
    texts: dict[str, dict[str, str]] = {hole.blank.id: {} for hole in holes}
    for model in predictions:
        for prediction in model:
            if prediction.blank.id in texts:
                texts[prediction.blank.id] |= {body_hash(body): body for body in arms(prediction)}
    return Bodies(holes, texts, +left_out)


def _hole(blank: Blank, sources: dict[str, Path]) -> Hole | str:
    """The blank's place, or the reason why it has none."""
    if blank.kind != "function":
        return "not a function"
    if blank.repository not in sources:
        return "its repository is not described in the recipe"
    try:
        text = (sources[blank.repository] / blank.path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return "its file is not in the repository's source"
    lines = text.split("\n")
    if "\n".join(lines[blank.start : blank.end]) != blank.target:
        return "the source has other lines there: another revision?"
    before = "".join(f"{line}\n" for line in lines[: blank.start])
    return Hole(blank, before, "".join(f"\n{line}" for line in lines[blank.end :]))


def _indentation(text: str) -> str:
    line = next((line for line in text.split("\n") if line.strip()), "")
    return line[: len(line) - len(line.lstrip())]
