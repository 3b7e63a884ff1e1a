"""The report's sections on who selects, where it pays and how a benchmark's authors would count; from the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from repoformer.report.page import Cell, Html, grouped_table, heading, note, paragraph, side_by_side, stacked, table
from repoformer.report.plots import line_plot, scatter

from .headline import signed

Json = Mapping[str, Any]

_HOW_TO_READ_SIGNALS = (
    "Every signal ranks the same blanks, so that each threshold of each is replayed from the same completions. "
    "P(<cc>) is read before anything is retrieved or written. Trial retrieval (appendix C.1) retrieves for every blank "
    "and looks at the best hit's similarity; trial generation (C.2) first completes every blank without context and "
    "looks at its tokens; the estimator does so too, with a regression from 13 figures on these tokens to edit "
    "similarity, fitted on other repositories than those it is asked about. Seconds hold those trials."
)
_HOW_TO_READ_ASKED = (
    "A policy that selects has its gains where it asks; where it does not ask, context would have gained little. "
    "Both completions of every blank exist, so both halves are known."
)
_HOW_TO_READ_REPOSITORIES = (
    "Duplication: share of the repository's lines (of ten characters and more) that stand in it more than once. "
    "Rank correlation: Spearman's, over repositories, between duplication and mean gain."
)


def published(summary: Json) -> list[Html]:
    """A publication's numbers beside ours, and where its figures are to be seen."""
    found = summary["published"]
    figures = (
        paragraph(f"{each['figure'].capitalize()} there: {each['says']} Here: section {each['section']}.")
        for each in found["figures"]
    )
    return [*(_numbers(summary) if found["numbers"] else ()), *figures]


def _numbers(summary: Json) -> Iterator[Html]:
    evaluated = {model["name"] for model in summary["models"]}
    metrics = list(dict.fromkeys(number["metric"] for number in summary["published"]["numbers"]))
    parts: dict[str, dict[str, dict[str, Cell]]] = {}
    for number in summary["published"]["numbers"]:
        name = number["model"] if number["model"] in evaluated else f"{number['model']} (not evaluated here)"
        parts.setdefault(name, {}).setdefault(number["policy"], {})[number["metric"]] = _beside(number)
    rows = {
        name: [[policy, *(values.get(metric) for metric in metrics)] for policy, values in policies.items()]
        for name, policies in parts.items()
    }
    yield grouped_table(("policy", *metrics), rows)
    yield paragraph(
        f"As printed in {summary['published']['in']}; under them ours, the difference, and the n blanks that ours is "
        f"over, of {summary['data']['available']} that there are: means over instances, in percent. A number of "
        "another model, on part of the benchmark or with other contexts and limits does not reproduce the published "
        "one. latency_saved: of the seconds of always retrieving, over the blanks that were measured; "
        "abstention_precision: over those left without context; unit_tests: over the functions that were judged; "
        "tests_helped and the like count functions, where all were judged."
    )


def _beside(number: Json) -> Cell:
    ours, value = number["ours"], number["value"]
    if ours is None:
        return f"{value:.2f}"
    below = f"ours {ours:.2f} ({ours - value:+.2f}), n {number['n']}"
    return stacked(f"{value:.2f}", below.replace("-", "\u2212"))


def signals(models: Sequence[Json]) -> list[Html]:
    """Accuracy against retrieval and against seconds, one curve per signal, and how well each ranks; by model."""
    return [paragraph(_HOW_TO_READ_SIGNALS), *(part for model in models for part in _signals(model))]


def _signals(model: Json) -> list[Html]:
    found: Json = model["signals"]
    accuracy = line_plot(
        {name: [(point["share_with_context"], point["es"]) for point in one["sweep"]] for name, one in found.items()},
        "share of blanks that take context",
        "edit similarity",
        title="Accuracy against retrieval, by signal",
        x_range=(0.0, 1.0),
    )
    rows = [[name, one["auroc"]["value"], one["average_precision"]["value"]] for name, one in found.items()]
    ranked = table(("signal", "AUROC", "average precision"), rows)
    timed = [_latency(found)] if model["seconds"]["n"] else []
    return [heading(model["name"]), side_by_side(accuracy, *timed), ranked]


def _latency(found: Json) -> Html:
    return line_plot(
        {name: [(point["seconds"], point["es"]) for point in one["sweep"]] for name, one in found.items()},
        "seconds per completion",
        "edit similarity",
        title="Accuracy against latency, by signal",
    )


def asked(deciding: Sequence[Json]) -> list[Html]:
    """What context does where a policy asks for it and where it does not (figure 6)."""
    parts: dict[str, list[list[Cell]]] = {
        f"{model['name']}, {policy}": [
            [half.replace("_", " "), effect["n"], *_shares(effect), effect["mean_gain"]]
            for half, effect in halves.items()
        ]
        for model in deciding
        for policy, halves in model["asked"].items()
    }
    headers = ("blanks", "n", "helped", "unchanged", "harmed", "mean ES gain")
    caption = "Where a policy asks for context and where it does not"
    return [grouped_table(headers, parts, caption=caption), paragraph(_HOW_TO_READ_ASKED)] if parts else []


def repositories(models: Sequence[Json]) -> list[Html]:
    """Every model's gain in each repository, against how much that repeats itself."""
    by_model = [{one["id"]: one for one in model["by_repository"]["repositories"]} for model in models]
    rows: list[list[Cell]] = [
        [id, first["n"], first["duplication"], *(_gain(found[id]) for found in by_model)]
        for id, first in by_model[0].items()
    ]
    headers = ("repository", "n", "duplication", *(model["name"] for model in models))
    caption = "What context gains in mean ES, over ES never \u2192 always"
    plots = [_duplication(model) for model in models]
    return [table(headers, rows, caption=caption), side_by_side(*plots), paragraph(_HOW_TO_READ_REPOSITORIES)]


def _gain(one: Json) -> Cell:
    return stacked(signed(one["mean_gain"]), f"{one['es_without']:.3f} \u2192 {one['es_with']:.3f}")


def _duplication(model: Json) -> Html:
    correlation = model["by_repository"]["rank_correlation"]
    if correlation["value"] is None:
        return note(f"{model['name']}: no rank correlation: {correlation['reason']}.")
    known = [one for one in model["by_repository"]["repositories"] if one["duplication"] is not None]
    title = f"{model['name']}: rank correlation {signed(correlation['value'])}"
    points = [(one["duplication"], one["mean_gain"]) for one in known]
    return scatter({"repositories": points}, "duplication", "mean ES gain", title=title)


def _shares(effect: Json) -> list[Cell]:
    return [
        None if effect[name] is None else f"{100 * effect[name]:.1f} %" for name in ("helped", "unchanged", "harmed")
    ]
