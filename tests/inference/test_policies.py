"""Each policy's decision, and which of them need a model that can assess itself."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Kind
from repoformer.errors import UserError
from repoformer.inference.policies import POLICIES, Always, Greedy, Never, Threshold, policy_named
from repoformer.models.settings import ModelSettings

KINDS = st.sampled_from(get_args(Kind))
PROBABILITIES = st.floats(min_value=0, max_value=1)


@given(PROBABILITIES, st.booleans(), KINDS)
def test_never_and_always_do_not_look(p: float, greedy: bool, kind: Kind) -> None:
    assert not Never().retrieve(p, greedy, kind)
    assert Always().retrieve(p, greedy, kind)
    assert Always().retrieve(None, None, kind)


@given(PROBABILITIES, st.booleans(), KINDS)
def test_greedy_follows_the_most_likely_token(p: float, greedy: bool, kind: Kind) -> None:
    assert Greedy().retrieve(p, greedy, kind) == greedy


@given(PROBABILITIES, PROBABILITIES, KINDS)
def test_a_threshold_must_be_exceeded(p: float, threshold: float, kind: Kind) -> None:
    assert Threshold(threshold).retrieve(p, None, kind) == (p > threshold)


def test_equal_to_the_threshold_is_not_above_it() -> None:
    assert not Threshold(0.2).retrieve(0.2, None, "line")


def test_a_threshold_may_depend_on_the_kind() -> None:
    policy = Threshold.of(ModelSettings(thresholds={"chunk": 0.5}))
    assert [policy.above(kind) for kind in get_args(Kind)] == [0.2, 0.2, 0.5, 0.15]
    assert not policy.retrieve(0.3, None, "chunk")
    assert policy.retrieve(0.3, None, "line")


@pytest.mark.parametrize("name", POLICIES)
def test_policies_have_names(name: str) -> None:
    assert policy_named(name, ModelSettings()).name == name


def test_only_self_assessment_needs_a_decision() -> None:
    assert [policy_named(name, ModelSettings()).needs_decision for name in POLICIES] == [True, True, False, False]


def test_a_given_threshold_replaces_the_models_own() -> None:
    assert policy_named("threshold", ModelSettings(thresholds={"line": 0.9}), 0.3) == Threshold(0.3)


@pytest.mark.parametrize(
    ("name", "threshold", "message"),
    [
        ("sometimes", None, "policy 'sometimes' is unknown; choose one of threshold, greedy, never, always"),
        ("always", 0.5, "says nothing to the policy 'always'"),
        ("threshold", 1.5, "threshold 1.5: a probability lies between 0 and 1"),
        ("threshold", float("nan"), "a probability lies between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, threshold: float | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        policy_named(name, ModelSettings(), threshold)
