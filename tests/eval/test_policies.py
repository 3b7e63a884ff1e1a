"""Policies replayed from stored completions, and the table made of them, against slow and obvious computations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.eval.outcomes import Outcomes
from repoformer.eval.policies import POLICIES, replay
from repoformer.eval.table import Arm, Bootstrap, Row, differences, rows
from repoformer.inference.policies import Always, Greedy, Never, Policy, Threshold
from repoformer.metrics.bootstrap import paired_bootstrap
from repoformer.models.settings import ModelSettings

Make = Callable[[list[Any]], Outcomes]
SETTINGS = ModelSettings(style="selective", thresholds={"chunk": 0.3, "function": 0.6})
BOOTSTRAP = Bootstrap(resamples=100, seed=0)

shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
results = st.lists(
    st.fixed_dictionaries(
        {
            "repository": st.sampled_from(["r0", "r1", "r2"]),
            "kind": st.sampled_from(["chunk", "function"]),
            "es_without": shares,
            "es_with": shares,
            "p": st.sampled_from([0.0, 0.1, 0.3, 0.45, 0.6, 0.9, 1.0]),
            "seconds": st.none() | st.tuples(shares, shares, shares, shares),
        }
    ),
    min_size=1,
    max_size=12,
)


def table_of(outcomes: Outcomes) -> dict[tuple[str, str], Row]:
    return {(row.scope, row.policy): row for row in rows("m", outcomes, replay(outcomes, SETTINGS), BOOTSTRAP)}


@given(results)
def test_a_replayed_policy_gives_what_deciding_blank_by_blank_gives(
    blank_result: Any, outcomes_from: Make, drawn: list[dict[str, Any]]
) -> None:
    made = [blank_result(**one) for one in drawn]
    table = table_of(outcomes_from(made))
    policies: list[Policy] = [Never(), Always(), Greedy(), Threshold.of(SETTINGS)]
    for policy, scope in itertools.product(policies, ("all", "chunk", "function")):
        blanks = [one for one in made if scope in ("all", one.kind)]
        if not blanks:
            assert (scope, policy.name) not in table
            continue
        asked = [policy.retrieve(one.p, one.p > 0.5, one.kind) for one in blanks]
        es = [one.es_with if ask else one.es_without for one, ask in zip(blanks, asked, strict=True)]
        row = table[scope, policy.name]
        assert row.es == pytest.approx(fmean(es))
        assert row.em == pytest.approx(fmean(value == 1 for value in es))
        assert row.share_retrieved == pytest.approx(fmean(asked))
        assert (row.n, row.repositories) == (len(blanks), len({one.repository for one in blanks}))
        took = [
            one.seconds[0] + (one.seconds[1] + one.seconds[3] if ask else one.seconds[2])
            for one, ask in zip(blanks, asked, strict=True)
            if one.seconds
        ]
        assert row.seconds_n == len(took)
        assert row.seconds == (pytest.approx(fmean(took)) if took else None)


@given(results)
def test_no_policy_beats_the_oracle(blank_result: Any, outcomes_from: Make, drawn: list[dict[str, Any]]) -> None:
    table = table_of(outcomes_from([blank_result(**one) for one in drawn]))
    told_by_tokens = {"trial-uncertainty", "trial-entropy", "estimator", "select"}
    assert {policy for _, policy in table} == {*POLICIES} - told_by_tokens
    for (scope, _), row in table.items():
        assert row.es <= table[scope, "oracle"].es + 1e-12


def test_the_oracle_does_not_retrieve_where_it_gains_nothing(blank_result: Any, outcomes_from: Make) -> None:
    made = [blank_result(p=0.9, es_without=0.5, es_with=0.5), blank_result(p=0.9, es_without=0.5, es_with=0.6)]
    assert table_of(outcomes_from(made))["all", "oracle"].share_retrieved == 0.5


@given(results.filter(lambda drawn: len(drawn) <= 6))
def test_random_is_the_mean_over_all_ways_to_choose_as_many_blanks_of_each_kind(
    blank_result: Any, outcomes_from: Make, drawn: list[dict[str, Any]]
) -> None:
    made = [blank_result(**one) for one in drawn]
    table = table_of(outcomes_from(made))
    threshold = Threshold.of(SETTINGS)
    choices = []
    for kind in ("chunk", "function"):
        places = [place for place, one in enumerate(made) if one.kind == kind]
        asked = sum(threshold.retrieve(made[place].p, None, kind) for place in places)
        choices.append(list(itertools.combinations(places, asked)))
    ways = [set(chunks) | set(functions) for chunks, functions in itertools.product(*choices)]
    slow = fmean(
        fmean(one.es_with if place in way else one.es_without for place, one in enumerate(made)) for way in ways
    )
    assert table["all", "random"].es == pytest.approx(slow)
    assert table["all", "random"].share_retrieved == pytest.approx(table["all", "threshold"].share_retrieved)


def test_a_model_without_decisions_has_both_ends_and_the_oracle(blank_result: Any, outcomes_from: Make) -> None:
    assert set(replay(outcomes_from([blank_result(), blank_result()]), SETTINGS)) == {"never", "always", "oracle"}


@given(results)
def test_differences_are_those_of_the_paired_bootstrap_over_repositories(
    blank_result: Any, outcomes_from: Make, drawn: list[dict[str, Any]]
) -> None:
    made = [blank_result(**one) for one in drawn]
    row = table_of(outcomes_from(made))["all", "greedy"]
    versus_never = [one.es_with - one.es_without if one.p > 0.5 else 0.0 for one in made]
    slow = paired_bootstrap(versus_never, [one.repository for one in made], resamples=100, seed=0)
    assert row.versus_never is not None
    found = row.versus_never.es
    assert (found.mean, found.low, found.high) == pytest.approx((slow.point, slow.low, slow.high))
    assert (found.half_width is None) == (len({one.repository for one in made}) == 1)


def test_a_row_has_no_difference_to_itself(blank_result: Any, outcomes_from: Make) -> None:
    table = table_of(outcomes_from([blank_result(p=0.2)]))
    assert table["all", "never"].versus_never is None
    assert table["all", "always"].versus_always is None


def test_one_repository_gives_a_difference_without_an_interval_and_says_why(
    blank_result: Any, outcomes_from: Make
) -> None:
    row = table_of(outcomes_from([blank_result(es_with=0.5), blank_result(es_with=1.0)]))["all", "always"]
    assert row.versus_never is not None
    assert (row.versus_never.es.mean, row.versus_never.es.low) == (0.75, None)
    assert "one repository" in row.versus_never.es.reason


def test_a_difference_between_models_is_paired_over_blanks(blank_result: Any, outcomes_from: Make) -> None:
    repositories = [f"r{number}" for number in range(6)]
    weak = outcomes_from([blank_result(name, es_without=0.1 * place) for place, name in enumerate(repositories)])
    strong = outcomes_from(
        [blank_result(name, es_without=0.1 * place + 0.2) for place, name in enumerate(repositories)]
    )
    found = differences(Arm(strong, 0 * strong.gain), Arm(weak, 0 * weak.gain), BOOTSTRAP).es
    # Blanks differ much from each other, models by the same everywhere: pairing leaves no spread at all.
    assert (found.mean, found.half_width) == pytest.approx((0.2, 0.0), abs=1e-12)
