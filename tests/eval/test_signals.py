"""Selectors that look at something else than the model's own decision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import TokenUncertainty
from repoformer.eval.estimator import LEAST_BLANKS, estimated_gain, estimated_similarity
from repoformer.eval.outcomes import Outcomes
from repoformer.eval.policies import highest_at_the_share_of, replay, trial_signals
from repoformer.eval.signals import signal_quality
from repoformer.eval.table import Bootstrap, rows
from repoformer.eval.uncertainty import FEATURES, features
from repoformer.models.settings import ModelSettings

Make = Callable[[list[Any]], Outcomes]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.sampled_from(["chunk", "function"]))))
def test_a_signal_takes_the_budget_of_each_kind_and_its_highest_blanks(
    blank_result: Any, outcomes_from: Make, drawn: list[tuple[float, bool, str]]
) -> None:
    outcomes = outcomes_from([blank_result(kind=kind, p=0.5) for _, _, kind in drawn])
    signal = np.array([value for value, _, _ in drawn])
    retrieves = np.array([float(asks) for _, asks, _ in drawn])
    taken = highest_at_the_share_of(outcomes, signal, retrieves)
    for kind in ("chunk", "function"):
        mine = np.array([one == kind for _, _, one in drawn], dtype=bool)
        assert taken[mine].sum() == pytest.approx(retrieves[mine].sum())
        order = sorted(zip(signal[mine], taken[mine], strict=True))
        assert [one for _, one in order] == sorted(one for _, one in order)


def with_features(outcomes: Outcomes, rng: np.random.Generator) -> Outcomes:
    told = rng.random((len(outcomes), len(FEATURES)))
    told[:, 0] = 1 - outcomes.es_without  # unsure where it is wrong
    return replace(outcomes, features=told, nll_without=told[:, 5], entropy_without=told[:, 0])


def test_the_estimator_finds_what_the_tokens_tell(blank_result: Any, outcomes_from: Make) -> None:
    rng = np.random.default_rng(0)
    drawn = rng.random(120)
    made = [blank_result(repository=f"r{n % 6}", es_without=float(es), es_with=0.5) for n, es in enumerate(drawn)]
    outcomes = with_features(outcomes_from(made), rng)
    estimates = estimated_similarity(outcomes)
    assert estimates is not None
    assert np.corrcoef(estimates, outcomes.es_without)[0, 1] > 0.9
    quality = signal_quality(outcomes, trial_signals(outcomes))
    assert quality["estimator"]["auroc"]["value"] > 0.9
    assert quality["trial-entropy"]["auroc"]["value"] == pytest.approx(1)
    assert 0.3 < quality["trial-uncertainty"]["auroc"]["value"] < 0.7


def test_a_blanks_estimate_has_not_seen_its_repository(blank_result: Any, outcomes_from: Make) -> None:
    """The features name the repository, and the repository decides: who had seen it would know."""
    quality = (0.9, 0.1, 0.8, 0.2)
    numbers = [n % 4 for n in range(LEAST_BLANKS)]
    outcomes = outcomes_from([blank_result(repository=f"r{n}", es_without=quality[n], es_with=0.5) for n in numbers])
    told = np.tile(np.array(numbers, dtype=float)[:, None], (1, len(FEATURES)))
    estimates = estimated_similarity(replace(outcomes, features=told, nll_without=told[:, 0]))
    assert estimates is not None
    assert np.abs(estimates - outcomes.es_without).min() > 0.05


@pytest.mark.parametrize(("repositories", "blanks"), [(1, 100), (5, LEAST_BLANKS - 1)])
def test_too_little_to_fit_gives_no_estimator(
    blank_result: Any, outcomes_from: Make, repositories: int, blanks: int
) -> None:
    made = [blank_result(repository=f"r{n % repositories}") for n in range(blanks)]
    assert estimated_similarity(with_features(outcomes_from(made), np.random.default_rng(0))) is None


def test_select_keeps_the_completion_that_its_tokens_speak_for(blank_result: Any, outcomes_from: Make) -> None:
    drawn = np.random.default_rng(0).random((120, 2))
    made = [
        blank_result(repository=f"r{n % 6}", es_without=float(a), es_with=float(b)) for n, (a, b) in enumerate(drawn)
    ]
    plain = outcomes_from(made)
    assert "select" not in replay(plain, ModelSettings()), "nothing is known of the tokens"
    outcomes = replace(plain, features=drawn[:, :1].repeat(13, 1), features_with=drawn[:, 1:].repeat(13, 1))
    table = {row.policy: row for row in rows("m", outcomes, replay(outcomes, ModelSettings()), Bootstrap(100, 0))}
    assert table["oracle"].es >= table["select"].es > max(table["never"].es, table["always"].es)
    assert (table["select"].share_retrieved, table["oracle"].share_retrieved < 1) == (1.0, True)
    assert 0 < table["select"].share_with_context < 1


def test_select_has_not_seen_the_repository(blank_result: Any, outcomes_from: Make) -> None:
    """In every repository the features say something else about the similarity: what others teach is useless there."""
    rng = np.random.default_rng(0)
    made = [blank_result(repository=f"r{n % 4}", es_without=float(rng.random()), es_with=0.5) for n in range(80)]
    outcomes = outcomes_from(made)
    sign = np.where(outcomes.repositories == "r0", -1.0, 1.0)
    told = (sign * outcomes.es_without)[:, None].repeat(13, 1)
    gain = estimated_gain(replace(outcomes, features=told, features_with=np.full_like(told, 0.5)))
    assert gain is not None
    mine = outcomes.repositories == "r0"
    assert np.corrcoef(gain[mine], outcomes.gain[mine])[0, 1] < np.corrcoef(gain[~mine], outcomes.gain[~mine])[0, 1]


def test_trials_are_paid_for_every_blank(blank_result: Any, outcomes_from: Make) -> None:
    decide, retrieve, without, with_context = 1.0, 2.0, 3.0, 4.0
    outcomes = outcomes_from([blank_result(seconds=(decide, retrieve, without, with_context))])
    for retrieves, retrieval, generation in ((0.0, 1 + 2 + 3, 1 + 3), (1.0, 1 + 2 + 4, 1 + 3 + 2 + 4)):
        assert outcomes.seconds(np.array([retrieves]), "retrieval").tolist() == [retrieval]
        assert outcomes.seconds(np.array([retrieves]), "generation").tolist() == [generation]
        assert outcomes.seconds(np.array([retrieves]), "both").tolist() == [1 + 2 + 3 + 4]


@pytest.mark.parametrize(
    ("retrieves", "trial", "index"),
    [
        (0, "none", 0),
        (1, "none", 1),
        (0.5, "none", 0.5),
        (0, "retrieval", 1),
        (0, "generation", 0),
        (1, "generation", 1),
        (0, "both", 1),
    ],
)
def test_a_cold_completion_builds_the_index_where_it_retrieves(
    blank_result: Any, outcomes_from: Any, retrieves: float, trial: Any, index: float
) -> None:
    outcomes = outcomes_from([blank_result(seconds=(1.0, 2.0, 3.0, 4.0))])
    asked = np.array([retrieves])
    waited = outcomes.seconds(asked, trial, cold=True) - outcomes.seconds(asked, trial)
    assert waited == pytest.approx(index * outcomes.index_seconds)


def test_features_are_what_they_are_called() -> None:
    uncertainty = TokenUncertainty((-0.5, -1.0), (0.25, 0.75))
    found = dict(zip(FEATURES, features(uncertainty), strict=True))
    assert found["mean entropy"] == 0.5
    assert (found["largest surprise"], found["first surprise"]) == (1.0, 0.5)
    assert (found["tokens"], found["summed surprise"], found["share of unlikely tokens"]) == (2, 1.5, 0.5)
    assert len(FEATURES) == 13


def test_an_empty_completion_has_features_and_a_silent_model_has_none() -> None:
    assert features(TokenUncertainty((), ())) == [0.0] * 13
    assert all(math.isnan(one) for one in features(None))
