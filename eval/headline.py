"""What an evaluation says, in a few sentences that claim no more than its intervals allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .outcomes import SCOPE_ALL
from .remarks import FEW_REPOSITORIES, best_served, better_untuned, chance_es

Json = Mapping[str, Any]

LEAD = 3


def headline(summary: Json) -> list[str]:
    """About the first model that decides, or that a gate decides for, at the thresholds; else about context itself.

    The first ``LEAD`` sentences are what to take away, the others support them.
    """
    model = next((model["name"] for model in summary["models"] if model["decides"]), None)
    return list(_on_context(summary) if model is None else _on_selection(summary, model))


def doubt(summary: Json, model: str) -> str:
    """Why nothing here may be called better or worse; empty where it may."""
    chance, best = chance_es(summary), best_served(summary, model)["es"]
    repositories = len(summary["data"]["repositories"])
    few = f"{repositories} repositories are too few for their intervals to be believed"
    reasons = [
        *([f"{model} is not above the level of chance (ES {chance:.3f})"] if best <= chance else []),
        *([few] if repositories < FEW_REPOSITORIES else []),
    ]
    return " and ".join(reasons)


def verdict(difference: Json, *, judged: bool = True) -> str:
    """A difference in edit similarity in words; one whose interval holds zero is not called better or worse.

    Nor is any where a :func:`doubt` leaves nothing to be ``judged``.
    """
    mean, low, high = difference["mean"], difference["low"], difference["high"]
    if low is None or high is None:
        return f"different by {signed(mean)} ES, without an interval"
    if not judged:
        return f"different by {signed(mean)} ES (95 % interval {signed(low)} to {signed(high)})"
    if low > 0 or high < 0:
        return f"{abs(mean):.3f} ES {'better' if mean > 0 else 'worse'} (95 % interval {signed(low)} to {signed(high)})"
    return f"not to be told apart in ES ({signed(mean)}, 95 % interval {signed(low)} to {signed(high)})"


def signed(value: float) -> str:
    """A difference with its sign, as it shows everywhere."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def _on_selection(summary: Json, model: str) -> Iterator[str]:
    rows = {row["policy"]: row for row in summary["rows"] if row["model"] == model and row["scope"] == SCOPE_ALL}
    own, always, random, oracle = (rows[policy] for policy in ("threshold", "always", "random", "oracle"))
    why_not = doubt(summary, model)
    judged = not why_not
    gate = next(each["gate"] for each in summary["models"] if each["name"] == model)
    decided = f"{model}, for which {gate} decides at its thresholds," if gate else f"{model} at its own thresholds"
    yield (
        f"On {own['n']} blanks of {own['repositories']} repositories, {decided} retrieves "
        f"for {own['share_retrieved']:.0%} and reaches an edit similarity of {own['es']:.3f}."
    )
    if why_not:
        yield f"Nothing here shows one policy to be better or worse than another: {why_not}."
    yield from (f"{sentence}." for sentence in better_untuned(summary))
    yield (
        f"Against always retrieving it is {verdict(own['versus_always']['es'], judged=judged)}; "
        f"against never, {verdict(own['versus_never']['es'], judged=judged)}."
    )
    compared = {
        (each["other_model"], each["other_policy"]): each["differences"]["es"]
        for each in summary["comparisons"]
        if each["model"] == model and each["scope"] == SCOPE_ALL
    }
    control = summary["control"]
    if control is None:
        yield "There is no FIM-only control, so nothing is known about what selection adds to fine-tuning."
    elif (control, "always") in compared:
        yield (
            "Against the FIM-only control that always retrieves, which is what selection has to beat, it is "
            f"{verdict(compared[control, 'always'], judged=judged)}."
        )
    yield (
        f"A coin that retrieves as often for each kind of blank reaches {random['es']:.3f}; the decisions are "
        f"{verdict(compared[model, 'random'], judged=judged)}."
    )
    yield f"Perfect selection between the same completions would reach {oracle['es']:.3f}."
    if own["seconds"] is not None:
        yield (
            f"Measured on {own['seconds_n']} blanks, a completion takes {own['seconds']:.3f} s, with always retrieving "
            f"{always['seconds']:.3f} s."
        )


def _on_context(summary: Json) -> Iterator[str]:
    yield "No model here takes decisions."
    for row in summary["rows"]:
        if row["policy"] == "always" and row["scope"] == SCOPE_ALL:
            why_not = doubt(summary, row["model"])
            difference = verdict(row["versus_never"]["es"], judged=not why_not)
            yield (
                f"{row['model']}: always retrieving, ES {row['es']:.3f}, is {difference} against never"
                f"{f', which shows nothing: {why_not}' if why_not else ''}."
            )
