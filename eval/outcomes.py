"""What one model did on all blanks, as arrays: the only thing that policies, tables and analyses look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from repoformer.code.records import Prediction, Score, TokenUncertainty

from .uncertainty import FEATURES, features

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Trial = Literal["none", "decision", "retrieval", "generation", "both"]
"""What a policy does for every blank before it completes: nothing, or what its decision rests on."""

SCOPE_ALL = "all"
"""The scope of all blanks; the others are the kinds."""


@dataclass(frozen=True)
class Outcomes:
    """One entry per blank in every array, in the order of their ids. Seconds are NaN where they were not measured."""

    ids: NDArray[np.str_]
    repositories: NDArray[np.str_]
    kinds: NDArray[np.str_]
    em_without: Floats
    em_with: Floats
    es_without: Floats
    es_with: Floats
    p_retrieve: Floats
    """P(``<cc>``); NaN for a model that takes no decision."""
    greedy: Floats
    """1 where ``<cc>`` was the arg-max, else 0; NaN for a model that takes no decision."""
    similarity: Floats
    """Score of the best hit; 0 where nothing was found."""
    nll_without: Floats
    """Mean negative log-probability of the tokens written without context; NaN for a model that does not tell it."""
    entropy_without: Floats
    """Mean entropy of the distributions that these tokens were taken from."""
    features: Floats
    """[blanks, len(FEATURES)]: what the estimator sees of the completion without context."""
    features_with: Floats
    """The same of the completion with context."""
    decide_seconds: Floats
    """The prefill of left and right context, at whose end the model's own decision is read."""
    gate_seconds: Floats
    """The same prefill in another model that decides in its place; 0 without one."""
    retrieve_seconds: Floats
    index_seconds: Floats
    """What building the index of the blank's repository takes: the first retrieval there waits for it."""
    without_seconds: Floats
    with_seconds: Floats

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def decides(self) -> bool:
        """Whether the model takes a decision of its own."""
        return bool(len(self)) and not bool(np.isnan(self.p_retrieve).any())

    @property
    def gain(self) -> Floats:
        """ES with context - ES without."""
        return self.es_with - self.es_without

    @property
    def wants_context(self) -> Mask:
        """The label of the model's own behaviour: context raises its edit similarity."""
        return self.gain > 0

    @property
    def measured(self) -> Mask:
        """The blanks whose seconds were measured."""
        return ~np.isnan(self.decide_seconds + self.gate_seconds)

    @property
    def tells_uncertainty(self) -> bool:
        """Whether it is known how sure the model was of its tokens."""
        return bool(len(self)) and not bool(np.isnan(self.nll_without).any())

    def seconds(self, retrieves: Floats, trial: Trial = "none", *, cold: bool = False) -> Floats:
        """Seconds of each completion when a share ``retrieves`` of it takes context; NaN where unmeasured.

        One pass at batch size one on a warm model, with the repository's index at hand unless ``cold``: T_decide (the
        prefill of left and right context, at whose end the decision is read), then either the short branch or
        T_retrieve and the branch with context. This is section 3.3's latency: T_g, or T_r + T_g, where T_g holds the
        prefill, and the decision costs nothing of its own because it is read from that prefill. Models that take no
        decision do the same work.

        A gate's prefill comes on top for those who ask for its decision, and for nobody else. A trial comes before the
        decision: trial retrieval always retrieves, trial generation always completes without context and, where it then
        wants context, once more; who compares both completions has paid for both.
        """
        retrieval = self.retrieve_seconds + self.index_seconds if cold else self.retrieve_seconds
        if trial == "both":
            return self.decide_seconds + self.without_seconds + retrieval + self.with_seconds
        if trial == "generation":
            return self.decide_seconds + self.without_seconds + retrieves * (retrieval + self.with_seconds)
        if trial == "retrieval":
            branch = expected(self.without_seconds, self.with_seconds, retrieves)
            return self.decide_seconds + retrieval + branch
        decided = self.decide_seconds + self.gate_seconds if trial == "decision" else self.decide_seconds
        return decided + expected(self.without_seconds, retrieval + self.with_seconds, retrieves)

    def where(self, chosen: Mask) -> Outcomes:
        """The chosen blanks only."""
        return replace(self, **{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    @property
    def scopes(self) -> list[str]:
        """All blanks, then each kind that has any."""
        return [SCOPE_ALL, *sorted(set(self.kinds.tolist()))]

    def within(self, scope: str) -> Mask:
        """Which blanks are of this scope."""
        return np.ones(len(self), dtype=np.bool_) if scope == SCOPE_ALL else self.kinds == scope


def expected(without: Floats, with_context: Floats, retrieves: Floats) -> Floats:
    """A quantity of each blank when context is taken with probability ``retrieves``: 0 and 1 pick one of the two."""
    return (1 - retrieves) * without + retrieves * with_context


def outcomes_of(
    predictions: Sequence[Prediction], scores: Mapping[str, Score], index_seconds: Mapping[str, float]
) -> Outcomes:
    """Arrays from records; ``scores`` and ``index_seconds`` by the id of the blank."""
    ordered = sorted(predictions, key=lambda prediction: prediction.blank.id)
    scored = [scores[prediction.blank.id] for prediction in ordered]
    blanks = [prediction.blank for prediction in ordered]
    told = _features([prediction.uncertainty_without for prediction in ordered])
    return Outcomes(
        ids=_names([blank.id for blank in blanks]),
        repositories=_names([blank.repository for blank in blanks]),
        kinds=_names([blank.kind for blank in blanks]),
        em_without=_floats([score.em_without for score in scored]),
        em_with=_floats([score.em_with for score in scored]),
        es_without=_floats([score.es_without for score in scored]),
        es_with=_floats([score.es_with for score in scored]),
        p_retrieve=_floats([prediction.p_retrieve for prediction in ordered]),
        greedy=_floats([prediction.greedy for prediction in ordered]),
        similarity=_floats(
            [prediction.context.chunks[0].score if prediction.context.chunks else 0 for prediction in ordered]
        ),
        nll_without=told[:, FEATURES.index("mean surprise")],
        entropy_without=told[:, FEATURES.index("mean entropy")],
        features=told,
        features_with=_features([prediction.uncertainty_with for prediction in ordered]),
        decide_seconds=_floats([prediction.decide_seconds for prediction in ordered]),
        gate_seconds=np.zeros(len(ordered)),
        retrieve_seconds=_floats([prediction.retrieve_seconds for prediction in ordered]),
        index_seconds=_floats([index_seconds[blank.id] for blank in blanks]),
        without_seconds=_floats([prediction.generate_without_seconds for prediction in ordered]),
        with_seconds=_floats([prediction.generate_with_seconds for prediction in ordered]),
    )


def _names(values: Sequence[str]) -> NDArray[np.str_]:
    return np.array(values, dtype=np.str_)


def _features(told: Sequence[TokenUncertainty | None]) -> Floats:
    return np.array([features(one) for one in told]).reshape(-1, len(FEATURES))


def _floats(values: Sequence[Any]) -> Floats:
    """None becomes NaN."""
    return np.array(values, dtype=np.float64)
