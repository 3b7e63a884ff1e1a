"""The page of a comparison, from what :mod:`.compare` found alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from repoformer.report.page import (
    Cell,
    Html,
    Page,
    code,
    facts,
    grouped_table,
    heading,
    note,
    paragraph,
    side_by_side,
    table,
)

from .headline import signed
from .outcomes import SCOPE_ALL
from .report_tables import difference, distinct, scope_name

Json = Mapping[str, Any]

_HEADERS = ("metric", "A", "B", "B \u2212 A", "B better", "B worse", "blanks", "repositories")
_HOW_TO_READ = (
    "Every blank was completed by both. B \u2212 A: mean of the paired differences, \u00b1 half its 95 % interval "
    "[low, high] over resampled repositories. Better and worse count blanks. Percentages: of blanks for which the "
    "policy retrieves."
)


def render(comparison: Json) -> str:
    """One self-contained page."""
    page = Page("Two evaluations compared", lead=_lead(comparison))
    page.section("Before you read the numbers", *(_remarks(comparison)))
    page.section("Differences", _tiles(comparison), *_tables(comparison), _HOW_TO_READ)
    page.section("Repository by repository", _by_repository(comparison))
    page.section("Where they differ most", *_examples(comparison))
    page.section("What else differs", _settings(comparison), _provenance(comparison))
    return page.render()


def _lead(comparison: Json) -> str:
    row = next(
        row
        for policy in ("threshold", "always")
        for row in comparison["rows"]
        if (row["policy"], row["scope"], row["metric"]) == (policy, SCOPE_ALL, "ES")
    )
    difference = row["difference"]
    sentence = (
        f"Under {row['policy']}, edit similarity is {row['a']:.3f} in A ({row['model_a']}) and {row['b']:.3f} in B "
        f"({row['model_b']})"
    )
    if difference["low"] is None:
        return f"{sentence}; no interval: {difference['reason']}."
    seen = "differ" if difference["low"] > 0 or difference["high"] < 0 else "cannot be told apart on these blanks"
    return f"{sentence}: they {seen} ({_interval(difference)})."


def _remarks(comparison: Json) -> list[Html]:
    remarks = comparison["remarks"]
    return [note(remark) for remark in remarks] or [
        paragraph("Nothing to remark: the same blanks, enough repositories.")
    ]


def _tiles(comparison: Json) -> Html:
    return facts({"blanks in both": comparison["shared"], "repositories": comparison["repositories"]})


def _tables(comparison: Json) -> list[Html]:
    return [
        grouped_table(_HEADERS, _parts(rows), caption=scope_name(scope).capitalize())
        for scope, rows in distinct(_by_scope(comparison["rows"])).items()
    ]


def _by_scope(rows: Iterable[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for row in rows:
        found.setdefault(row["scope"], []).append(row)
    return found


def _parts(rows: Iterable[Json]) -> dict[str, list[list[Cell]]]:
    parts: dict[str, list[list[Cell]]] = {}
    for row in rows:
        retrieved = f"A {row['retrieved_a']:.0%}, B {row['retrieved_b']:.0%}"
        parts.setdefault(f"{_models(row)}, {row['policy']} ({retrieved})", []).append(
            [
                *(row["metric"], row["a"], row["b"], difference(row["difference"])),
                *(row["better"], row["worse"], row["n"], row["repositories"]),
            ]
        )
    return parts


def _interval(difference: Json) -> str:
    return f"{signed(difference['mean'])} [{signed(difference['low'])}, {signed(difference['high'])}]"


def _models(row: Json) -> str:
    return row["model_a"] if row["model_a"] == row["model_b"] else f"{row['model_a']}, {row['model_b']}"


def _by_repository(comparison: Json) -> Html:
    parts: dict[str, list[list[Cell]]] = {}
    for row in sorted(comparison["by_repository"], key=lambda row: row["difference"]):
        parts.setdefault(f"{_models(row)}, {row['policy']}", []).append(
            [row["repository"], row["n"], row["a"], row["b"], signed(row["difference"])]
        )
    return grouped_table(("repository", "blanks", "ES in A", "ES in B", "B \u2212 A"), parts)


def _examples(comparison: Json) -> list[Html]:
    blocks = []
    for each in comparison["examples"]:
        place = f"{each['repository']} {each['path']}:{each['line']}"
        blocks.append(heading(place))
        blocks.append(
            paragraph(f"{_models(each)}, {each['policy']}: ES {each['es_a']:.3f} in A, {each['es_b']:.3f} in B.")
        )
        blocks += [code(each["left"]), _titled("Target", each["target"])]
        blocks.append(side_by_side(_titled("A", each["a"]), _titled("B", each["b"])))
    return blocks or [paragraph("They do not differ anywhere.")]


def _titled(title: str, value: str) -> Html:
    return Html(f"<div>{paragraph(title)}{code(value)}</div>")


def _settings(comparison: Json) -> Html:
    rows = [[each["key"], _plain(each["a"]), _plain(each["b"])] for each in comparison["settings"]]
    return table(("recipe", "A", "B"), rows) if rows else paragraph("The recipes are the same.")


def _provenance(comparison: Json) -> Html:
    sides = (comparison["a"], comparison["b"])
    rows = [
        ["folder", *(side["folder"] for side in sides)],
        ["written", *(side["started"] for side in sides)],
        ["commit", *(side["commit"][:12] for side in sides)],
        ["models", *(", ".join(side["models"]) for side in sides)],
        ["blanks", *(str(side["blanks"]) for side in sides)],
    ]
    return table(("run", "A", "B"), rows)


def _plain(value: Any) -> str | None:
    return None if value is None else str(value)
