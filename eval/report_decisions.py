"""The report's sections on one model's own decisions: what every threshold gives, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from repoformer.report.page import Cell, Html, grouped_table, heading, note, paragraph, side_by_side
from repoformer.report.plots import histogram, line_plot, reliability

from .outcomes import SCOPE_ALL
from .report_tables import distinct, percent, scope_name

Json = Mapping[str, Any]

_DECISION_HEADERS = (
    *("blanks", "policy", "n", "context helps", "AUROC", "average precision", "calibration error"),
    *("abstained", "abstention precision", "F1"),
)
_HOW_TO_READ_DECISIONS = (
    "A blank is positive where context raises this model's own edit similarity. Guessing reaches an AUROC of 0.5 and "
    "an average precision of the share that context helps; abstaining at random is right for the share that it does "
    "not help."
)
_HOW_TO_READ_CURVES = (
    "Each threshold on P(<cc>) is replayed from stored completions; the curve runs from always to never. Above the "
    "straight line, the decisions are better than a coin."
)


def curves(summary: Json, deciding: Sequence[Json]) -> list[Html]:
    """Edit similarity of every threshold, against retrievals and against seconds."""
    return [paragraph(_HOW_TO_READ_CURVES), *(part for model in deciding for part in _curves(summary, model))]


def _curves(summary: Json, model: Json) -> list[Html]:
    rows = [row for row in summary["rows"] if row["model"] == model["name"] and row["scope"] == SCOPE_ALL]
    points = model["decisions"][SCOPE_ALL]["sweep"]
    never, always = (next(row for row in rows if row["policy"] == policy) for policy in ("never", "always"))
    marked = [row for row in rows if row["policy"] in ("greedy", "threshold", "oracle")]
    ends = [(row["share_retrieved"], row["es"]) for row in (never, always)]
    accuracy = line_plot(
        {"any threshold": [(point["share_with_context"], point["es"]) for point in points], "random": ends},
        "share of blanks that retrieve",
        "edit similarity",
        title="Accuracy against retrieval",
        marks={row["policy"]: [(row["share_retrieved"], row["es"])] for row in marked},
        x_range=(0.0, 1.0),
    )
    name = heading(model["name"])
    if never["seconds"] is None:
        return [name, accuracy, note("Seconds were not measured, so there is no latency curve.")]
    latency = line_plot(
        {"any threshold": [(point["seconds"], point["es"]) for point in points]},
        "seconds per completion",
        "edit similarity",
        title="Accuracy against latency",
        marks={row["policy"]: [(row["seconds"], row["es"])] for row in (never, always, *marked)},
    )
    seconds_n = paragraph(f"Seconds are means over {never['seconds_n']} measured blanks, edit similarity over all.")
    return [name, side_by_side(accuracy, latency), seconds_n]


def decisions(deciding: Sequence[Json]) -> list[Html]:
    """How well P(<cc>) ranks, abstains and is calibrated."""
    parts = {model["name"]: list(_qualities(model)) for model in deciding}
    table = grouped_table(_DECISION_HEADERS, parts)
    return [table, paragraph(_HOW_TO_READ_DECISIONS), *(part for model in deciding for part in _calibration(model))]


def _qualities(model: Json) -> Iterator[list[Cell]]:
    for scope, quality in distinct(model["decisions"]).items():
        for policy, taken in quality["policies"].items():
            yield [
                *(scope_name(scope), policy, quality["n"], percent(quality["share_positive"])),
                *(quality[figure]["value"] for figure in ("auroc", "average_precision", "calibration_error")),
                *(taken["abstained"], taken["abstention_precision"]["value"], taken["f1"]["value"]),
            ]


def _calibration(model: Json) -> list[Html]:
    overall = model["decisions"][SCOPE_ALL]
    calibration = reliability(
        [(each["mean_p"], each["helped"], each["count"]) for each in overall["calibration"]],
        "P(<cc>)",
        "share of blanks that context helps",
        title="Calibration",
    )
    spread = histogram(
        {"context helps": overall["p_retrieve"]["helped"], "it does not": overall["p_retrieve"]["not_helped"]},
        "P(<cc>)",
        title="What the model says",
        x_range=(0.0, 1.0),
    )
    return [heading(model["name"]), paragraph(f"Thresholds: {_thresholds(model)}."), side_by_side(calibration, spread)]


def _thresholds(model: Json) -> str:
    values = ", ".join(f"{kind} {value:.4g}" for kind, value in model["thresholds"].items())
    return f"{values} ({model['thresholds_from'] or 'origin unknown'})"
