"""Summaries of evaluations that went wrong in every way: each is said, none is a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.remarks import remarks
from repoformer.eval.report import render
from repoformer.eval.retrieve import Prepared, Retrieved
from repoformer.eval.sources import Source
from repoformer.eval.summary import Evaluated, other_retrieval, summarise
from repoformer.models.settings import ModelSettings

OWN = {"chunk": 0.3, "function": 0.3}


@pytest.fixture
def summary_of(records_from: Callable[..., Any], recipe_values: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The summary of one deciding model's results; it has to be JSON and to have a page."""

    def make(results: list[Any], *, control: bool = True, available: int = 0, elsewhere: int = 0) -> dict[str, Any]:
        predictions, scores = records_from(results)
        settings = ModelSettings(style="selective", thresholds=OWN).model_dump(mode="json")
        facts = {"path": "p", "settings": settings, "budgets": "b", "decoding": "greedy", "batch": 1, "device": "cpu"}
        generated = {"started": "now", "git": {}}
        provenance = generated | {"config": {}, "python": "3", "packages": {}}
        evaluated = Evaluated(
            "m", facts | {"generated": generated}, {"model": "hash"}, predictions, scores, dict.fromkeys(scores, 0.5)
        )
        recipe = EvalRecipe.model_validate(
            recipe_values | {"out": "o", "models": [{"name": "m", "path": "p"}], "control": "m" if control else None}
        )
        prepared = [
            Prepared(one.blank, one.context, 0.5, place < elsewhere, 0.1)
            for place, one in enumerate(predictions.values())
        ]
        ids = [one.blank.id for one in prepared]
        asked = Retrieved(prepared, ids, available or len(results), Source("held-out repositories", "data"))
        summary = summarise(recipe, provenance, asked, [evaluated])
        json.dumps(summary, allow_nan=False)
        assert "<table" in render(summary)
        return summary

    return make


def said(summary: dict[str, Any]) -> str:
    return "\n".join(summary["remarks"])


def test_a_missing_control_is_the_first_remark(blank_result: Any, summary_of: Any) -> None:
    assert summary_of([blank_result(p=0.5)], control=False)["remarks"][0].startswith("THE FIM-ONLY CONTROL IS MISSING")
    assert "CONTROL" not in said(summary_of([blank_result(p=0.5)]))


def test_one_repository_is_said(blank_result: Any, summary_of: Any) -> None:
    summary = summary_of([blank_result(p=0.5), blank_result(p=0.1)])
    assert "All blanks are of one repository" in said(summary)
    assert {row["versus_never"]["es"]["low"] for row in summary["rows"] if row["policy"] != "never"} == {None}


def test_a_kind_without_blanks_is_said(blank_result: Any, summary_of: Any) -> None:
    assert "There is no function blank" in said(summary_of([blank_result(p=0.5)]))
    assert "There is no chunk blank" in said(summary_of([blank_result(kind="function", p=0.5)]))


@pytest.mark.parametrize(("gain", "words"), [(0.0, "context helps no blank"), (0.5, "context helps every blank")])
def test_one_label_class_is_said(blank_result: Any, summary_of: Any, gain: float, words: str) -> None:
    summary = summary_of([blank_result(p=0.1, es_with=gain), blank_result(p=0.7, es_with=gain)])
    assert f"m: AUROC and average precision are undefined: {words}" in said(summary)


def test_a_policy_that_never_or_always_retrieves_is_said(blank_result: Any, summary_of: Any) -> None:
    assert "m: threshold never retrieves" in said(summary_of([blank_result(p=0.1), blank_result(p=0.2)]))
    assert "m: threshold retrieves for every blank" in said(summary_of([blank_result(p=0.8), blank_result(p=0.9)]))


def test_a_constant_probability_is_said(blank_result: Any, summary_of: Any) -> None:
    assert "P(<cc>) is the same for every blank" in said(summary_of([blank_result(p=0.4), blank_result(p=0.4)]))


def test_what_holds_for_all_blanks_is_not_said_again_for_each_kind(blank_result: Any, summary_of: Any) -> None:
    low = [blank_result(p=0.1), blank_result(p=0.2)]
    assert said(summary_of(low)).count("threshold never retrieves") == 1
    summary = summary_of([*low, blank_result(kind="function", p=0.9), blank_result(kind="function", p=0.1)])
    assert said(summary).count("threshold never retrieves") == said(summary).count("(chunk): threshold never") == 1


def test_edit_similarity_that_chance_reaches_is_said(blank_result: Any, summary_of: Any) -> None:
    words = "m: no policy is above the level of chance"
    assert words in said(summary_of([blank_result(p=0.4, es_without=0.05, es_with=0.02)]))
    assert words not in said(summary_of([blank_result(p=0.4, es_without=0.05, es_with=0.5)]))
    alike = [blank_result(p=0.4, es_without=0.9, es_with=0.9) for _ in range(3)]
    assert summary_of(alike)["data"]["chance_es"]["all"] == 1.0, "their targets are equal"
    assert words in said(summary_of(alike))


