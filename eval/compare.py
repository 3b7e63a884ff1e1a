"""Two evaluations side by side, paired over the blanks that both completed.

A/ and B/ are folders of finished evaluations; everything comes from their files.

OUT/comparison.json   differences B - A with intervals, what else differs between the runs, blanks to look at
OUT/comparison.html   the same to look at
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repoformer.code.records import Blank
from repoformer.code.storage import read_json, write_json
from repoformer.errors import UserError
from repoformer.report.markdown import write_page

from .outcomes import Floats, Mask, expected
from .retrieve import Retrieved
from .runner import evaluated, recipe_of
from .summary import Evaluated
from .table import Arm, Bootstrap, arm_of

SCHEMA = 1
FEW_REPOSITORIES = 10
EXAMPLES = 8
"""Blanks shown of each sort: where B is better, and where A is."""


@dataclass(frozen=True)
class Run:
    """A finished evaluation."""

    folder: Path
    record: Mapping[str, Any]
    asked: Retrieved
    models: dict[str, Evaluated]

    @classmethod
    def read(cls, folder: Path) -> Run:
        """From its folder, wherever that lies now."""
        asked, models = evaluated(recipe_of(folder))
        return cls(folder, read_json(folder / "run.json"), asked, {model.name: model for model in models})

    @property
    def blanks(self) -> dict[str, Blank]:
        """What was asked, by id."""
        return {one.blank.id: one.blank for one in self.asked.prepared}


@dataclass(frozen=True)
class Pair:
    """A model of A and a model of B, both on the shared blanks, in the same order."""

    a: Evaluated
    b: Evaluated
    shared: frozenset[str]

    @property
    def policies(self) -> list[str]:
        """Those that both can follow."""
        return [policy for policy in self.a.policies if policy in self.b.policies]

    def arms(self, policy: str) -> tuple[Arm, Arm]:
        """Both under one policy."""
        return self._arm(self.a, policy), self._arm(self.b, policy)

    def _arm(self, model: Evaluated, policy: str) -> Arm:
        return arm_of(model.outcomes, model.policies, policy).where(self.mask(model))

    def mask(self, model: Evaluated) -> Mask:
        """Which of a model's blanks are shared."""
        return np.array([id in self.shared for id in model.outcomes.ids.tolist()], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of both models under one policy."""

    model_a: str
    model_b: str
    policy: str
    scope: str
    metric: str
    n: int
    repositories: int
    a: float
    b: float
    retrieved_a: float
    retrieved_b: float
    better: int
    worse: int
    """Blanks on which B is better than A, and worse."""
    difference: Mapping[str, Any]


def compare(
    a: Path, b: Path, pairs: Mapping[str, str] | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Everything that is in ``comparison.json``; ``pairs`` names models of A and B that belong together.

    Without ``pairs`` models of the same name do, or the only model of each.
    """
    one, other = Run.read(a), Run.read(b)
    shared = _shared(one, other)
    bootstrap = Bootstrap(resamples, seed)
    paired = [
        Pair(one.models[left], other.models[right], frozenset(shared))
        for left, right in _names(one, other, pairs or {}).items()
    ]
    comparison: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "comparison",
        "a": _provenance(one),
        "b": _provenance(other),
        "shared": len(shared),
        "only_a": len(one.blanks) - len(shared),
        "only_b": len(other.blanks) - len(shared),
        "repositories": len({one.blanks[id].repository for id in shared}),
        "settings": _settings(one, other),
        "rows": [asdict(row) for pair in paired for row in _rows(pair, bootstrap)],
        "by_repository": [row for pair in paired for row in _by_repository(pair)],
        "examples": [example for pair in paired for example in _examples(pair)],
    }
    return comparison | {"remarks": _remarks(comparison)}


def write(comparison: Mapping[str, Any], out: Path) -> None:
    """Both files."""
    from .comparison_page import render

    write_json(out / "comparison.json", comparison)
    write_page(out / "comparison.html", render(comparison))


# -- what is compared ------------------------------------------------------------------------------------------------


