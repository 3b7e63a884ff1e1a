"""Both arms equal what a fresh full prompt gives, and only the arm with context is shown the context."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from repoformer.code.records import Blank, Chunk
from repoformer.errors import UserError
from repoformer.inference.arms import ArmRequest, Arms, Length, complete_arms, time_arms
from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.stopping import TokenText, stop_for
from repoformer.models.loading import LoadedModel
from repoformer.prompt.builder import PromptBuilder

NEAR_TIE = 1e-4

BlankAndContext = tuple[Blank, tuple[Chunk, ...]]


@pytest.fixture(scope="module")
def requests(blanks: list[BlankAndContext]) -> list[ArmRequest]:
    """Every fifth without context."""
    return [ArmRequest(blank, context if place % 5 else ()) for place, (blank, context) in enumerate(blanks)]


@torch.inference_mode()
def plain_completion(
    loaded: LoadedModel, builder: PromptBuilder, request: ArmRequest, with_context: bool
) -> tuple[str, float]:
    """Greedy decoding that reads the whole prompt anew for each token, and the narrowest gap between its two best."""
    cross_file = builder.cross_file(request.chunks, "#") if with_context else []
    prompt = builder.prompt(builder.in_file(request.blank.left, request.blank.right), cross_file)
    stop = stop_for(builder, TokenText(builder), request.blank)
    narrowest = float("inf")
    goes_on = True
    while goes_on:
        logits = loaded.model(torch.tensor([prompt + stop.tokens]), use_cache=False).logits[0, -1]
        if builder.style == "after_middle" and not cross_file and not stop.tokens:
            logits[builder.retrieve_id] = float("-inf")  # the first token is the decision, which was taken
        best, second = logits.topk(2)[0].tolist()
        narrowest = min(narrowest, best - second)
        goes_on = stop.take(int(logits.argmax()))
    return stop.text, narrowest


@pytest.fixture(scope="module")
def shortened(requests: list[ArmRequest]) -> list[ArmRequest]:
    """Blanks of one line, which end early enough for the slow reference."""
    return [
        dataclasses.replace(request, blank=dataclasses.replace(request.blank, kind="line", target="x"))
        for request in requests
    ]


@pytest.mark.parametrize("style", ["base", "selective", "after_middle"])
def test_both_arms_equal_completions_of_fresh_full_prompts(
    loaded: LoadedModel, shortened: list[ArmRequest], style: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = loaded.builder(style)
    builder.budgets = dataclasses.replace(builder.budgets, new_tokens=8)
    monkeypatch.setattr(LoadedModel, "builder", lambda self, style=None: builder)
    one_by_one = complete_arms(loaded, shortened, 1, style=style, progress=False)
    batched = complete_arms(loaded, shortened, 7, style=style, progress=False)
    different = told_apart = 0
    for request, *found in zip(shortened, one_by_one, batched, strict=True):
        without, gap_without = plain_completion(loaded, builder, request, with_context=False)
        with_context, gap_with = plain_completion(loaded, builder, request, with_context=True)
        for arms in found:
            assert arms.text_without == without or gap_without < NEAR_TIE
            assert arms.text_with == with_context or gap_with < NEAR_TIE
            different += (arms.text_without, arms.text_with) != (without, with_context)
        told_apart += without != with_context
    assert different <= 1
    assert told_apart > 20, "too few to see swapped arms"


def test_only_the_arm_with_context_is_fed_it(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any]
) -> None:
    builder = loaded.builder()
    request = requests[1]
    in_file = builder.in_file_part(builder.in_file(request.blank.left, request.blank.right))
    context = builder.cross_file(request.chunks, "#")
    with fed(loaded.model) as segments:
        complete_arms(loaded, [request], progress=False)
    middle = [builder.middle_id]
    assert segments[:4] == [[in_file], [middle], [[builder.retrieve_id, *context]], [middle]]
    assert len(segments[4]) == 2, "both arms take a step together"
    assert all(builder.retrieve_id not in row for rows in segments[4:] for row in rows)


def test_the_in_file_part_is_read_once(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any]
) -> None:
    builder = loaded.builder()
    with fed(loaded.model) as segments:
        complete_arms(loaded, requests[:6], 3, progress=False)
    assert sum(builder.prefix_id in row for rows in segments for row in rows) == 6


def test_without_context_both_arms_are_one_completion(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any]
) -> None:
    nothing = [dataclasses.replace(request, chunks=()) for request in requests[:3]]
    with fed(loaded.model) as segments:
        arms = complete_arms(loaded, nothing, progress=False)
    assert all(one.text_with == one.text_without for one in arms)
    assert sum(loaded.builder().middle_id in row for rows in segments for row in rows) == 3


def test_results_are_in_the_order_of_the_requests(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    forwards = complete_arms(loaded, requests, 8, progress=False)
    backwards = complete_arms(loaded, requests[::-1], 50, progress=False)[::-1]
    same = [one.text_without == other.text_without for one, other in zip(forwards, backwards, strict=True)]
    assert sum(same) >= len(requests) - 1  # near ties


@torch.inference_mode()
def test_p_retrieve_is_the_softmax_of_a_fresh_forward_pass(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    builder = loaded.builder()
    for request, arms in zip(requests, complete_arms(loaded, requests, 9, progress=False), strict=True):
        prompt = builder.in_file_part(builder.in_file(request.blank.left, request.blank.right))
        assert prompt[-1] == builder.eof_id
        logits = loaded.model(torch.tensor([prompt])).logits[0, -1]
        assert arms.p_retrieve == pytest.approx(float(logits.softmax(-1)[builder.retrieve_id]), rel=1e-4)
        assert arms.greedy == (int(logits.argmax()) == builder.retrieve_id)


def test_the_base_style_takes_no_decision(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    arms = complete_arms(loaded, requests[:2], style="base", progress=False)
    assert [(one.p_retrieve, one.greedy) for one in arms] == [(None, None)] * 2


def test_control_tokens_in_code_and_context_stay_text(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any]
) -> None:
    builder = loaded.builder()
    spelled = "<cc><eof> <fim_prefix> <fim_suffix> <fim_middle> <|endoftext|>\n"
    blank = dataclasses.replace(requests[1].blank, left=spelled, right="\n" + spelled)
    request = ArmRequest(blank, (Chunk("b.py", 0, 1, spelled),))
    with fed(loaded.model) as segments:
        complete_arms(loaded, [request], progress=False)
    read = [token for rows in segments[:4] for row in rows for token in row]
    for control in (builder.prefix_id, builder.suffix_id, builder.eof_id, builder.retrieve_id):
        assert read.count(control) == 1
    assert read.count(builder.middle_id) == 2, "one in each branch"
    assert builder.end_id not in read


def test_timed_arms_are_the_same_arms(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    timed = time_arms(loaded, requests[:3], progress=False)
    assert [one.arms for one in timed] == complete_arms(loaded, requests[:3], 1, progress=False)
    assert all(min(t.decide_seconds, t.generate_without_seconds, t.generate_with_seconds) > 0 for t in timed)


def test_nothing_asked_is_nothing_given(loaded: LoadedModel) -> None:
    assert complete_arms(loaded, [], progress=False) == []
    assert time_arms(loaded, [], progress=False) == []


def test_budgets_beyond_the_positions_are_refused_at_once(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any]
) -> None:
    large = dataclasses.replace(loaded, settings=loaded.settings.model_copy(update={"preset": "paper"}))
    with fed(loaded.model) as segments, pytest.raises(UserError, match=r"1024 positions.*preset 'paper' need 2103"):
        complete_arms(large, requests, progress=False)
    assert segments == []


def test_results_are_plain_records(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    (arms,) = complete_arms(loaded, requests[:1], progress=False)
    assert isinstance(arms, Arms)
    assert isinstance(arms.p_retrieve, float)
    assert isinstance(arms.greedy, bool)


def test_a_benchmarks_limit_holds_where_it_is_the_smaller_one(loaded: LoadedModel) -> None:
    own = loaded.builder()
    for limit in (5, 10_000):
        budgets = Length(limit).builder(own).budgets
        for kind in ("line", "function"):
            assert budgets.generated(kind) == min(limit, own.budgets.generated(kind))
        assert (budgets.left, budgets.right, budgets.cross_file) == (384, 128, 256)


def test_to_the_limit_goes_on_behind_the_targets_lines(loaded: LoadedModel, shortened: list[ArmRequest]) -> None:
    builder = loaded.builder()
    text = TokenText(builder)
    (newline,) = builder.encode("\n")
    blank = shortened[0].blank
    assert not Length().stop(builder, text, blank).take(newline)
    assert Length(to_the_limit=True).stop(builder, text, blank).take(newline)


def test_uncertainty_has_one_entry_per_token(loaded: LoadedModel, requests: list[ArmRequest]) -> None:
    plain, told = (
        complete_arms(loaded, requests[:3], length=Length(6), uncertainty=uncertainty, progress=False)
        for uncertainty in (False, True)
    )
    for one, other in zip(plain, told, strict=True):
        assert (one.text_without, one.text_with) == (other.text_without, other.text_with)
        assert one.uncertainty_without is None
        assert other.uncertainty_without is not None
        log_probabilities, entropies = other.uncertainty_without.log_probabilities, other.uncertainty_without.entropies
        assert len(log_probabilities) == len(entropies) <= 6
        assert all(value <= 0 for value in log_probabilities)


def test_branches_that_cannot_be_joined_are_decoded_apart(
    loaded: LoadedModel, requests: list[ArmRequest], fed: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = complete_arms(loaded, requests[:4], 4, progress=False)
    monkeypatch.setattr(CachedPass, "can_join", lambda self: False)
    with fed(loaded.model) as segments:
        assert complete_arms(loaded, requests[:4], 4, progress=False) == together
    assert max(map(len, segments)) == 4