def test_a_kind_that_is_not_above_chance_is_said_where_all_blanks_are(blank_result: Any, summary_of: Any) -> None:
    summary = summary_of(
        [
            *(blank_result(p=0.4, es_without=0.9, es_with=0.9) for _ in range(3)),
            *(blank_result(kind="function", p=0.4, es_without=0.2, es_with=0.2) for _ in range(3)),
        ]
    )
    summary["data"]["chance_es"] = {"all": 0.3, "chunk": 0.3, "function": 0.3}
    found = "\n".join(remarks(summary))
    assert "m (function): no policy is above the level of chance" in found
    assert "m (chunk): no policy is above" not in found
    assert "m: no policy is above" not in found


def test_retrieval_that_found_nothing_is_said(blank_result: Any, summary_of: Any) -> None:
    assert "Retrieval found nothing for any blank" in said(summary_of([blank_result(p=0.4)]))


def test_unmeasured_seconds_are_said(blank_result: Any, summary_of: Any) -> None:
    summary = summary_of([blank_result(p=0.4)])
    assert "m: seconds were not measured" in said(summary)
    assert summary["models"][0]["seconds"]["decide"] is None


def test_many_empty_completions_are_said_with_their_shares(blank_result: Any, summary_of: Any) -> None:
    fine = [blank_result(p=0.4) for _ in range(19)]
    assert "are empty" not in said(summary_of([*fine, blank_result(p=0.4, texts=("", "\n"))]))
    summary = summary_of([*fine[:8], blank_result(p=0.4, texts=("  \n", "x")), blank_result(p=0.4, texts=("", ""))])
    assert "m: 20.0% of its completions without context and 10.0% of those with context are empty" in said(summary)


def test_cold_retrieval_is_warm_retrieval_and_the_index(blank_result: Any, summary_of: Any) -> None:
    seconds = summary_of([blank_result(p=0.4, seconds=(1.0, 2.0, 3.0, 4.0)), blank_result(p=0.4)])["models"][0][
        "seconds"
    ]
    assert seconds["n"] == 1
    assert (seconds["retrieve_warm"]["mean"], seconds["retrieve_cold"]["mean"]) == (2.0, 2.5)


def test_a_part_of_the_blanks_is_called_partial(blank_result: Any, summary_of: Any) -> None:
    summary = summary_of([blank_result(p=0.4)], available=7)
    assert summary["data"]["partial"]
    assert "Partial: 1 of 7" in said(summary)


def test_shares_helped_unchanged_and_harmed_add_up(blank_result: Any, summary_of: Any) -> None:
    made = [blank_result(p=0.4, es_without=0.5, es_with=value) for value in (0.6, 0.7, 0.5, 0.1)]
    effect = summary_of(made)["models"][0]["effect"]["all"]
    assert (effect["helped"], effect["unchanged"], effect["harmed"]) == (0.5, 0.25, 0.25)


def test_duplicates_are_counted_and_their_gain_is_told_apart(blank_result: Any, summary_of: Any) -> None:
    summary = summary_of([blank_result(p=0.4, es_with=1.0), blank_result(p=0.4, es_with=0.2)], elsewhere=1)
    effect = summary["models"][0]["effect"]["all"]
    assert (effect["duplicated"], effect["gain_if_duplicated"], effect["gain_if_not"]) == (1, 1.0, 0.2)
    assert "1 of 2 targets stand verbatim in another file" in said(summary)


def test_a_model_without_thresholds_of_its_own_is_said(finished_run: EvalRecipe) -> None:
    summary = json.loads((Path(finished_run.out) / "summary.json").read_text())
    # The deciding model of the shared run has a threshold for chunks only.
    assert "deciding: it has no threshold of its own for function;" in said(summary)


def test_deciding_models_are_compared_with_a_coin_and_all_others(finished_run: EvalRecipe) -> None:
    summary = json.loads((Path(finished_run.out) / "summary.json").read_text())
    compared = [(each["model"], each["other_model"], each["other_policy"]) for each in summary["comparisons"]]
    plain = {("deciding", "plain", "never"), ("deciding", "plain", "always")}
    selectors = ("random", "trial-retrieval", "trial-uncertainty", "trial-entropy")
    assert set(compared) == plain | {("deciding", "deciding", other) for other in selectors}
    assert len(compared) == (2 + len(selectors)) * len(("all", "chunk", "function"))


def test_a_model_trained_with_other_retrieval_is_said(finished_run: EvalRecipe) -> None:
    labels = {"retrieve": {"window": 20, "stride": 5, "scorer": "bm25", "top": 3}}
    other = other_retrieval(ModelSettings(labels=labels), finished_run.retrieve)
    assert other == {"stride": 5, "scorer": "bm25"}
    summary = json.loads((Path(finished_run.out) / "summary.json").read_text())
    assert "other retrieval" not in said(summary)
    summary["models"][0]["trained_with_other"] = other
    assert "its labels were made with other retrieval than is evaluated here (stride=5, scorer=bm25)." in "\n".join(
        remarks(summary)
    )
