"""The report's tables: every policy of every model, what they are compared with, and what context and parts cost.

A table has its models as parts and no column for them, and intervals stand under their values: it fits a narrow window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from repoformer.report.page import Cell, Figures, Html, grouped_table, paragraph, side_by_side, stacked

from .headline import signed
from .outcomes import SCOPE_ALL

Json = Mapping[str, Any]
T = TypeVar("T")

_POLICY_HEADERS = (
    *("policy", "EM", "ES", "ES \u2212 never", "ES \u2212 always", "EM, repo", "ES, repo"),
    *("retrieved", "shown", "seconds", "cold"),
)
_EFFECT_HEADERS = (
    *("blanks", "n", "helped", "unchanged", "harmed", "mean ES gain"),
    *("targets elsewhere", "their gain", "others' gain"),
)
_HOW_TO_READ_ROWS = (
    "EM: exact match, lines stripped. ES: edit similarity, 1 − Levenshtein / longest. Differences: to the same model "
    "under that policy, paired, ± half the 95 % interval [low, high] over resampled repositories. Repo: the mean over "
    "repositories of their means. Retrieved: share of blanks for which the policy retrieves; shown: for which it then "
    "takes context. Seconds: mean of one completion on a warm model with the repository's index at hand, over the "
    "measured blanks: prefill of the file's text with the decision read at its end, then generation, with retrieval "
    "before it where the policy retrieves; where greedy or threshold asks a gate, its prefill too; models are timed "
    "one after the other, so compare within a model. Cold: the repository's index is built first where the policy "
    "retrieves. Random: the expectation of retrieving for as many blanks of each kind as threshold does; the trial "
    "policies and the estimator take context for as many too, those that rank highest by their signal; select takes, "
    "of both completions of every blank, the one that its tokens speak for. Oracle: takes it just where context "
    "raises ES. ES by chance: of targets of other blanks, of the same kind and cut to as many lines, in place of the "
    "right ones."
)
_HOW_TO_READ_EFFECTS = (
    "How many completions context makes better, leaves alone and makes worse, by edit similarity. Targets elsewhere: "
    "the target's lines stand verbatim in another file of the repository that is no copy of the blank's own."
)


def policies(summary: Json) -> list[Html]:
    """One table for all blanks, one for each kind."""
    made = []
    for scope, rows in distinct(_by(summary["rows"], "scope")).items():
        first = rows[0]
        timed = f", seconds on {first['seconds_n']} of them" if first["seconds_n"] else ""
        caption = f"{scope_name(scope).capitalize()}: {first['n']} of {repositories(first['repositories'])}{timed}"
        parts = {name: map(_policy, mine) for name, mine in _by(rows, "model").items()}
        made.append(grouped_table(_POLICY_HEADERS, parts, caption=caption))
    return [*made, paragraph(_HOW_TO_READ_ROWS)]


def _policy(row: Json) -> list[Cell]:
    return [
        row["policy"],
        row["em"],
        row["es"],
        difference(row["versus_never"] and row["versus_never"]["es"]),
        difference(row["versus_always"] and row["versus_always"]["es"]),
        row["em_by_repository"],
        row["es_by_repository"],
        percent(row["share_retrieved"]),
        percent(row["share_with_context"]),
        row["seconds"],
        row["seconds_cold"],
    ]


def comparisons(summary: Json) -> list[Html]:
    """The deciding models' own thresholds against other selectors and other models."""
    control = summary["control"]
    made = []
    for scope, found in distinct(_by(summary["comparisons"], "scope")).items():
        parts: dict[str, list[list[Cell]]] = {}
        for each in found:
            other = f"{each['other_model']}{' (control)' if each['other_model'] == control else ''}"
            both = each["differences"]
            parts.setdefault(f"{each['model']}, {each['policy']}", []).append(
                [f"{other}, {each['other_policy']}", difference(both["em"]), difference(both["es"])]
            )
        made.append(grouped_table(("minus", "EM", "ES"), parts, caption=scope_name(scope).capitalize()))
    said = (
        "Paired differences on the same blanks, \u00b1 half the 95 % interval [low, high] over resampled repositories."
    )
    return [paragraph(said), side_by_side(*made)]


