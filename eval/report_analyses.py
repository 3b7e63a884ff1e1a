"""The report's sections on who selects, where it pays and how a benchmark's authors would count; from the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repoformer.report.page import Cell, Html, grouped_table, note, paragraph, side_by_side, table
from repoformer.report.plots import line_plot, scatter

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
    groups: dict[str, list[list[Cell]]] = {}
    for number in summary["published"]["numbers"]:
        name = number["model"] if number["model"] in evaluated else f"{number['model']} (not evaluated here)"
        ours, value = number["ours"], number["value"]
        compared = [None, None] if ours is None else [f"{ours:.2f}", f"{ours - value:+.2f}".replace("-", "\u2212")]
        groups.setdefault(name, []).append([number["policy"], number["metric"], f"{value:.2f}", *compared])
    yield grouped_table(("policy", "metric", "published", "ours", "difference"), groups)
    yield paragraph(
        f"In percent, means over instances; published in {summary['published']['in']}. "
        f"Ours: {summary['data']['blanks']} of {summary['data']['available']} blanks. A number of another model, on "
        "part of the benchmark or with other contexts and limits does not reproduce the published one. "
        "latency_saved: of the seconds of always retrieving; tests_helped and the like count functions."
    )


def signals(model: Json) -> list[Html]:
    """Accuracy against retrieval and against seconds, one curve per signal, and how well each ranks."""
    found: Json = model["signals"]
    rows = [[name, one["auroc"]["value"], one["average_precision"]["value"]] for name, one in found.items()]
    accuracy = line_plot(
        {name: [(point["share_retrieved"], point["es"]) for point in one["sweep"]] for name, one in found.items()},
        "share of blanks that take context",
        "edit similarity",
        title="Accuracy against retrieval, by signal",
        x_range=(0.0, 1.0),
    )
    ranked = table(("signal", "AUROC", "average precision"), rows)
    if not model["seconds"]["n"]:
        return [accuracy, ranked, paragraph(_HOW_TO_READ_SIGNALS)]
    latency = line_plot(
        {name: [(point["seconds"], point["es"]) for point in one["sweep"]] for name, one in found.items()},
        "seconds per completion",
        "edit similarity",
        title="Accuracy against latency, by signal",
    )
    return [side_by_side(accuracy, latency), ranked, paragraph(_HOW_TO_READ_SIGNALS)]


def asked(model: Json) -> list[Html]:
    """What context does where a policy asks for it and where it does not (figure 6)."""
    rows: list[list[Cell]] = [
        [policy, half.replace("_", " "), effect["n"], *_shares(effect), effect["mean_gain"]]
        for policy, halves in model["asked"].items()
        for half, effect in halves.items()
    ]
    headers = ("policy", "blanks", "n", "helped", "unchanged", "harmed", "mean ES gain")
    return [table(headers, rows, caption="Gains where it asks and where it does not"), paragraph(_HOW_TO_READ_ASKED)]


def repositories(model: Json) -> list[Html]:
    """Gains per repository, against how much each repeats itself."""
    found: Json = model["by_repository"]
    rows: list[list[Cell]] = [
        [one["id"], one["n"], one["es_without"], one["es_with"], one["mean_gain"], *_shares(one), one["duplication"]]
        for one in found["repositories"]
    ]
    headers = (
        *("repository", "n", "ES never", "ES always", "mean ES gain", "helped", "unchanged", "harmed"),
        "duplication",
    )
    content = [table(headers, rows, caption=model["name"]), paragraph(_HOW_TO_READ_REPOSITORIES)]
    known = [one for one in found["repositories"] if one["duplication"] is not None]
    correlation = found["rank_correlation"]
    if correlation["value"] is None:
        return [*content, note(f"No rank correlation: {correlation['reason']}.")]
    points = [(one["duplication"], one["mean_gain"]) for one in known]
    figure = scatter({"repositories": points}, "duplication", "mean ES gain", title="Duplication against benefit")
    return [*content, figure, paragraph(f"Rank correlation: {correlation['value']:.3f}.")]


def _shares(effect: Json) -> list[Cell]:
    return [
        None if effect[name] is None else f"{100 * effect[name]:.1f} %" for name in ("helped", "unchanged", "harmed")
    ]
