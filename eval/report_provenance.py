"""The report's last section: where blanks, models and figures come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from repoformer.report.page import Cell, Html, grouped_table, table

Json = Mapping[str, Any]

_SHOWN = ("published", "published_in", "figures")
"""Keys of the recipe whose values have a section of their own."""


def provenance(summary: Json) -> list[Html]:
    """The run, its models and its repositories."""
    data, run = summary["data"], summary["provenance"]
    models = grouped_table(
        ("what", "value"), {model["name"]: _model_origin(model) for model in summary["models"]}, caption="Models"
    )
    repositories = table(
        ("repository", "blanks"), [[each["id"], each["blanks"]] for each in data["repositories"]], caption="Blanks"
    )
    settings: list[Sequence[Cell]] = [
        ["date", run["started"]],
        ["commit", _commit(run["git"])],
        *_source(summary),
        ["context", f"{'; '.join(data['strategies'])}; top {data['top']}; {_query(data)}"],
        ["configuration", "; ".join(f"{key}={value}" for key, value in run["config"].items() if key not in _SHOWN)],
        ["python", run["python"]],
        *([name, version or "not installed"] for name, version in run["packages"].items()),
    ]
    return [table(("what", "value"), settings, caption="Run"), models, repositories]


def _source(summary: Json) -> list[list[Cell]]:
    """Rows that say what the blanks are."""
    found = summary["data"]["source"]
    rows: list[list[Cell]] = [["blanks", f"{found['name']} {found['variant']}".strip()], ["read from", found["path"]]]
    if found["public"]:
        rows += [["reader's version", str(found["version"])], ["SHA-256 of the file", found["sha256"]]]
        aside = "; ".join(f"{count} {reason}" for reason, count in found["set_aside"].items())
        rows.append(["set aside", aside or "none"])
    return rows


def _query(data: Json) -> str:
    holding = data["query_holds_target"]
    return f"the query of {holding} blanks holds the target" if holding else "the query never holds the target"


def _model_origin(model: Json) -> list[Sequence[Cell]]:
    generated = model["generated"]
    return [
        ("decided by", model["gate"] or ("itself" if model["decides"] else "nobody")),
        ("weights and tokenizer", model["hash"]),
        ("prompts", f"{model['style']} ({model['dialect']}), preset {model['preset']}"),
        ("tokens, the same in both arms", model["budgets"]),
        ("decoding", f"{model['decoding']}, {model['batch']} at a time, on {model['device']}"),
        ("generated", f"{generated['started']}, commit {_commit(generated['git'])}"),
    ]


def _commit(git: Json) -> str:
    if not git:
        return "not a checkout"
    return f"{git['commit'][:12]}{' with changes' if git['dirty'] else ''}"
