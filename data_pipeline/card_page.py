"""The data card for people: a page with its plot, and the Markdown that hubs show. Both say what the JSON says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from repoformer.report.page import Cell, Html, Page, facts, note, side_by_side, table
from repoformer.report.plots import histogram, line_plot

_MOST_ROWS = 40
"""Of a table of reasons: the JSON has them all."""


def card_page(card: Mapping[str, Any], gains: Mapping[str, Sequence[float]]) -> str:
    """The page; ``gains`` are ES(with) - ES(without) of the labelled blanks by kind."""
    page = Page("Data card", lead=_lead(card))
    page.section("What there is", _headline(card), _sides(card))
    page.section("What retrieval changes", *_changes(card, gains))
    page.section("Languages, kinds, licences", *(_by(card, field) for field in card["labels_by"]))
    page.section("Lengths", *(_tokens(side, lengths) for side, lengths in card["tokens"].items() if lengths))
    page.section("What was left out", *_left_out(card))
    return page.render()


def card_text(card: Mapping[str, Any]) -> str:
    """``README.md`` of the data set, with the front matter that tells a hub, and ``datasets``, where the splits lie."""
    splits = [{"split": side, "path": f"assemble/{side}/part-*.parquet"} for side in card["tokens"]]
    front = yaml.safe_dump({"configs": [{"config_name": "default", "data_files": splits}]}, sort_keys=False)
    parts = [f"---\n{front}---\n\n# Data card\n\n{_lead(card)}\n"]
    for title, headers, rows in _tables(card):
        head = [_markdown_row(headers), "|" + "---|" * len(headers)]
        lines = head + [_markdown_row(row) for row in rows]
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _lead(card: Mapping[str, Any]) -> str:
    label, rows = card["recipe"]["label"], card["rows"]
    generator = (label["endpoint"] or label)["model"]
    return (
        f"{rows['assemble']} training and validation examples from {len(card['repositories'])} repositories. "
        f"A label is positive where {generator} completes a blank better with cross-file context than without: "
        f"edit similarity rises by more than {label['threshold']:g}."
    )


def _headline(card: Mapping[str, Any]) -> Html:
    rows = card["rows"]
    return facts(
        {
            "repositories": sum(card["licences"].values()),
            "blanks": rows["sample"],
            "labelled": rows["label"],
            "examples": rows["assemble"],
            "repositories refused": len(card["refused"]),
            "copies of others": len(card["copies"]),
        }
    )


def _changes(card: Mapping[str, Any], gains: Mapping[str, Sequence[float]]) -> Iterable[Html]:
    everything = [gain for found in gains.values() for gain in found]
    if not everything:
        yield note("Nothing was labelled.")
        return
    equal = sum(gain == 0 for gain in everything)
    changed = {kind: [gain for gain in found if gain] for kind, found in gains.items()}
    share = equal / len(everything)
    yield note(f"{equal} of {len(everything)} blanks ({share:.0%}) keep their similarity: not in the first plot.")
    yield side_by_side(
        histogram(changed, "change of edit similarity", title="How much, by kind", bins=40, x_range=(-1.0, 1.0)),
        line_plot(
            {kind: _sorted_shares(found) for kind, found in gains.items() if found},
            "share of blanks",
            "change of edit similarity",
            title="From the worst to the best",
            x_range=(0.0, 1.0),
            y_range=(-1.0, 1.0),
        ),
    )


def _sorted_shares(gains: Sequence[float]) -> list[tuple[float, float]]:
    """Gains in order against the share of blanks that gain less, a hundred points at most."""
    ordered = sorted(gains)
    places = sorted({round(step / 99 * (len(ordered) - 1)) for step in range(100)})
    return [(place / max(len(ordered) - 1, 1), ordered[place]) for place in places]


def _sides(card: Mapping[str, Any]) -> Html:
    title, headers, rows = next(iter(_tables(card)))
    return table(headers, rows, caption=title)


def _by(card: Mapping[str, Any], field: str) -> Html:
    headers, rows = _labels_table(card, field)
    return table(headers, rows, caption=f"labels by {field}")


def _labels_table(card: Mapping[str, Any], field: str) -> tuple[list[str], list[list[Cell]]]:
    headers = [field, "labels", "positive", "ES without", "ES with"]
    rows: list[list[Cell]] = [
        [value, found["blanks"], f"{found['positive_rate']:.1%}", found["es_without"], found["es_with"]]
        for value, found in card["labels_by"][field].items()
    ]
    return headers, rows


def _tokens(side: str, lengths: Mapping[str, Mapping[str, float]]) -> Html:
    rows: list[list[Cell]] = [
        [segment, round(found["mean"], 1), found["median"], found["longest"]] for segment, found in lengths.items()
    ]
    return table(["segment", "mean", "median", "longest"], rows, caption=f"tokens per example, {side}")


def _left_out(card: Mapping[str, Any]) -> Iterable[Html]:
    refused = Counter(card["refused"].values()).most_common()
    yield table(["why", "repositories"], refused[:_MOST_ROWS], caption="repositories refused")
    if len(refused) > _MOST_ROWS:
        yield note(f"{len(refused) - _MOST_ROWS} more reasons are in data-card.json.")
    for stage, dropped in card["dropped"].items():
        if dropped:
            most = sorted(dropped.items(), key=lambda item: -item[1])[:_MOST_ROWS]
            yield table(["why", "dropped"], most, caption=f"set aside by {stage}")


def _tables(card: Mapping[str, Any]) -> Iterable[tuple[str, list[str], list[list[Cell]]]]:
    sides: list[list[Cell]] = [
        [side, kind, count, card["labels"].get(side, {}).get(kind, {}).get("blanks")]
        for side, kinds in card["blanks"].items()
        for kind, count in kinds.items()
    ]
    yield "Blanks", ["side", "kind", "blanks", "labelled"], sides
    for field in card["labels_by"]:
        yield f"Labels by {field}", *_labels_table(card, field)
    dropped: list[list[Cell]] = [
        [stage, why, count] for stage, found in card["dropped"].items() for why, count in found.items()
    ]
    yield "Set aside", ["stage", "why", "count"], dropped


def _markdown_row(row: Sequence[Cell]) -> str:
    return "| " + " | ".join(_markdown(value) for value in row) + " |"


def _markdown(value: Cell) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else "–" if value is None else str(value)
    return " ".join(text.split()).replace("|", "\\|")
