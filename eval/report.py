"""Step four: the report page, from the summary alone.

What a reader should take away comes first, then what to know before believing it, then the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from repoformer.report.instances import instances
from repoformer.report.page import Cell, Html, Page, facts, note, paragraph, side_by_side, table
from repoformer.report.plots import histogram, line_plot, reliability

from . import report_analyses as analyses
from .headline import LEAD, headline, signed
from .outcomes import SCOPE_ALL
from .remarks import chance_es

Json = Mapping[str, Any]

_ROW_HEADERS = (
    *("model", "policy", "EM", "ES", "retrieved", "seconds", "cold"),
    *("ES − never", "ES − always", "EM by repository", "ES by repository", "blanks", "repositories"),
)
_EFFECT_HEADERS = (
    *("model", "blanks", "n", "helped", "unchanged", "harmed", "mean ES gain"),
    *("targets elsewhere", "their gain", "others' gain"),
)
_DECISION_HEADERS = (
    *("blanks", "n", "context helps", "AUROC", "average precision", "calibration error"),
    *("policy", "abstained", "abstention precision", "F1"),
)
_HOW_TO_READ_ROWS = (
    "EM: exact match, lines stripped. ES: edit similarity, 1 − Levenshtein / longest. Retrieved: share of blanks for "
    "which the policy retrieves. Seconds: mean of one completion on a warm model with the repository's index at hand, "
    "over the measured blanks: prefill of the file's text with the decision read at its end, then generation, with "
    "retrieval before it where the policy retrieves; models are timed one after the other, so compare within a model. "
    "Cold: the repository's index is built first where the policy retrieves. "
    "Differences: to the same model under that policy, paired, ± half the 95 % interval [low, high] over resampled "
    "repositories. "
    "Random: the expectation of retrieving for as many blanks of each kind as threshold does; the trial policies and "
    "the estimator take context for as many too, those that rank highest by their signal. Oracle: takes it just where "
    "context raises ES. ES by chance: of targets of other blanks, of the same kind and cut to as many lines, in place "
    "of the right ones. By repository: the mean over repositories of their means."
)
_HOW_TO_READ_EFFECTS = (
    "How many completions context makes better, leaves alone and makes worse, by edit similarity. Targets elsewhere: "
    "the target's lines stand verbatim in another file of the repository that is no copy of the blank's own."
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


def render(summary: Json) -> str:
    """The page. Every figure on it stands in ``summary``, which may come from ``summary.json``."""
    sentences = headline(summary)
    page = Page("When to retrieve: evaluation", lead=" ".join(sentences[:LEAD]))
    page.section("Before you read the numbers", *_cautions(summary))
    page.section("Policies", _tiles(summary), *sentences[LEAD:], *_tables(summary))
    if summary["metrics"]:
        page.section("The benchmark's own metrics", *analyses.metrics(summary))
    if summary["published"]["numbers"] or summary["published"]["figures"]:
        page.section("Beside the published numbers", *analyses.published(summary))
    if summary["comparisons"]:
        page.section("Against other selectors and other models", _comparisons(summary))
    deciding = [model for model in summary["models"] if model["decides"]]
    for model in deciding:
        page.section(f"Accuracy, retrieval and latency: {model['name']}", *_curves(summary, model))
        page.section(f"Quality of decisions: {model['name']}", *_decisions(model), *analyses.asked(model))
    for model in summary["models"]:
        page.section(f"Who could select: {model['name']}", *analyses.signals(model))
    page.section("What context does", *_effects(summary))
    page.section(
        "Repository by repository", *(part for one in summary["models"] for part in analyses.repositories(one))
    )
    page.section("Seconds of each part", _seconds(summary))
    page.section("Examples", *_examples(summary["examples"]))
    page.section("Data and provenance", *_provenance(summary))
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


# -- tables ----------------------------------------------------------------------------------------------------------


def _tables(summary: Json) -> list[Html]:
    by_scope: dict[str, list[Json]] = {}
    for row in summary["rows"]:
        by_scope.setdefault(row["scope"], []).append(row)
    made = [table(_ROW_HEADERS, map(_row, rows), caption=_scope_name(scope)) for scope, rows in by_scope.items()]
    return [*made, paragraph(_HOW_TO_READ_ROWS)]


def _row(row: Json) -> list[Cell]:
    return [
        row["model"],
        row["policy"],
        row["em"],
        row["es"],
        _percent(row["share_retrieved"]),
        row["seconds"],
        row["seconds_cold"],
        _difference(row["versus_never"] and row["versus_never"]["es"]),
        _difference(row["versus_always"] and row["versus_always"]["es"]),
        row["em_by_repository"],
        row["es_by_repository"],
        row["n"],
        row["repositories"],
    ]


def _comparisons(summary: Json) -> Html:
    control = summary["control"]
    rows = [
        [
            f"{each['model']}, {each['policy']}",
            f"{each['other_model']}{' (control)' if each['other_model'] == control else ''}, {each['other_policy']}",
            _scope_name(each["scope"]),
            _difference(each["differences"]["em"]),
            _difference(each["differences"]["es"]),
        ]
        for each in summary["comparisons"]
    ]
    return table(
        ("this", "minus that", "blanks", "EM", "ES"),
        rows,
        caption="Paired differences on the same blanks, with 95 % intervals over resampled repositories",
    )


def _effects(summary: Json) -> list[Html]:
    rows = [
        [
            model["name"],
            _scope_name(scope),
            effect["n"],
            _percent(effect["helped"]),
            _percent(effect["unchanged"]),
            _percent(effect["harmed"]),
            effect["mean_gain"],
            effect["duplicated"],
            effect["gain_if_duplicated"],
            effect["gain_if_not"],
        ]
        for model in summary["models"]
        for scope, effect in model["effect"].items()
    ]
    return [table(_EFFECT_HEADERS, rows), paragraph(_HOW_TO_READ_EFFECTS)]


def _seconds(summary: Json) -> Html:
    parts = ("decide", "retrieve_cold", "retrieve_warm", "generate_without", "generate_with")
    rows = [
        [model["name"], part.replace("_", " "), *_spread(model["seconds"][part]), model["seconds"]["n"]]
        for model in summary["models"]
        for part in parts
    ]
    return table(
        ("model", "part", "mean", "median", "largest", "blanks"),
        rows,
        caption="Seconds, one blank at a time on a warm model. Decide: prefill of left and right context. "
        "Retrieve cold: the repository's index is built first",
    )


def _spread(values: Json | None) -> list[Cell]:
    return [f"{values[name]:.4f}" if values else None for name in ("mean", "median", "max")]


# -- curves ----------------------------------------------------------------------------------------------------------


def _curves(summary: Json, model: Json) -> list[Html]:
    rows = [row for row in summary["rows"] if row["model"] == model["name"] and row["scope"] == SCOPE_ALL]
    points = model["decisions"][SCOPE_ALL]["sweep"]
    never, always = (next(row for row in rows if row["policy"] == policy) for policy in ("never", "always"))
    marked = [row for row in rows if row["policy"] in ("greedy", "threshold", "oracle")]
    ends = [(row["share_retrieved"], row["es"]) for row in (never, always)]
    accuracy = line_plot(
        {"any threshold": [(point["share_retrieved"], point["es"]) for point in points], "random": ends},
        "share of blanks that retrieve",
        "edit similarity",
        title="Accuracy against retrieval",
        marks={row["policy"]: [(row["share_retrieved"], row["es"])] for row in marked},
        x_range=(0.0, 1.0),
    )
    explained = paragraph(_HOW_TO_READ_CURVES)
    if never["seconds"] is None:
        return [accuracy, explained, note("Seconds were not measured, so there is no latency curve.")]
    latency = line_plot(
        {"any threshold": [(point["seconds"], point["es"]) for point in points]},
        "seconds per completion",
        "edit similarity",
        title="Accuracy against latency",
        marks={row["policy"]: [(row["seconds"], row["es"])] for row in (never, always, *marked)},
    )
    seconds_n = paragraph(f"Seconds are means over {never['seconds_n']} measured blanks, edit similarity over all.")
    return [side_by_side(accuracy, latency), explained, seconds_n]


def _decisions(model: Json) -> list[Html]:
    overall = model["decisions"][SCOPE_ALL]
    rows = [
        [
            _scope_name(scope),
            quality["n"],
            _percent(quality["share_positive"]),
            quality["auroc"]["value"],
            quality["average_precision"]["value"],
            quality["calibration_error"]["value"],
            policy,
            taken["abstained"],
            taken["abstention_precision"]["value"],
            taken["f1"]["value"],
        ]
        for scope, quality in model["decisions"].items()
        for policy, taken in quality["policies"].items()
    ]
    explained = paragraph(_HOW_TO_READ_DECISIONS, f" Thresholds: {_thresholds(model)}.")
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
    return [table(_DECISION_HEADERS, rows), explained, side_by_side(calibration, spread)]


def _thresholds(model: Json) -> str:
    values = ", ".join(f"{kind} {value:.4g}" for kind, value in model["thresholds"].items())
    return f"{values} ({model['thresholds_from'] or 'origin unknown'})"


# -- examples and origin ---------------------------------------------------------------------------------------------


def _examples(shown: Json) -> list[Html]:
    policy = f", decisions of its policy {shown['policy']}" if shown["policy"] else ""
    return [
        paragraph(
            f"Completions of {shown['model']}{policy}: the blanks that context helped most, those that it harmed most, "
            "and some drawn without looking."
        ),
        instances(shown["items"]),
    ]


def _provenance(summary: Json) -> list[Html]:
    data, run = summary["data"], summary["provenance"]
    models = table(
        (
            *("model", "decided by", "weights and tokenizer", "style", "preset", "tokens, the same in both arms"),
            *("decoding", "batch", "device", "generated", "commit"),
        ),
        [_model_origin(model) for model in summary["models"]],
        caption="Models",
    )
    repositories = table(
        ("repository", "blanks"), [[each["id"], each["blanks"]] for each in data["repositories"]], caption="Blanks"
    )
    settings: list[Sequence[Cell]] = [
        ["date", run["started"]],
        ["commit", _commit(run["git"])],
        *analyses.source(summary),
        ["context", f"{'; '.join(data['strategies'])}; top {data['top']}; {_query(data)}"],
        ["configuration", "; ".join(f"{key}={value}" for key, value in run["config"].items())],
        ["python", run["python"]],
        *([name, version or "not installed"] for name, version in run["packages"].items()),
    ]
    return [table(("what", "value"), settings, caption="Run"), models, repositories]


def _query(data: Json) -> str:
    holding = data["query_holds_target"]
    return f"the query of {holding} blanks holds the target" if holding else "the query never holds the target"


def _model_origin(model: Json) -> list[Cell]:
    generated = model["generated"]
    return [
        model["name"],
        model["gate"] or ("itself" if model["decides"] else "nobody"),
        model["hash"],
        f"{model['style']} ({model['dialect']})",
        model["preset"],
        model["budgets"],
        model["decoding"],
        model["batch"],
        model["device"],
        generated["started"],
        _commit(generated["git"]),
    ]


def _commit(git: Json) -> str:
    if not git:
        return "not a checkout"
    return f"{git['commit'][:12]}{' with changes' if git['dirty'] else ''}"


# -- figures as text -------------------------------------------------------------------------------------------------


def _scope_name(scope: str) -> str:
    return "all blanks" if scope == SCOPE_ALL else f"{scope} blanks"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _difference(difference: Json | None) -> str | None:
    """Point, half-width and interval, with signs."""
    if difference is None or difference["mean"] is None:
        return None
    mean = signed(difference["mean"])
    if difference["low"] is None:
        return f"{mean} (no interval: {difference['reason']})"
    interval = f"[{signed(difference['low'])}, {signed(difference['high'])}]"
    return f"{mean} ± {difference['half_width']:.3f} {interval}"
