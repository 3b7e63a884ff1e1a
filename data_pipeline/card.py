"""What the data are made of, what was left out and why.

OUT/data-card.json    for programs; holds no times, so runs compare
OUT/data-card.html    for people, with the change of edit similarity after retrieval (the paper's figure 10)
OUT/README.md         the data set's card as hubs show it; with it ``datasets.load_dataset(OUT)`` knows the splits

``OUT/assemble/examples.json``, beside the examples, says whose token ids they hold and which budgets they were cut to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pyarrow.compute
import pyarrow.parquet

from repoformer.code.storage import write_json, write_text
from repoformer.models.example_encoding import ExampleEncoding, save_encoding
from repoformer.report.markdown import write_page

from .assemble import SIDES
from .card_page import card_page, card_text
from .done import all_done
from .generators import tokenizer_revision
from .recipe import DataRecipe
from .split import read_split
from .stage import shards_of

CARD = "data-card.json"
_STAGES = ("collect", "sample", "retrieve", "label", "assemble")
_SEGMENTS = ("left", "right", "cross_file", "target")


def write_card(recipe: DataRecipe) -> None:
    """Count what the stages wrote; the JSON comes last and says that all is there."""
    labels = _labels(recipe, read_split(recipe).sides)
    card = _card(recipe, labels)
    out = Path(recipe.out)
    save_encoding(out / "assemble", ExampleEncoding(preset=recipe.preset, tokenizer=tokenizer_revision(recipe)))
    gains = {kind: [pair[1] - pair[0] for pair in labels.pairs(kind=kind)] for kind in labels.values("kind")}
    write_page(out / "data-card.html", card_page(card, gains))
    write_text(out / "README.md", card_text(card))
    write_json(out / CARD, card)


def _card(recipe: DataRecipe, labels: _Labels) -> dict[str, Any]:
    split = read_split(recipe)
    sides = split.sides
    done = {stage: all_done(stage, recipe) for stage in _STAGES}
    repositories = sorted(_rows(recipe, "collect", "id", "revision", "licence"), key=lambda row: str(row["id"]))
    threshold = recipe.label.threshold
    return {
        "recipe": recipe.model_dump(mode="json", exclude={"out"}),
        "repositories": [{**row, "side": sides.get(row["id"], "not drawn")} for row in repositories],
        "licences": _counted(row["licence"] for row in repositories if row["id"] in sides),
        "refused": dict(sorted(refusal for each in done["collect"] for refusal in each.refused)),
        "copies": split.copies,
        "blanks": _blanks(recipe, sides),
        "labels": {
            side: {
                kind: _summary(labels.pairs(side=side, kind=kind), threshold)
                for kind in labels.values("kind", side=side)
            }
            for side in labels.values("side")
        },
        "labels_by": {
            field: {value: _summary(labels.pairs(**{field: value}), threshold) for value in labels.values(field)}
            for field in ("language", "kind", "licence")
        },
        "tokens": {side: _lengths(recipe, side) for side in SIDES},
        "rows": {stage: sum(each.rows for each in done[stage]) for stage in _STAGES},
        "dropped": {stage: _summed(each.dropped for each in done[stage]) for stage in _STAGES},
        "counts": {stage: _summed(each.counts for each in done[stage]) for stage in _STAGES},
    }


@dataclass(slots=True)
class _Labels:
    """Both edit similarities of every labelled blank, by what they are grouped by."""

    fields = ("side", "language", "kind", "licence")
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def pairs(self, **wanted: str) -> list[tuple[float, float]]:
        """(without, with) of the blanks that have these values."""
        return [pair for key, pairs in self.groups.items() if self._fits(key, wanted) for pair in pairs]

    def values(self, field: str, **wanted: str) -> list[str]:
        """The values of a field among the blanks that have these values of others, sorted."""
        place = self.fields.index(field)
        return sorted({key[place] for key in self.groups if self._fits(key, wanted)})

    def _fits(self, key: tuple[str, ...], wanted: Mapping[str, str]) -> bool:
        return all(key[self.fields.index(name)] == value for name, value in wanted.items())


def _labels(recipe: DataRecipe, sides: dict[str, str]) -> _Labels:
    labels = _Labels()
    facts = ("repository", "language", "kind", "licence")
    for row in _rows(recipe, "label", *(f"blank.{fact}" for fact in facts), "es_without", "es_with"):
        repository, *rest = (row["blank"][fact] for fact in facts)
        labels.groups[(sides[repository], *rest)].append((row["es_without"], row["es_with"]))
    return labels


def _blanks(recipe: DataRecipe, sides: dict[str, str]) -> dict[str, dict[str, int]]:
    """Number of blanks by side and kind."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _rows(recipe, "sample", "repository", "kind"):
        counts[sides[row["repository"]]][row["kind"]] += 1
    return {side: dict(sorted(kinds.items())) for side, kinds in sorted(counts.items())}


def _summary(pairs: list[tuple[float, float]], threshold: float) -> dict[str, float]:
    """How many labels, the share of positive ones, and the mean edit similarity of both arms."""
    return {
        "blanks": len(pairs),
        "positive_rate": fmean(with_context - without > threshold for without, with_context in pairs),
        "es_without": fmean(without for without, _ in pairs),
        "es_with": fmean(with_context for _, with_context in pairs),
    }


def _lengths(recipe: DataRecipe, side: str) -> dict[str, dict[str, float]]:
    """Tokens of the examples' segments: mean, median, longest."""
    lengths: dict[str, list[int]] = {segment: [] for segment in _SEGMENTS}
    for shard in shards_of(recipe):
        with pyarrow.parquet.ParquetFile(shard.part("assemble", side)) as part:
            for segment in _SEGMENTS:
                (column,) = part.read(columns=[segment]).columns
                lengths[segment] += pyarrow.compute.list_value_length(column).to_pylist()
    return {
        segment: {"mean": fmean(found), "median": median(found), "longest": max(found)}
        for segment, found in lengths.items()
        if found
    }


def _rows(recipe: DataRecipe, stage: str, *columns: str) -> Iterator[dict[str, Any]]:
    """These columns only of all records of a stage, one shard in memory at a time; the texts stay on disk."""
    for shard in shards_of(recipe):
        with pyarrow.parquet.ParquetFile(shard.part(stage)) as part:
            yield from part.read(columns=list(columns)).to_pylist()


def _summed(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(sorted(total.items()))


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())
