"""How likely a model finds the target itself, without and with cross-file context: a label that needs no decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from repoformer.code.languages import LANGUAGES
from repoformer.inference.arms import ArmRequest
from repoformer.inference.cached_pass import CachedPass
from repoformer.models.loading import LoadedModel
from repoformer.prompt.builder import PromptBuilder, Style


@dataclass(frozen=True, slots=True)
class TargetLikelihood:
    """Mean natural logarithm of the probability of the target's tokens, in both arms; equal without context to give."""

    without: float
    with_context: float


def target_likelihoods(
    loaded: LoadedModel, requests: Sequence[ArmRequest], *, style: Style | None = None
) -> list[TargetLikelihood]:
    """One batch of requests: the in-file part is read once, then each branch with the target behind it.

    A target counts up to the number of tokens that might have been generated.
    """
    builder = loaded.builder(style)
    loaded.check_positions(builder.budgets, {request.blank.kind for request in requests})
    targets = [_target(builder, request) for request in requests]
    contexts = [builder.cross_file(request.chunks, LANGUAGES[request.blank.language].comment) for request in requests]
    shared = CachedPass(loaded.model)
    shared.append(
        [builder.in_file_part(builder.in_file(request.blank.left, request.blank.right)) for request in requests]
    )
    asking = [place for place, context in enumerate(contexts) if context]
    forked = shared.fork(asking)
    without = _means(shared, [builder.branch(None)] * len(requests), targets)
    with_context = list(without)
    branches = [builder.branch(contexts[place]) for place in asking]
    for place, mean in zip(asking, _means(forked, branches, [targets[place] for place in asking]), strict=True):
        with_context[place] = mean
    return [TargetLikelihood(*pair) for pair in zip(without, with_context, strict=True)]


def _target(builder: PromptBuilder, request: ArmRequest) -> list[int]:
    return builder.encode(request.blank.target)[: builder.budgets.generated(request.blank.kind)]


def _means(read: CachedPass, branches: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
    """The mean log probability of each row's target behind its branch."""
    if not targets:
        return []
    longest = max(map(len, targets))
    rows = [[*branch, *target[:-1]] for branch, target in zip(branches, targets, strict=True)]
    means = []
    for logits, target in zip(read.append(rows, keep=longest), targets, strict=True):
        # Rows end in the same column, so what predicts a target are its row's last logits.
        chances = logits[-len(target) :].log_softmax(dim=-1)
        taken = chances.gather(1, torch.tensor(target, device=chances.device)[:, None])
        means.append(float(taken.double().mean()))
    return means