def _shared(one: Run, other: Run) -> list[str]:
    """Blanks of both runs that ask for the same in the same place."""
    mine, theirs = one.blanks, other.blanks
    same = [id for id in mine if id in theirs and _question(mine[id]) == _question(theirs[id])]
    if not same:
        raise UserError(
            f"{one.folder} and {other.folder} have no blank in common; only runs over the same blanks compare"
        )
    return sorted(same)


def _question(blank: Blank) -> tuple[str, ...]:
    return (blank.repository, blank.path, blank.kind, blank.left, blank.right, blank.target)


def _names(one: Run, other: Run, pairs: Mapping[str, str]) -> dict[str, str]:
    for run, asked in ((one, pairs.keys()), (other, pairs.values())):
        unknown = sorted(set(asked) - run.models.keys())
        if unknown:
            raise UserError(f"{run.folder}: no model {', '.join(unknown)}; it has {', '.join(run.models)}")
    if pairs:
        return dict(pairs)
    same = {name: name for name in one.models if name in other.models}
    if not same and len(one.models) == len(other.models) == 1:
        return {next(iter(one.models)): next(iter(other.models))}
    if not same:
        raise UserError(
            f"no model has the same name in both runs ({', '.join(one.models)}; {', '.join(other.models)}); "
            "say which belong together: --models NAME_IN_A=NAME_IN_B"
        )
    return same


def _rows(pair: Pair, bootstrap: Bootstrap) -> Iterator[Row]:
    for policy in pair.policies:
        left, right = pair.arms(policy)
        for scope in left.outcomes.scopes:
            mine, theirs = left.of(scope), right.of(scope)
            for metric, values in _metrics(pair, mine, theirs).items():
                yield _row(pair, policy, scope, metric, (mine, theirs), values, bootstrap)


def _row(
    pair: Pair,
    policy: str,
    scope: str,
    metric: str,
    arms: tuple[Arm, Arm],
    values: tuple[Floats, Floats],
    bootstrap: Bootstrap,
) -> Row:
    known = ~np.isnan(values[0]) & ~np.isnan(values[1])
    one, other = values[0][known], values[1][known]
    arm_a, arm_b = (arm.where(known) for arm in arms)
    return Row(
        model_a=pair.a.name,
        model_b=pair.b.name,
        policy=policy,
        scope=scope,
        metric=metric,
        n=len(one),
        repositories=len(set(arm_a.outcomes.repositories.tolist())),
        a=float(one.mean()),
        b=float(other.mean()),
        retrieved_a=arm_a.share_retrieved,
        retrieved_b=arm_b.share_retrieved,
        better=int((other > one).sum()),
        worse=int((other < one).sum()),
        difference=asdict(bootstrap.difference(other, one, arm_a.outcomes)),
    )


def _metrics(pair: Pair, one: Arm, other: Arm) -> dict[str, tuple[Floats, Floats]]:
    """Every metric that both have, [blanks] each; NaN where one of them has no value for a blank."""
    found = {"EM": (one.em, other.em), "ES": (one.es, other.es)}
    mine, theirs = _named(pair.a, one), _named(pair.b, other)
    found |= {name: (mine[name], theirs[name]) for name in mine if name in theirs}
    tests = _unit_tests(pair.a, one), _unit_tests(pair.b, other)
    if tests[0] is not None and tests[1] is not None and not np.isnan(tests[0] + tests[1]).all():
        found["unit tests"] = (tests[0], tests[1])
    return found


def _named(model: Evaluated, arm: Arm) -> dict[str, Floats]:
    """The benchmark's own metrics."""
    scores = [model.scores[id] for id in arm.outcomes.ids.tolist()]
    return {
        named.name: expected(
            np.array([score.named[place].without for score in scores]),
            np.array([score.named[place].with_context for score in scores]),
            arm.retrieves,
        )
        for place, named in enumerate(scores[0].named)
    }


def _unit_tests(model: Evaluated, arm: Arm) -> Floats | None:
    """Verdicts of `eval execute` on what the model completed, if it was run."""
    if not model.verdicts:
        return None
    judged = [model.verdicts.get(id) for id in arm.outcomes.ids.tolist()]
    without = np.array([np.nan if one is None else one.passed_without for one in judged])
    with_context = np.array([np.nan if one is None else one.passed_with for one in judged])
    return expected(without, with_context, arm.retrieves)


