"""What pretraining is for, measured while it runs: can the model copy, and does context make targets likelier?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Blank, Chunk, Repository, RetrievedContext
from repoformer.inference.arms import ArmRequest, complete_arms
from repoformer.metrics.bootstrap import paired_bootstrap
from repoformer.metrics.completion import postprocess
from repoformer.metrics.text import edit_similarity
from repoformer.models.loading import LoadedModel
from repoformer.models.pretraining.documents import blanks_with_context
from repoformer.models.pretraining.recipe import PretrainRecipe
from repoformer.models.pretraining.twins import with_neighbours
from repoformer.prompt.builder import PromptBuilder
from repoformer.seeding import generator

_INDUCTION_ROWS = 8
_RETRIEVED = 10
"""Chunks per blank, as in evaluation."""
_OWN_LINES = 3


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A blank of a repository that is not trained on, and what retrieval finds for it without looking at the target."""

    schema: ClassVar[int] = 1
    blank: Blank
    context: RetrievedContext


def draw_held_out(repositories: Sequence[Repository], recipe: PretrainRecipe) -> list[HeldOut]:
    """Blanks of all repositories in random order, chunks and functions about 2 : 1, as many as the recipe says."""
    wanted = recipe.probes.blanks
    each = math.ceil(wanted / max(1, len(repositories)))
    documents = recipe.documents.model_copy(
        update={
            "chunks_per_repository": math.ceil(2 * each / 3),
            "functions_per_repository": math.ceil(each / 3),
            "draws": 1,
            "top": _RETRIEVED,
            "query_holds_target": 0.0,
        }
    )
    drawn = [
        HeldOut(*one) for repository in repositories for one in blanks_with_context(repository, documents, recipe.seed)
    ]
    generator(recipe.seed, "probes").shuffle(drawn)
    return drawn[:wanted]


@torch.no_grad()
def induction(model: Any, vocabulary: int, span: int, first: int = 19) -> tuple[float, float]:
    """Nats per token of a random sequence, and of the same sequence when it comes again right behind itself.

    Nothing but copying can lower the second below the first, which is about the logarithm of the vocabulary's size.
    """
    once = torch.randint(first, vocabulary, (_INDUCTION_ROWS, span), generator=torch.Generator().manual_seed(0))
    ids = torch.cat([once, once], dim=1).to(model.device)
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
    losses = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1)
    return float(losses[:, : span - 1].mean()), float(losses[:, span:].mean())


class TargetLosses(NamedTuple):
    """Nats per token of one blank's target, its end token included, by what stands in the place of the context."""

    without: float
    with_retrieved: float
    with_foreign: float
    """What was retrieved for another blank: any benefit of context as such, without relevance."""
    with_target: float
    """The target itself, as a chunk: how well the model could copy if retrieval were perfect."""
    tokens: int


def target_losses(model: Any, builder: PromptBuilder, held_out: Sequence[HeldOut]) -> list[TargetLosses]:
    """Losses of all blanks; a target is cut to the tokens that completion may generate."""
    others = [*held_out[1:], *held_out[:1]]
    return [_target_losses(model, builder, one, other) for one, other in zip(held_out, others, strict=True)]


@torch.no_grad()
def _target_losses(model: Any, builder: PromptBuilder, held_out: HeldOut, other: HeldOut) -> TargetLosses:
    blank = held_out.blank
    in_file = builder.in_file(blank.left, blank.right)
    target = [*builder.encode(blank.target)[: builder.budgets.generated(blank.kind) - 1], builder.end_id]
    contexts = [
        [],
        [ranked.chunk for ranked in held_out.context.chunks],
        [ranked.chunk for ranked in other.context.chunks],
        [Chunk(other.blank.path, blank.start, blank.end, blank.target)],
    ]
    prompts = [
        builder.prompt(in_file, builder.cross_file(chunks, LANGUAGES[blank.language].comment)) for chunks in contexts
    ]
    without, retrieved, foreign, told = (_continuation_loss(model, prompt, target) / len(target) for prompt in prompts)
    return TargetLosses(without, retrieved, foreign, told, len(target))


def _continuation_loss(model: Any, prompt: list[int], target: list[int]) -> float:
    ids = torch.tensor([prompt + target], device=model.device)
    logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    return float(functional.cross_entropy(logits, ids[0, len(prompt) :], reduction="sum"))


def measure(
    loaded: LoadedModel, builder: PromptBuilder, held_out: Sequence[HeldOut], completed: int
) -> dict[str, float]:
    """All probes as one flat record; without held-out blanks only induction is measured."""
    vocabulary = loaded.model.config.vocab_size
    record: dict[str, float] = {}
    for span in (48, 400):
        fresh, again = induction(loaded.model, vocabulary, span)
        record |= {f"random_{span}": fresh, f"repeated_{span}": again}
    if held_out:
        record |= likelihoods(
            target_losses(loaded.model, builder, held_out), [one.blank.repository for one in held_out]
        )
    if completed and held_out:
        record |= completions(loaded, held_out[:completed])
    return record


def likelihoods(losses: Sequence[TargetLosses], repositories: Sequence[str]) -> dict[str, float]:
    """Nats per target token over all blanks, and what retrieved context gains per blank, with its 95 % interval."""
    table = np.array(losses)
    means = (table[:, :-1] * table[:, -1:]).sum(0) / table[:, -1].sum()
    gains = table[:, 0] - table[:, 1]
    interval = paired_bootstrap(gains.tolist(), repositories)
    record = dict(zip(("nll_without", "nll_with", "nll_with_foreign", "nll_with_target"), means.tolist(), strict=True))
    record |= {"likelier_with": float((gains > 0).mean()), "gain": float(gains.mean())}
    if interval.low is not None and interval.high is not None:
        record |= {"gain_low": interval.low, "gain_high": interval.high}
    return record


def completions(loaded: LoadedModel, held_out: Sequence[HeldOut]) -> dict[str, float]:
    """Edit similarity of greedy completions without and with context, and how often context changed it.

    ``told`` is with the blank's own lines as the context: what a model reaches that makes use of what it is shown.
    """
    retrieved = [ArmRequest(one.blank, tuple(ranked.chunk for ranked in one.context.chunks)) for one in held_out]
    told = [ArmRequest(one.blank, (own_lines(one.blank),)) for one in held_out]
    texts = zip(*_texts(loaded, retrieved), _texts(loaded, told)[1], strict=True)
    pairs = np.array(
        [
            [edit_similarity(postprocess(one.blank, text), one.blank.target) for text in three]
            for one, three in zip(held_out, texts, strict=True)
        ]
    )
    return {
        "completed": float(len(pairs)),
        "es_without": float(pairs[:, 0].mean()),
        "es_with": float(pairs[:, 1].mean()),
        "better_with": float((pairs[:, 1] > pairs[:, 0]).mean()),
        "worse_with": float((pairs[:, 1] < pairs[:, 0]).mean()),
        "es_told": float(pairs[:, 2].mean()),
        "exact_told": float((pairs[:, 2] == 1.0).mean()),
    }


def own_lines(blank: Blank) -> Chunk:
    """The blank's lines, with three of those above and below, as a chunk of another file."""
    lines = with_neighbours(blank.left, blank.target, blank.right, _OWN_LINES, _OWN_LINES)
    return Chunk(f"copy_of_{Path(blank.path).name}", 0, len(lines), "\n".join(lines))


def _texts(loaded: LoadedModel, requests: Sequence[ArmRequest]) -> tuple[list[str], list[str]]:
    arms = complete_arms(loaded, requests, progress=False)
    return [arm.text_without for arm in arms], [arm.text_with for arm in arms]
