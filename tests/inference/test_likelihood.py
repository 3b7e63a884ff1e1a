"""The targets' likelihoods are those of fresh forward passes over the whole prompts."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from repoformer.code.records import Blank, Chunk
from repoformer.inference.arms import ArmRequest
from repoformer.inference.likelihood import target_likelihoods
from repoformer.models.loading import LoadedModel


@torch.inference_mode()
def plain(loaded: LoadedModel, request: ArmRequest, with_context: bool) -> float:
    builder = loaded.builder("base")
    blank = request.blank
    context = builder.cross_file(request.chunks, "#") if with_context else []
    prompt = builder.prompt(builder.in_file(blank.left, blank.right), context)
    target = builder.encode(blank.target)[: builder.budgets.generated(blank.kind)]
    logits = loaded.model(torch.tensor([prompt + target]), use_cache=False).logits[0].log_softmax(-1)
    return sum(float(logits[len(prompt) + n - 1, token]) for n, token in enumerate(target)) / len(target)


def test_a_batch_equals_fresh_passes(loaded: LoadedModel, blanks: list[tuple[Blank, tuple[Chunk, ...]]]) -> None:
    requests = [ArmRequest(blank, context if place % 3 else ()) for place, (blank, context) in enumerate(blanks[:9])]
    found = target_likelihoods(loaded, requests, style="base")
    for request, one in zip(requests, found, strict=True):
        assert one.without == pytest.approx(plain(loaded, request, with_context=False), abs=1e-4)
        assert one.with_context == pytest.approx(plain(loaded, request, with_context=True), abs=1e-4)
        assert (one.with_context == one.without) == (not request.chunks)


def test_a_target_counts_up_to_what_might_be_generated(
    loaded: LoadedModel, blanks: list[tuple[Blank, tuple[Chunk, ...]]]
) -> None:
    blank, context = blanks[0]
    endless = dataclasses.replace(blank, target="value = 1\n" * 500)
    (found,) = target_likelihoods(loaded, [ArmRequest(endless, context)], style="base")
    assert found.without == pytest.approx(plain(loaded, ArmRequest(endless, context), False), abs=1e-4)