# -- what to look at -------------------------------------------------------------------------------------------------


def _shown(pair: Pair) -> str:
    """The policy that is looked at closely: the models' own decisions, if both take some."""
    return next(policy for policy in ("threshold", "always") if policy in pair.policies)


def _by_repository(pair: Pair) -> list[dict[str, Any]]:
    policy = _shown(pair)
    one, other = pair.arms(policy)
    repositories = one.outcomes.repositories
    rows = []
    for name in sorted(set(repositories.tolist())):
        of_it = repositories == name
        a, b = float(one.es[of_it].mean()), float(other.es[of_it].mean())
        rows.append(
            {"model_a": pair.a.name, "model_b": pair.b.name, "policy": policy, "repository": name}
            | {"n": int(of_it.sum()), "a": a, "b": b, "difference": b - a}
        )
    return rows


def _examples(pair: Pair) -> list[dict[str, Any]]:
    policy = _shown(pair)
    one, other = pair.arms(policy)
    gains = other.es - one.es
    order = np.argsort(gains, kind="stable").tolist()
    chosen = [place for place in order[::-1][:EXAMPLES] if gains[place] > 0]
    chosen += [place for place in order[:EXAMPLES] if gains[place] < 0]
    return [_example(pair, policy, one.outcomes.ids[place], (one, other), place) for place in chosen]


def _example(pair: Pair, policy: str, id: str, arms: tuple[Arm, Arm], place: int) -> dict[str, Any]:
    blank = pair.a.predictions[id].blank
    return {
        "model_a": pair.a.name,
        "model_b": pair.b.name,
        "policy": policy,
        "id": str(id),
        "repository": blank.repository,
        "path": blank.path,
        "line": blank.start + 1,
        "left": "\n".join(blank.left.split("\n")[-9:]),
        "target": blank.target,
        "a": _text(pair.a, id, arms[0].retrieves[place]),
        "b": _text(pair.b, id, arms[1].retrieves[place]),
        "es_a": float(arms[0].es[place]),
        "es_b": float(arms[1].es[place]),
    }


def _text(model: Evaluated, id: str, retrieves: float) -> str:
    prediction = model.predictions[id]
    return prediction.text_with if retrieves > 0.5 else prediction.text_without


def _provenance(run: Run) -> dict[str, Any]:
    return {
        "folder": str(run.folder),
        "started": run.record["started"],
        "commit": run.record["git"].get("commit", ""),
        "models": list(run.models),
        "blanks": len(run.blanks),
    }


def _settings(one: Run, other: Run) -> list[dict[str, Any]]:
    """Values of the recipes that differ, by dotted key."""
    a, b = (dict(_flat(run.record["config"])) for run in (one, other))
    return [
        {"key": key, "a": a.get(key), "b": b.get(key)}
        for key in sorted(a.keys() | b.keys())
        if not key.startswith(("out", "published", "figures")) and a.get(key) != b.get(key)
    ]


def _flat(values: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, Mapping):
        for name, value in values.items():
            yield from _flat(value, f"{key}.{name}" if key else str(name))
    elif isinstance(values, Sequence) and not isinstance(values, str):
        for place, value in enumerate(values):
            yield from _flat(value, f"{key}[{place}]")
    else:
        yield key, values


def _remarks(comparison: Mapping[str, Any]) -> list[str]:
    remarks = []
    if comparison["only_a"] or comparison["only_b"]:
        remarks.append(
            f"{comparison['shared']} blanks are shared and compared; {comparison['only_a']} are only in A and "
            f"{comparison['only_b']} only in B."
        )
    if comparison["repositories"] < FEW_REPOSITORIES:
        remarks.append(f"Only {comparison['repositories']} repositories: intervals are too narrow.")
    inputs = [each["key"] for each in comparison["settings"] if each["key"].startswith(("retrieve.", "benchmark."))]
    if inputs:
        remarks.append(f"The models saw different contexts: {', '.join(inputs)} differ.")
    return remarks
