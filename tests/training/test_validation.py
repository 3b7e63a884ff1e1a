"""Validation: the reference's numbers, the label's decisions, thresholds by kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Example, Kind
from repoformer.code.storage import read_parquet, write_parquet
from repoformer.models.loading import load_model
from repoformer.training.loop import train
from repoformer.training.thresholds import ENOUGH, choose_thresholds
from repoformer.training.validation import HISTOGRAM_BINS, Validation, saved_validation, shares

KINDS = get_args(Kind)

p_values = st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(-1, 1)), min_size=1, max_size=30)


@pytest.fixture
def validation(make_recipe: Any) -> Validation:
    recipe = make_recipe()
    step = train(recipe).step
    found = saved_validation(recipe.out, step)
    assert found is not None
    return found


def test_every_validation_example_has_a_decision_by_its_label(validation: Validation, data_folder: Any) -> None:
    examples = read_parquet(Example, data_folder / "validation")
    assert [one.id for one in validation.decisions] == [one.id for one in examples]
    assert [one.wants_context for one in validation.decisions] == [
        one.gain > 0 and bool(one.cross_file) for one in examples
    ]
    assert validation.positives == sum(one.wants_context for one in validation.decisions) / len(examples)


def test_p_retrieve_is_what_the_exported_model_says(validation: Validation, make_recipe: Any, data_folder: Any) -> None:
    loaded = load_model(make_recipe().out)
    builder = loaded.builder()
    example = read_parquet(Example, data_folder / "validation")[3]
    prompt = [builder.prefix_id, *example.left, builder.suffix_id, *example.right, builder.eof_id]
    with torch.no_grad():
        logits = loaded.model(input_ids=torch.tensor([prompt])).logits[0, -1]
    assert validation.decisions[3].p_retrieve == pytest.approx(float(logits.softmax(-1)[builder.retrieve_id]), rel=1e-4)


def test_histograms_hold_every_example_under_its_label(validation: Validation) -> None:
    for label, wants in (("wants context", True), ("does not", False)):
        p = [one.p_retrieve for one in validation.decisions if one.wants_context == wants]
        counts = [0] * HISTOGRAM_BINS
        for one in p:
            counts[min(int(one * HISTOGRAM_BINS), HISTOGRAM_BINS - 1)] += 1
        assert p
        assert validation.histograms[label] == counts


def test_calibration_counts_every_example(validation: Validation) -> None:
    assert sum(one.count for one in validation.calibration) == len(validation.decisions)
    helped = sum(one.count * one.helped for one in validation.calibration)
    assert helped == pytest.approx(sum(one.wants_context for one in validation.decisions))


def test_the_control_has_losses_but_no_decisions(make_recipe: Any) -> None:
    result = train(make_recipe(objective="fim_only"))
    assert result.validation is not None
    assert result.validation["L_gen"] == result.validation["loss"] > 0
    assert all(result.validation[name] is None for name in ("L_eval", "auroc", "average_precision", "positives"))
    assert result.validation["thresholds"] == result.validation["histograms"] == {}


def test_one_label_class_is_told_not_measured(make_recipe: Any) -> None:
    recipe = make_recipe(label_threshold=1.0)
    result = train(recipe)
    assert result.validation is not None
    assert result.validation["auroc"] is None
    assert "one label class" in result.validation["not_measured"]["auroc"]
    assert "no auroc: context helps no blank" in (recipe.out / "README.md").read_text()


@pytest.mark.parametrize(("objective", "learns"), [("selective", True), ("no_evaluation", False)])
def test_the_decision_is_learnt_from_l_eval(
    make_recipe: Any, make_examples: Any, tmp_path: Path, objective: str, learns: bool
) -> None:
    """One token of the left context says whether context helps; without L_eval nobody asks for it (ablation A2)."""
    for split, seed, number in (("train", 3, 64), ("validation", 4, 32)):
        examples = [
            replace(
                one, gain=0.5 if place % 2 else -0.5, left=(*one.left[:5], 99 if place % 2 else 98), cross_file=(50,)
            )
            for place, one in enumerate(make_examples(number, seed=seed))
        ]
        write_parquet(tmp_path / "data" / split / "part-00000-of-00001.parquet", examples)
    recipe = make_recipe(data=str(tmp_path / "data"), objective=objective, epochs=12, batch=8, micro_batch=8)
    result = train(recipe)
    assert result.validation is not None
    assert (result.validation["auroc"] > 0.95) == learns
    assert (result.validation["L_eval"] < 0.3) == learns


@given(st.integers(1, 20), st.integers(1, 8))
def test_processes_run_equally_many_forward_passes_and_each_micro_batch_counts_once(
    number: int, processes: int
) -> None:
    micro_batches = [[place] for place in range(number)]
    dealt = shares(micro_batches, processes)
    assert len(dealt) == processes
    assert len({len(share) for share in dealt}) == 1
    assert sorted(one for share in dealt for one, counts in share if counts) == micro_batches


@given(p_values)
def test_no_other_threshold_gains_more(values: list[tuple[float, float]]) -> None:
    p, gains = zip(*values, strict=True)

    def gained(threshold: float) -> float:
        return sum(gain for one, gain in values if one > threshold)

    chosen = choose_thresholds(["line"] * len(values), p, gains)
    assert set(chosen) == set(KINDS)
    best = max(gained(threshold) for threshold in (0.0, *p))
    assert all(gained(threshold) == pytest.approx(best, abs=1e-9) for threshold in chosen.values())


def test_a_kind_with_enough_examples_has_its_own_threshold() -> None:
    """Functions gain where P is high, lines where it is low; of the other kinds there are none."""
    p = [place / ENOUGH for place in range(ENOUGH)]
    kinds: list[Kind] = ["function"] * ENOUGH + ["line"] * ENOUGH
    gains = [1.0 if one > 0.5 else -1.0 for one in p] + [1.0] * ENOUGH
    chosen = choose_thresholds(kinds, p * 2, gains)
    assert chosen["function"] == 0.5
    assert chosen["line"] < 0.05
    assert chosen["api"] == chosen["chunk"] == choose_thresholds(["api"] * len(gains), p * 2, gains)["api"]


def test_where_context_never_helps_nothing_is_retrieved() -> None:
    chosen = choose_thresholds(["line", "line"], [0.2, 0.9], [-0.5, -0.1])
    assert not any(p > chosen["line"] for p in (0.2, 0.9))
