"""Step four: the report page, from the summary and the instances to look at.

What a reader should take away comes first, then what to know before believing it, then the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repoformer.report.instances import instances
from repoformer.report.page import Html, Page, facts, note, paragraph

from . import report_analyses as analyses
from . import report_tables as tables
from .headline import LEAD, headline
from .remarks import chance_es
from .report_decisions import curves, decisions
from .report_provenance import provenance
from .report_unit_tests import unit_tests

Json = Mapping[str, Any]


def render(summary: Json, examples: Iterable[Json] = ()) -> str:
    """The page. Every figure on it but those of the instances stands in ``summary``, which may be ``summary.json``.

    ``examples``: the instances to look at, of ``examples.py``; theirs stand in the predictions and scores.
    """
    sentences = headline(summary)
    page = Page("When to retrieve: evaluation", lead=" ".join(sentences[:LEAD]))
    page.section("Before you read the numbers", *_cautions(summary))
    page.section("Policies", _tiles(summary), *sentences[LEAD:], *tables.policies(summary))
    if summary["unit_tests"]:
        page.section("Unit tests", *unit_tests(summary))
    if summary["metrics"]:
        page.section("The benchmark's own metrics", *tables.metrics(summary))
    if summary["published"]["numbers"] or summary["published"]["figures"]:
        page.section("Beside the published numbers", *analyses.published(summary))
    if summary["comparisons"]:
        page.section("Against other selectors and other models", *tables.comparisons(summary))
    deciding = [model for model in summary["models"] if model["decides"]]
    if deciding:
        page.section("Accuracy, retrieval and latency", *curves(summary, deciding))
        page.section("Quality of decisions", *decisions(deciding))
    page.section("Who could select", *analyses.signals(summary["models"]))
    page.section("What context does", *tables.effects(summary), *analyses.asked(deciding))
    page.section("Repository by repository", *analyses.repositories(summary["models"]))
    page.section("Seconds of each part", tables.seconds(summary))
    page.section("Examples", *_examples(summary, list(examples)))
    page.section("Data and provenance", *provenance(summary))
    return page.render()


# -- what to know first ----------------------------------------------------------------------------------------------


def _cautions(summary: Json) -> list[Html]:
    statements = [*summary["notes"], *summary["remarks"]]
    if not statements:
        return [paragraph("Nothing to remark: enough blanks and repositories, a control, no degenerate case.")]
    return [note(statement) for statement in statements]


def _tiles(summary: Json) -> Html:
    data = summary["data"]
    return facts(
        {
            "blanks": data["blanks"],
            "repositories": len(data["repositories"]),
            **{f"{kind} blanks": count for kind, count in data["kinds"].items()},
            "ES by chance": chance_es(summary),
            "models": len(summary["models"]),
            "FIM-only control": summary["control"] or "missing",
        }
    )


# -- what to look at -------------------------------------------------------------------------------------------------


def _examples(summary: Json, items: Sequence[Json]) -> list[Html]:
    asked, shown = summary["data"]["blanks"], len({item["id"] for item in items})
    which = f"all {asked} blanks" if shown == asked else f"{shown} of {asked} blanks, drawn without looking"
    return [
        paragraph(
            f"Every model's completions of {which}; asked: by a model that decides, at its own thresholds. Arrow keys "
            "go through the list."
        ),
        instances(items),
    ]
