"""``summary.json``: everything that an evaluation found, and the only source of the report's figures.

schema       version of this layout
kind         "retrieval-policies"
provenance   run.json: date, commit, configuration, versions
notes        statements of whoever ran it
remarks      what to know before believing the numbers
control      name of the FIM-only control, or null
data         blanks, repositories, level of chance, retrieval, duplication
models       for each: settings, effect of context, empty completions, seconds of the parts, decisions; other signals
rows         the table
metrics      the benchmark's own, for every policy that this model can follow, with both means
unit_tests   what the repositories' own tests say, as `eval execute` left it; null where it was not run
published    a publication's numbers beside ours; null where this run has none
comparisons  policies of deciding models against every other model that never or always retrieves
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from tqdm import tqdm

from repoformer.code.records import Prediction, Score
from repoformer.context.next_chunk_settings import NextChunkSettings
from repoformer.metrics.means import mean_over_instances, mean_over_repositories
from repoformer.models.settings import ModelSettings

from .chance import chance_level
from .decision_quality import decision_quality
from .effect import (
    effect_by_repository,
    effect_of_context,
    effect_where_asked,
    empty_completions,
    seconds_of_parts,
)
from .execute import pass_rate
from .execute.pass_rate import UnitTests
from .outcomes import Floats, Outcomes, expected, outcomes_of
from .policies import TRIALS, replay, trial_signals
from .published import published
from .recipe import EvalRecipe
from .remarks import remarks
from .retrieve import Prepared, Retrieved
from .signals import signal_quality
from .table import Arm, Bootstrap, Comparison, Row, arm_of, differences, rows

SCHEMA = 4

_SELECTORS = ("random", *TRIALS)
"""What a model's own decisions are compared with: all but ``select`` at the same share of blanks."""


@dataclass(frozen=True)
class Evaluated:
    """One model's results: from its files only."""

    name: str
    facts: Mapping[str, Any]
    made_with: Mapping[str, Any]
    predictions: Mapping[str, Prediction]
    scores: Mapping[str, Score]
    index_seconds: Mapping[str, float]
    gate: Evaluated | None = None
    """The model that decides in this one's place."""
    verdicts: Mapping[str, UnitTests] = field(default_factory=dict)
    """Of the repositories' own tests on these predictions, where they were executed."""

    @cached_property
    def settings(self) -> ModelSettings:
        """The model's ``repoformer.json``, or what was detected."""
        return ModelSettings.model_validate(self.facts["settings"])

    @property
    def deciding(self) -> Evaluated:
        """The model whose decisions and thresholds count: the gate, or the model itself."""
        return self.gate or self

    @cached_property
    def outcomes(self) -> Outcomes:
        """As arrays; those of a gated model hold the gate's decisions, and what they took."""
        own = outcomes_of(list(self.predictions.values()), self.scores, self.index_seconds)
        if self.gate is None:
            return own
        decided = self.gate.outcomes
        assert own.ids.tolist() == decided.ids.tolist(), "a gate decides on the same blanks"
        return replace(own, p_retrieve=decided.p_retrieve, greedy=decided.greedy, gate_seconds=decided.decide_seconds)

    @cached_property
    def signals(self) -> dict[str, Floats]:
        """What one could select by that is not its own decision."""
        return trial_signals(self.outcomes)

    @cached_property
    def policies(self) -> dict[str, Floats]:
        """Every policy that it can follow, as probabilities of retrieving."""
        return replay(self.outcomes, self.deciding.settings, self.signals)

    def arm(self, policy: str, scope: str) -> Arm:
        """The model under one policy, on the blanks of one scope."""
        return arm_of(self.outcomes, self.policies, policy).of(scope)


