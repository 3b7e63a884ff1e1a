"""What a reader must know before believing the numbers, in sentences: found in the summary, stated at its top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .outcomes import SCOPE_ALL

FEW_BLANKS = 100
FEW_REPOSITORIES = 10
SERVED = ("never", "always", "greedy", "threshold")
"""The others know the answers, were fitted to those of other test repositories, pay two completions, or are coins."""
MANY_EMPTY = 0.05
"""A share of empty completions that targets, which are never empty, do not explain."""
NEAR_ZERO_ES = 0.1
"""Taken for the level of chance where a single blank of its kind leaves nothing to measure that with."""


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """All remarks on a summary, the most important first."""
    return [
        *_on_control(summary),
        *(f"{sentence}." for sentence in better_untuned(summary)),
        *_on_data(summary),
        *(text for model in summary["models"] for text in _on(model, summary)),
    ]


def best_served(summary: Mapping[str, Any], model: str, scope: str = SCOPE_ALL) -> Mapping[str, Any]:
    """A model's row with the highest edit similarity among the policies that serve completions."""
    rows = (row for row in summary["rows"] if row["model"] == model and row["scope"] == scope)
    best: Mapping[str, Any] = max((row for row in rows if row["policy"] in SERVED), key=lambda row: row["es"])
    return best


def chance_es(summary: Mapping[str, Any]) -> float:
    """What knows nothing of the blanks reaches on all of them."""
    chance: float | None = summary["data"]["chance_es"][SCOPE_ALL]
    return NEAR_ZERO_ES if chance is None else chance


def better_untuned(summary: Mapping[str, Any]) -> Iterator[str]:
    """Where a model that was not fine-tuned is ahead of one that was, in words."""
    tuned = [model["name"] for model in summary["models"] if model["fine_tuned"]]
    for base in (model["name"] for model in summary["models"] if not model["fine_tuned"]):
        for model in tuned:
            ours, theirs = best_served(summary, model), best_served(summary, base)
            if theirs["es"] > ours["es"]:
                yield (
                    f"{base}, which was not fine-tuned, is ahead of {model}, which was: at best ES {theirs['es']:.3f} "
                    f"({theirs['policy']}) against {ours['es']:.3f} ({ours['policy']})"
                )


