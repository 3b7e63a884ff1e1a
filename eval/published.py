"""A publication's numbers beside ours: the recipe says what was published, the summary what this run found.

Beside the metrics of ``metrics/catalogue.py``, a recipe may name these:

    retrieved              share of blanks for which the policy takes context, in percent
    latency_saved          what it saves of the seconds of always retrieving, in percent; the paper's SU has no formula,
                           this reading fits its numbers best
    abstention_precision   share of the blanks left without context that context would not have helped, in percent
    unit_tests             share of functions whose tests pass, in percent
    tests_helped, tests_unchanged, tests_harmed   functions whose verdict context changes (table 1)

Each of ours stands with the ``n`` blanks that it is over: all of a model's, those that were measured, those that were
left without context, those whose tests were run. A count of functions is only told where all were judged, because
over fewer it is another quantity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .outcomes import SCOPE_ALL
from .recipe import EvalRecipe

COUNTS = ("tests_helped", "tests_unchanged", "tests_harmed")
"""Numbers of functions; all others are in percent."""
MEASURES = ("retrieved", "latency_saved", "abstention_precision", "unit_tests", *COUNTS)

Key = tuple[str, str, str]
"""Model, policy, metric."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What this run found, and over how many blanks."""

    ours: float
    n: int


def published(recipe: EvalRecipe, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What stands under ``published`` in the summary: first the numbers of models that were evaluated here."""
    ours = dict(_ours(summary))
    missing = {"ours": None, "n": None}
    evaluated = {model["name"] for model in summary["models"]}
    numbers = [
        {"model": model, "policy": policy, "metric": metric, "value": value}
        | (asdict(ours[key]) if (key := (model, policy, metric)) in ours else missing)
        for model in sorted(recipe.published, key=lambda name: name not in evaluated)
        for policy, values in recipe.published[model].items()
        for metric, value in values.items()
    ]
    return {
        "in": recipe.published_in,
        "numbers": numbers,
        "figures": [figure.model_dump() for figure in recipe.figures],
    }


def _ours(summary: Mapping[str, Any]) -> Iterator[tuple[Key, Ours]]:
    for row in summary["metrics"]:
        yield (row["model"], row["policy"], row["metric"]), Ours(100 * row["instances_mean"], row["n"])
    rows = {(row["model"], row["policy"]): row for row in summary["rows"] if row["scope"] == SCOPE_ALL}
    for (model, policy), row in rows.items():
        yield (model, policy, "retrieved"), Ours(100 * row["share_retrieved"], row["n"])
        always = rows[model, "always"]["seconds"]
        if always:
            saved = 100 * (1 - row["seconds"] / always)
            yield (model, policy, "latency_saved"), Ours(saved, row["seconds_n"])
    for model in summary["models"]:
        for policy, taken in (model["decisions"] or {SCOPE_ALL: {"policies": {}}})[SCOPE_ALL]["policies"].items():
            precision = taken["abstention_precision"]["value"]
            if precision is not None:
                yield (model["name"], policy, "abstention_precision"), Ours(100 * precision, taken["abstained"])
    if summary["unit_tests"]:
        yield from _ours_by_tests(summary["unit_tests"], summary["data"]["available"])


def _ours_by_tests(unit_tests: Mapping[str, Any], functions: int) -> Iterator[tuple[Key, Ours]]:
    for name, model in unit_tests["models"].items():
        judged = model["blanks"]
        for policy, found in model["policies"].items():
            yield (name, policy, "unit_tests"), Ours(100 * found["pass_rate"], judged)
        if judged == functions and not unit_tests["partial"]:
            for change in ("helped", "unchanged", "harmed"):
                yield (name, "always", f"tests_{change}"), Ours(model[change], judged)
