"""The page of a comparison, from what :mod:`.compare` found alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repoformer.report.page import Cell, Html, Page, code, facts, note, paragraph, side_by_side, table

from .headline import signed
from .outcomes import SCOPE_ALL

Json = Mapping[str, Any]

_HEADERS = (
    *("models", "policy", "metric", "A", "B", "B − A", "B better", "B worse", "retrieved A", "retrieved B"),
    *("blanks", "repositories"),
)
_HOW_TO_READ = (
    "Every blank was completed by both. B − A: mean of the paired differences with its 95 % interval over resampled "
    "repositories. Better and worse count blanks. Retrieved: share of blanks for which the policy takes context."
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
    by_scope: dict[str, list[list[Cell]]] = {}
    for row in comparison["rows"]:
        by_scope.setdefault(row["scope"], []).append(_row(row))
    return [
        table(_HEADERS, rows, caption="All blanks" if scope == SCOPE_ALL else f"{scope} blanks")
        for scope, rows in by_scope.items()
    ]


def _row(row: Json) -> list[Cell]:
    return [
        _models(row),
        row["policy"],
        row["metric"],
        row["a"],
        row["b"],
        _interval(row["difference"]),
        row["better"],
        row["worse"],
        f"{row['retrieved_a']:.0%}",
        f"{row['retrieved_b']:.0%}",
        row["n"],
        row["repositories"],
    ]


def _interval(difference: Json) -> str:
    mean = signed(difference["mean"])
    return mean if difference["low"] is None else f"{mean} [{signed(difference['low'])}, {signed(difference['high'])}]"


def _models(row: Json) -> str:
    return row["model_a"] if row["model_a"] == row["model_b"] else f"{row['model_a']}, {row['model_b']}"


def _by_repository(comparison: Json) -> Html:
    rows = sorted(comparison["by_repository"], key=lambda row: row["difference"])
    return table(
        ("repository", "models", "policy", "blanks", "ES in A", "ES in B", "B − A"),
        [
            [row["repository"], _models(row), row["policy"], row["n"], row["a"], row["b"], signed(row["difference"])]
            for row in rows
        ],
    )


def _examples(comparison: Json) -> list[Html]:
    blocks = []
    for each in comparison["examples"]:
        place = f"{each['repository']} {each['path']}:{each['line']}"
        blocks.append(
            paragraph(
                f"{place}, {_models(each)}, {each['policy']}: ES {each['es_a']:.3f} in A, {each['es_b']:.3f} in B."
            )
        )
        blocks.append(code(each["left"]))
        blocks.append(side_by_side(*(_titled(name, each[key]) for name, key in _TEXTS)))
    return blocks or [paragraph("They do not differ anywhere.")]


_TEXTS = (("target", "target"), ("A", "a"), ("B", "b"))


def _titled(title: str, value: str) -> Html:
    return Html(f"<div>{paragraph(title)}{code(value)}</div>")


def _settings(comparison: Json) -> Html:
    rows = [[each["key"], _plain(each["a"]), _plain(each["b"])] for each in comparison["settings"]]
    return table(("recipe", "A", "B"), rows) if rows else paragraph("The recipes are the same.")


def _provenance(comparison: Json) -> Html:
    rows = [
        [name.upper(), side["folder"], side["started"], side["commit"][:12], ", ".join(side["models"]), side["blanks"]]
        for name, side in (("a", comparison["a"]), ("b", comparison["b"]))
    ]
    return table(("run", "folder", "written", "commit", "models", "blanks"), rows)


def _plain(value: Any) -> str | None:
    return None if value is None else str(value)