def _on_control(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["control"] is None:
        yield (
            "THE FIM-ONLY CONTROL IS MISSING: no model here was fine-tuned on the same blanks without context, so what "
            "fine-tuning by itself gains cannot be told from what retrieval and selection gain."
        )
    if not any(model["decides"] for model in summary["models"]):
        yield "No model here takes decisions: there is no selective policy in the table."


def _on_data(summary: Mapping[str, Any]) -> Iterator[str]:
    data = summary["data"]
    n, repositories = data["blanks"], len(data["repositories"])
    if data["partial"]:
        yield f"Partial: {n} of {data['available']} blanks were evaluated (limit={data['limit']})."
    if repositories == 1:
        yield "All blanks are of one repository: there are no intervals, and nothing is known about others."
    elif repositories < FEW_REPOSITORIES:
        yield f"Only {repositories} repositories: intervals over so few are too narrow."
    if n < FEW_BLANKS:
        yield f"Only {n} blanks: a difference has to be large to be seen."
    for reason, count in data["source"]["set_aside"].items():
        yield f"Set aside: {count} ({reason})."
    if data["source"]["public"]:
        yield from _on_benchmark(data)
    else:
        for kind in ("chunk", "function"):
            if not data["kinds"].get(kind):
                yield f"There is no {kind} blank: nothing is said about that kind."
    if not data["right_context"]:
        yield "The models were not shown what stands behind a blank (right_context=false)."
    if data["nothing_retrieved"] == n:
        yield "Retrieval found nothing for any blank: both arms are the same completion, and all policies are equal."
    elif data["nothing_retrieved"]:
        yield f"For {data['nothing_retrieved']} of {n} blanks retrieval found nothing: both arms are the same there."
    if data["stands_elsewhere"]:
        yield (
            f"{data['stands_elsewhere']} of {n} targets stand verbatim in another file of their repository, "
            f"{data['target_retrieved']} in a retrieved chunk: part of what context gains is copying."
        )


def _on_benchmark(data: Mapping[str, Any]) -> Iterator[str]:
    source = data["source"]
    yield from (f"{source['name']}: {note}." for note in source["notes"])
    if data["query_holds_target"]:
        yield (
            f"For {data['query_holds_target']} blanks the given context was retrieved with the answer in the query: "
            "an upper bound, which no system reaches."
        )
    if data["stands_elsewhere_known"] < data["blanks"]:
        yield "Without the repositories it is not known which targets stand elsewhere, and copies cannot be told."


def _on(model: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
    name = model["name"]
    overall = model["effect"][SCOPE_ALL]
    yield from _on_chance(name, summary)
    if overall["em_without"] == overall["em_with"] == 0:
        yield f"{name}: no completion is an exact match."
    empty = model["empty"]
    if max(empty.values()) > MANY_EMPTY:
        yield (
            f"{name}: {empty['without']:.1%} of its completions without context and {empty['with']:.1%} of those with "
            "context are empty; so many are a sign of a fine-tuning that went wrong, or of prompts that it cannot read."
        )
    if model["trained_with_other"]:
        settings = ", ".join(f"{key}={value}" for key, value in model["trained_with_other"].items())
        yield f"{name}: its labels were made with other retrieval than is evaluated here ({settings})."
    if not model["seconds"]["n"]:
        yield f"{name}: seconds were not measured (latency_blanks=0)."
    if model["decides"]:
        yield from _on_decisions(name, model)


def _on_chance(name: str, summary: Mapping[str, Any]) -> Iterator[str]:
    """Of all blanks or, where these are above it, of the kinds that are not."""
    known = summary["data"]["chance_es"]
    for scope in dict.fromkeys(row["scope"] for row in summary["rows"]):
        chance = chance_es(summary) if scope == SCOPE_ALL else known.get(scope)
        best = best_served(summary, name, scope)
        if chance is not None and best["es"] <= chance:
            of_kind = "" if scope == SCOPE_ALL else f" ({scope})"
            yield (
                f"{name}{of_kind}: no policy is above the level of chance, ES {chance:.3f}, which targets of other "
                f"blanks reach in place of the right ones (at best {best['es']:.3f}, {best['policy']}); differences "
                "between its policies say nothing about code."
            )
            if scope == SCOPE_ALL:
                return


def _on_decisions(name: str, model: Mapping[str, Any]) -> Iterator[str]:
    if model["paper_thresholds"]:
        kinds = " and ".join(model["paper_thresholds"])
        yield f"{name}: it has no threshold of its own for {kinds}; the paper's was used, chosen for other models."
    overall = list(_on_quality(model["decisions"][SCOPE_ALL]))
    yield from (f"{name}: {remark}" for remark in overall)
    for kind, quality in model["decisions"].items():
        # What holds for all blanks holds for each kind.
        yield from (f"{name} ({kind}): {remark}" for remark in _on_quality(quality) if remark not in overall)


def _on_quality(quality: Mapping[str, Any]) -> Iterator[str]:
    if quality["auroc"]["reason"]:
        yield f"AUROC and average precision are undefined: {quality['auroc']['reason']}."
    if len(set(quality["p_retrieve"]["helped"] + quality["p_retrieve"]["not_helped"])) == 1:
        yield "P(<cc>) is the same for every blank: no threshold can select among them."
    for policy, taken in quality["policies"].items():
        if taken["abstained"] == quality["n"]:
            yield f"{policy} never retrieves: it is the policy never."
        elif not taken["abstained"]:
            yield f"{policy} retrieves for every blank: it is the policy always."
