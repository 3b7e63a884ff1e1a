"""``OUT/data-card.json``: what the data are made of, what was left out and why. Holds no times, so runs compare."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet

from repoformer.code.storage import write_json

from .done import all_done
from .recipe import DataRecipe
from .split import read_split
from .stage import shards_of

CARD = "data-card.json"
_STAGES = ("collect", "sample", "retrieve", "label", "assemble")


def write_card(recipe: DataRecipe) -> None:
    """Count what the stages wrote."""
    split = read_split(recipe)
    sides = split.sides
    done = {stage: all_done(stage, recipe) for stage in _STAGES}
    repositories = _rows(recipe, "collect", "id", "revision", "licence")
    card = {
        "recipe": recipe.model_dump(mode="json", exclude={"out"}),
        "repositories": [
            {**row, "side": sides.get(row["id"], "not drawn")}
            for row in sorted(repositories, key=lambda row: row["id"])
        ],
        "licences": _counted(row["licence"] for row in repositories if row["id"] in sides),
        "refused": dict(sorted(refusal for each in done["collect"] for refusal in each.refused)),
        "copies": split.copies,
        "blanks": _blanks(recipe, sides),
        "labels": _labels(recipe, sides),
        "rows": {stage: sum(each.rows for each in done[stage]) for stage in _STAGES},
        "dropped": {stage: _summed(each.dropped for each in done[stage]) for stage in _STAGES},
        "counts": {stage: _summed(each.counts for each in done[stage]) for stage in _STAGES},
    }
    write_json(Path(recipe.out, CARD), card)


def _blanks(recipe: DataRecipe, sides: dict[str, str]) -> dict[str, dict[str, int]]:
    """Number of blanks by side and kind."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _rows(recipe, "sample", "repository", "kind"):
        counts[sides[row["repository"]]][row["kind"]] += 1
    return {side: dict(sorted(kinds.items())) for side, kinds in sorted(counts.items())}


def _labels(recipe: DataRecipe, sides: dict[str, str]) -> dict[str, dict[str, dict[str, float]]]:
    """By side and kind: how many labels, the share of positive ones, and the mean edit similarity of both arms."""
    groups: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in _rows(recipe, "label", "blank.repository", "blank.kind", "es_without", "es_with"):
        pair = row["es_without"], row["es_with"]
        groups[sides[row["blank"]["repository"]]][row["blank"]["kind"]].append(pair)
    return {
        side: {kind: _label_summary(pairs, recipe.label.threshold) for kind, pairs in sorted(kinds.items())}
        for side, kinds in sorted(groups.items())
    }


def _label_summary(pairs: list[tuple[float, float]], threshold: float) -> dict[str, float]:
    return {
        "blanks": len(pairs),
        "positive_rate": fmean(with_context - without > threshold for without, with_context in pairs),
        "es_without": fmean(without for without, _ in pairs),
        "es_with": fmean(with_context for _, with_context in pairs),
    }


def _rows(recipe: DataRecipe, stage: str, *columns: str) -> list[dict[str, Any]]:
    """These columns only of all records of a stage: the texts stay on disk."""
    parts = (pyarrow.parquet.ParquetFile(shard.part(stage)) for shard in shards_of(recipe))
    tables = [part.read(columns=list(columns)) for part in parts]
    return [row for table in tables for row in table.to_pylist()]


def _summed(parts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(sorted(total.items()))


def _counted(values: Any) -> dict[str, int]:
    return dict(Counter(values).most_common())