def effects(summary: Json) -> list[Html]:
    """How many completions of each model context makes better and worse."""
    parts = {
        model["name"]: [_effect(scope, effect) for scope, effect in distinct(model["effect"]).items()]
        for model in summary["models"]
    }
    return [grouped_table(_EFFECT_HEADERS, parts), paragraph(_HOW_TO_READ_EFFECTS)]


def _effect(scope: str, effect: Json) -> list[Cell]:
    return [
        *(scope_name(scope), effect["n"]),
        *(percent(effect[change]) for change in ("helped", "unchanged", "harmed")),
        *(effect["mean_gain"], effect["duplicated"], effect["gain_if_duplicated"], effect["gain_if_not"]),
    ]


def seconds(summary: Json) -> Html:
    """What each part of a completion takes."""
    parts = ("decide", "gate", "retrieve_cold", "retrieve_warm", "generate_without", "generate_with")
    rows = {
        f"{model['name']}, {model['seconds']['n']} blanks": [
            [part.replace("_", " "), *_spread(model["seconds"][part])]
            for part in parts
            if part != "gate" or model["gate"]
        ]
        for model in summary["models"]
    }
    return grouped_table(
        ("part", "mean", "median", "largest"),
        rows,
        caption="Seconds, one blank at a time on a warm model. Decide: prefill of left and right context. "
        "Gate: the same in the model that decides in its place. "
        "Retrieve cold: the repository's index is built first",
    )


def _spread(values: Json | None) -> list[Cell]:
    return [f"{values[name]:.4f}" if values else None for name in ("mean", "median", "max")]


def metrics(summary: Json) -> list[Html]:
    """The benchmark's own metrics as its authors average them, with the other mean under each value."""
    published, other = ("instances", "repositories")
    if summary["data"]["source"]["mean"] == other:
        published, other = other, published
    names = list(_by(summary["metrics"], "metric"))
    parts: dict[str, list[list[Cell]]] = {}
    for model, mine in _by(summary["metrics"], "model").items():
        for policy, values in _by(mine, "policy").items():
            means = [(value[f"{published}_mean"], value[f"{other}_mean"]) for value in values]
            cells = [stacked(f"{first:.3f}", f"{second:.3f}") for first, second in means]
            parts.setdefault(model, []).append([policy, *cells])
    said = paragraph(
        f"Means over {published}, as published; under them, means over {other}. "
        f"Post-processing: {summary['data']['source']['postprocessing']}. Metrics of one name are comparable with "
        "published ones only on the full benchmark, with the same context and the same limits."
    )
    return [grouped_table(("policy", *names), parts), said]


# -- figures as text -------------------------------------------------------------------------------------------------


def scope_name(scope: str) -> str:
    """The blanks that figures are about."""
    return "all blanks" if scope == SCOPE_ALL else f"{scope} blanks"


def repositories(count: int) -> str:
    """So many of them."""
    return f"{count} {'repository' if count == 1 else 'repositories'}"


def percent(share: float | None) -> str | None:
    """A share; None where there is none."""
    return None if share is None else f"{100 * share:.1f} %"


def difference(found: Json | None) -> Cell:
    """Point and half-width over the interval, with signs; why there is none, the remarks say."""
    mean = None if found is None else found.get("mean", found.get("point"))
    if found is None or mean is None:
        return None
    if found["low"] is None:
        return stacked(signed(mean), "no interval")
    return _over_interval(signed(mean), found)


def _over_interval(mean: str, found: Json) -> Figures:
    return stacked(f"{mean} \u00b1 {found['half_width']:.3f}", f"[{signed(found['low'])}, {signed(found['high'])}]")


def distinct(by_scope: Mapping[str, T]) -> dict[str, T]:
    """Without what is said twice: where there is one kind of blanks only, they are all blanks."""
    return {SCOPE_ALL: by_scope[SCOPE_ALL]} if len(by_scope) == 2 else dict(by_scope)


def _by(rows: Iterable[Json], key: str) -> dict[str, list[Json]]:
    """Rows by one of their values, in the order of its first use."""
    groups: dict[str, list[Json]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups
