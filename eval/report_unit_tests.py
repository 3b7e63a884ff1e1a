"""The report's section on unit tests: pass rates of every policy, verdicts, and which functions were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repoformer.report.page import Cell, Html, grouped_table, note, paragraph, table

from .report_tables import difference, percent, repositories

Json = Mapping[str, Any]

_POLICY_HEADERS = (
    *("policy", "pass", "passed", "pass \N{MINUS SIGN} never", "pass \N{MINUS SIGN} always", "by repository"),
    "with context",
)
_HOW_TO_READ = (
    "A completion passes if, put into a copy of its repository, no test fails that passed before. Passed: how many of "
    "the functions, in the mean where a coin decides. Differences: to the same model under that policy, paired, ± "
    "half the 95 % interval [low, high] over resampled repositories. Policies decide as in the other tables: the "
    "oracle by edit similarity, not by tests. Context helps where only the completion with it passes, and harms where "
    "only the other does."
)


def unit_tests(summary: Json) -> list[Html]:
    """What `eval execute` found; its command where it was not run on these completions."""
    found = summary["unit_tests"]
    return [*_cautions(summary), *_pass_rates(found), *_verdicts(found), *_judged(found)]


def _cautions(summary: Json) -> Iterator[Html]:
    found = summary["unit_tests"]
    if found["partial"]:
        yield note("Partial: only some of the functions were run (limit).")
    for name, model in found["models"].items():
        if model["blanks"] < found["judged"]:
            missing = found["judged"] - model["blanks"]
            yield note(
                f"{name}: {missing} of {found['judged']} judged functions are not evaluated here, or were completed "
                "anew since; let `repoformer eval execute` judge them."
            )
    for name in (model["name"] for model in summary["models"] if model["name"] not in found["models"]):
        yield note(f"{name}: no verdict is about its completions shown here; let `repoformer eval execute` judge them.")


def _pass_rates(found: Json) -> Iterator[Html]:
    parts: dict[str, list[list[Cell]]] = {}
    for name, model in found["models"].items():
        title = f"{name}: {model['blanks']} functions of {repositories(model['repositories'])}"
        parts[title] = [
            [
                policy,
                percent(rates["pass_rate"]),
                f"{rates['pass_rate'] * model['blanks']:.4g}",
                None if policy == "never" else difference(rates["against_never"]),
                None if policy == "always" else difference(rates["against_always"]),
                percent(rates["pass_rate_over_repositories"]),
                percent(rates["share_with_context"]),
            ]
            for policy, rates in model["policies"].items()
        ]
    if parts:
        yield grouped_table(_POLICY_HEADERS, parts, caption="Share of functions whose tests pass")
        yield paragraph(_HOW_TO_READ)


def _verdicts(found: Json) -> Iterator[Html]:
    kinds = sorted({kind for model in found["models"].values() for arm in model["verdicts"].values() for kind in arm})
    kinds.sort(key=lambda kind: kind != "passed")
    parts: dict[str, list[list[Cell]]] = {}
    for name, model in found["models"].items():
        title = f"{name}: helped {model['helped']}, unchanged {model['unchanged']}, harmed {model['harmed']} by context"
        parts[title] = [
            [f"{arm} context", *(verdicts.get(kind, 0) for kind in kinds)]
            for arm, verdicts in model["verdicts"].items()
        ]
    if parts:
        yield grouped_table(("completions", *kinds), parts, caption="Verdicts")


def _judged(found: Json) -> Iterator[Html]:
    rows: list[list[Cell]] = [
        [
            *(id, facts["functions"], facts["judged"], facts["tests_counted"], facts["tests_ignored"]),
            facts["baseline_seconds"],
        ]
        for id, facts in found["repositories"].items()
    ]
    headers = ("repository", "functions", "judged", "tests that count", "tests that do not", "seconds")
    yield table(
        headers,
        rows,
        caption="Repositories. A test counts if it passes in every run before anything is replaced; seconds: of such a "
        "run",
    )
    reasons: list[list[Cell]] = [[reason, count] for reason, count in found["left_out"].items()]
    yield table(("why", "blanks"), [*reasons], caption="Left out") if reasons else paragraph("No blank was left out.")