def summarise(
    recipe: EvalRecipe,
    provenance: Mapping[str, Any],
    asked: Retrieved,
    evaluated: Sequence[Evaluated],
    notes: Sequence[str] = (),
    executed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The summary of what these models made of all blanks that were ``asked``.

    ``executed``: ``unit_tests.json``, where the repositories' tests were run.
    """
    bootstrap = Bootstrap(recipe.resamples, recipe.seed)
    by_id = {one.blank.id: one for one in asked.prepared}
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "retrieval-policies",
        "provenance": dict(provenance),
        "notes": list(notes),
        "control": recipe.control,
        "data": _data(recipe, asked),
        "models": [_model(model, by_id, recipe.retrieve) for model in tqdm(evaluated, desc="analyse", unit="model")],
        "rows": [asdict(row) for row in _rows(evaluated, bootstrap)],
        "metrics": [row for model in evaluated for row in _metric_rows(model, asked.source.metrics)],
        "unit_tests": _unit_tests(evaluated, executed, bootstrap) if executed else None,
        "comparisons": [asdict(comparison) for comparison in _comparisons(evaluated, bootstrap)],
    }
    summary["published"] = published(recipe, summary)
    return summary | {"remarks": remarks(summary)}


def _rows(evaluated: Sequence[Evaluated], bootstrap: Bootstrap) -> Iterator[Row]:
    total = sum(len(model.policies) * len(model.outcomes.scopes) for model in evaluated)
    with tqdm(total=total, desc="bootstrap", unit="row") as bar:
        for model in evaluated:
            for row in rows(model.name, model.outcomes, model.policies, bootstrap):
                bar.update()
                yield row


def _unit_tests(evaluated: Sequence[Evaluated], executed: Mapping[str, Any], bootstrap: Bootstrap) -> dict[str, Any]:
    """What was executed, with pass rates under every policy that a model can follow."""
    models = {}
    for model in evaluated:
        ids = model.outcomes.ids.tolist()
        judged = [place for place, id in enumerate(ids) if id in model.verdicts]
        if judged:
            verdicts = [model.verdicts[ids[place]] for place in judged]
            policies = {name: retrieves[judged].tolist() for name, retrieves in model.policies.items()}
            models[model.name] = pass_rate.summarise(
                verdicts, policies, resamples=bootstrap.resamples, seed=bootstrap.seed
            )
    return dict(executed) | {"models": models}


def _data(recipe: EvalRecipe, asked: Retrieved) -> dict[str, Any]:
    prepared = asked.prepared
    blanks = [one.blank for one in prepared]
    repositories = Counter(blank.repository for blank in blanks)
    elsewhere = [one.stands_elsewhere for one in prepared if one.stands_elsewhere is not None]
    return {
        "source": asked.source.to_json(),
        "blanks": len(blanks),
        "available": asked.available,
        "limit": recipe.limit,
        "partial": len(blanks) < asked.available,
        "chance_es": chance_level(blanks, recipe.seed),
        "repositories": [{"id": id, "blanks": count} for id, count in sorted(repositories.items())],
        "kinds": dict(sorted(Counter(blank.kind for blank in blanks).items())),
        "strategies": sorted({one.context.strategy for one in prepared}),
        "top": recipe.retrieve.top,
        "right_context": recipe.right_context,
        "nothing_retrieved": sum(not one.context.chunks for one in prepared),
        "query_holds_target": sum(one.context.query_holds_target for one in prepared),
        "stands_elsewhere": sum(elsewhere),
        "stands_elsewhere_known": len(elsewhere),
        "target_retrieved": sum(_target_retrieved(one) for one in prepared),
    }


def _target_retrieved(one: Prepared) -> bool:
    lines = f"\n{one.blank.target}\n"
    return any(lines in f"\n{ranked.chunk.text}\n" for ranked in one.context.chunks)


def _model(model: Evaluated, prepared: Mapping[str, Prepared], retrieval: NextChunkSettings) -> dict[str, Any]:
    outcomes, settings = model.outcomes, model.settings
    ordered = [prepared[id] for id in outcomes.ids.tolist()]
    known = all(one.stands_elsewhere is not None for one in ordered)
    duplicated = np.array([one.stands_elsewhere for one in ordered], dtype=np.bool_) if known else None
    duplication = np.array([one.duplication for one in ordered], dtype=np.float64)
    deciding = model.deciding.settings
    kinds = sorted(set(outcomes.kinds.tolist()))
    return {
        "name": model.name,
        "path": model.facts["path"],
        "hash": model.made_with["model"],
        "style": settings.style,
        "trained_with_other": other_retrieval(settings, retrieval),
        "fine_tuned": bool(settings.labels),  # only the trainer's export says how labels were made
        "dialect": settings.dialect,
        "preset": settings.preset,
        "budgets": model.facts["budgets"],
        "gate": model.gate.name if model.gate else None,
        "decoding": model.facts["decoding"],
        "batch": model.facts["batch"],
        "device": model.facts["device"],
        "generated": model.facts["generated"],
        "decides": outcomes.decides,
        "thresholds": {kind: deciding.threshold(kind) for kind in kinds},
        "paper_thresholds": [kind for kind in kinds if kind not in deciding.thresholds],
        "thresholds_from": deciding.thresholds_from,
        "effect": {
            scope: effect_of_context(outcomes.where(chosen), None if duplicated is None else duplicated[chosen])
            for scope, chosen in ((scope, outcomes.within(scope)) for scope in outcomes.scopes)
        },
        "empty": empty_completions(model.predictions.values()),
        "by_repository": effect_by_repository(outcomes, duplication),
        "asked": {
            policy: effect_where_asked(outcomes, model.policies[policy])
            for policy in ("greedy", "threshold")
            if policy in model.policies
        },
        "signals": signal_quality(outcomes, model.signals),
        "seconds": seconds_of_parts(outcomes),
        "decisions": {scope: _decisions(model, scope) for scope in outcomes.scopes} if outcomes.decides else None,
    }


def other_retrieval(settings: ModelSettings, retrieval: NextChunkSettings) -> dict[str, Any]:
    """What of the retrieval behind the model's labels, where that is known, is another than evaluated here."""
    evaluated = retrieval.model_dump()
    return {name: value for name, value in settings.retrieval.items() if value != evaluated[name]}


def _decisions(model: Evaluated, scope: str) -> dict[str, Any]:
    greedy, threshold = model.arm("greedy", scope), model.arm("threshold", scope)
    return decision_quality(greedy.outcomes, greedy.retrieves, threshold.retrieves)


def _metric_rows(model: Evaluated, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The benchmark's metrics under every policy; each with the mean over instances and over repositories."""
    outcomes = model.outcomes
    scores = [model.scores[id] for id in outcomes.ids.tolist()]
    repositories = outcomes.repositories.tolist()
    for place, name in enumerate(names):
        without, with_context = np.array([(s.named[place].without, s.named[place].with_context) for s in scores]).T
        for policy, retrieves in model.policies.items():
            values = expected(without, with_context, retrieves).tolist()
            yield {
                "model": model.name,
                "policy": policy,
                "metric": name,
                "n": len(values),
                "repositories": len(set(repositories)),
                "instances_mean": mean_over_instances(values),
                "repositories_mean": mean_over_repositories(values, repositories),
            }


def _comparisons(evaluated: Sequence[Evaluated], bootstrap: Bootstrap) -> list[Comparison]:
    """The deciding models at their own thresholds: against other selectors, and all other models, never and always."""
    pairs = [
        (one, other, policy, scope)
        for one in evaluated
        if one.outcomes.decides
        for other in evaluated
        for policy in (_SELECTORS if other is one else ("never", "always"))
        if policy in other.policies
        for scope in one.outcomes.scopes
    ]
    return [
        Comparison(
            one.name,
            "threshold",
            other.name,
            policy,
            scope,
            differences(one.arm("threshold", scope), other.arm(policy, scope), bootstrap),
        )
        for one, other, policy, scope in tqdm(pairs, desc="compare", unit="pair", disable=not pairs)
    ]
