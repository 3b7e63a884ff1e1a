"""``summary.json``: everything that an evaluation found, and the only source of the report's figures.

schema       version of this layout
kind         "retrieval-policies"
provenance   run.json: date, commit, configuration, versions
notes        statements of whoever ran it
remarks      what to know before believing the numbers
control      name of the FIM-only control, or null
data         blanks, repositories, retrieval, duplication
models       for each: settings, effect of context, seconds of the parts, decisions, by scope
rows         the table
comparisons  policies of deciding models against every other model that never or always retrieves
examples     blanks of one model side by side
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from repoformer.code.records import Prediction, Score
from repoformer.models.settings import ModelSettings

from .decision_quality import decision_quality
from .effect import effect_of_context, seconds_of_parts
from .examples import examples
from .outcomes import Floats, Outcomes, outcomes_of
from .policies import replay
from .recipe import EvalRecipe
from .remarks import remarks
from .retrieve import Prepared
from .table import Arm, Bootstrap, Comparison, differences, rows

SCHEMA = 1


@dataclass(frozen=True)
class Evaluated:
    """One model's results: from its files only."""

    name: str
    facts: Mapping[str, Any]
    made_with: Mapping[str, Any]
    predictions: Mapping[str, Prediction]
    scores: Mapping[str, Score]

    @cached_property
    def settings(self) -> ModelSettings:
        """The model's ``repoformer.json``, or what was detected."""
        return ModelSettings.model_validate(self.facts["settings"])

    @cached_property
    def outcomes(self) -> Outcomes:
        """As arrays."""
        return outcomes_of(list(self.predictions.values()), self.scores)

    @cached_property
    def policies(self) -> dict[str, Floats]:
        """Every policy that it can follow, as probabilities of retrieving."""
        return replay(self.outcomes, self.settings)

    def arm(self, policy: str, scope: str) -> Arm:
        """The model under one policy, on the blanks of one scope."""
        return Arm(self.outcomes, self.policies[policy]).of(scope)


def summarise(
    recipe: EvalRecipe,
    provenance: Mapping[str, Any],
    prepared: Sequence[Prepared],
    available: int,
    evaluated: Sequence[Evaluated],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The summary; ``available`` counts the held-out blanks of which ``prepared`` are those that were evaluated."""
    bootstrap = Bootstrap(recipe.resamples, recipe.seed)
    by_id = {one.blank.id: one for one in prepared}
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "retrieval-policies",
        "provenance": dict(provenance),
        "notes": list(notes),
        "control": recipe.control,
        "data": _data(recipe, prepared, available),
        "models": [_model(model, by_id) for model in evaluated],
        "rows": [
            asdict(row) for model in evaluated for row in rows(model.name, model.outcomes, model.policies, bootstrap)
        ],
        "comparisons": [asdict(comparison) for comparison in _comparisons(evaluated, bootstrap)],
        "examples": _examples(evaluated, by_id, recipe.seed),
    }
    return summary | {"remarks": remarks(summary)}


def _data(recipe: EvalRecipe, prepared: Sequence[Prepared], available: int) -> dict[str, Any]:
    blanks = [one.blank for one in prepared]
    repositories = Counter(blank.repository for blank in blanks)
    return {
        "path": recipe.data,
        "blanks": len(blanks),
        "available": available,
        "limit": recipe.limit,
        "partial": len(blanks) < available,
        "repositories": [{"id": id, "blanks": count} for id, count in sorted(repositories.items())],
        "kinds": dict(sorted(Counter(blank.kind for blank in blanks).items())),
        "strategies": sorted({one.context.strategy for one in prepared}),
        "top": recipe.retrieve.top,
        "nothing_retrieved": sum(not one.context.chunks for one in prepared),
        "stands_elsewhere": sum(one.stands_elsewhere for one in prepared),
        "target_retrieved": sum(_target_retrieved(one) for one in prepared),
    }


def _target_retrieved(one: Prepared) -> bool:
    lines = f"\n{one.blank.target}\n"
    return any(lines in f"\n{ranked.chunk.text}\n" for ranked in one.context.chunks)


def _model(model: Evaluated, prepared: Mapping[str, Prepared]) -> dict[str, Any]:
    outcomes, settings = model.outcomes, model.settings
    index_seconds = np.array([prepared[id].index_seconds for id in outcomes.ids.tolist()])
    duplicated = np.array([prepared[id].stands_elsewhere for id in outcomes.ids.tolist()], dtype=np.bool_)
    kinds = sorted(set(outcomes.kinds.tolist()))
    return {
        "name": model.name,
        "path": model.facts["path"],
        "hash": model.made_with["model"],
        "style": settings.style,
        "dialect": settings.dialect,
        "preset": settings.preset,
        "decoding": model.facts["decoding"],
        "batch": model.facts["batch"],
        "device": model.facts["device"],
        "generated": model.facts["generated"],
        "decides": outcomes.decides,
        "thresholds": {kind: settings.threshold(kind) for kind in kinds},
        "paper_thresholds": [kind for kind in kinds if kind not in settings.thresholds],
        "thresholds_from": settings.thresholds_from,
        "effect": {
            scope: effect_of_context(outcomes.where(chosen), duplicated[chosen])
            for scope, chosen in ((scope, outcomes.within(scope)) for scope in outcomes.scopes)
        },
        "seconds": seconds_of_parts(outcomes, index_seconds),
        "decisions": {scope: _decisions(model, scope) for scope in outcomes.scopes} if outcomes.decides else None,
    }


def _decisions(model: Evaluated, scope: str) -> dict[str, Any]:
    greedy, threshold = model.arm("greedy", scope), model.arm("threshold", scope)
    return decision_quality(greedy.outcomes, greedy.retrieves, threshold.retrieves)


def _comparisons(evaluated: Sequence[Evaluated], bootstrap: Bootstrap) -> list[Comparison]:
    """The deciding models at their own thresholds: against a coin, and against all other models, never and always."""
    return [
        Comparison(
            one.name,
            "threshold",
            other.name,
            policy,
            scope,
            differences(one.arm("threshold", scope), other.arm(policy, scope), bootstrap),
        )
        for one in evaluated
        if one.outcomes.decides
        for other in evaluated
        for policy in (("random",) if other is one else ("never", "always"))
        for scope in one.outcomes.scopes
    ]


def _examples(evaluated: Sequence[Evaluated], prepared: Mapping[str, Prepared], seed: int) -> dict[str, Any]:
    """Of the first deciding model at its own thresholds, else of the first model."""
    model = next((one for one in evaluated if one.outcomes.decides), evaluated[0])
    asked = None
    if model.outcomes.decides:
        ids, retrieves = model.outcomes.ids.tolist(), model.policies["threshold"].tolist()
        asked = {id: retrieve == 1 for id, retrieve in zip(ids, retrieves, strict=True)}
    elsewhere = {id: one.stands_elsewhere for id, one in prepared.items()}
    items = examples(model.predictions, model.scores, asked, elsewhere, seed)
    return {"model": model.name, "policy": "threshold" if asked else None, "items": items}
