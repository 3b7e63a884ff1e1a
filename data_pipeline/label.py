"""Label: what one model makes of every blank without and with its context, and how much edit similarity that gained.

Both arms have the same budgets and the same untuned ``base`` prompt, and decode greedily (section 4.1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from repoformer.code.records import LabeledBlank
from repoformer.code.storage import read_parquet, write_parquet
from repoformer.config import config_hash

from .done import done_of
from .recipe import DataRecipe
from .retrieve import BlankInContext
from .stage import Advance, Input, Shard, Stage, Stats

if TYPE_CHECKING:
    from repoformer.inference.arms import Arms
    from repoformer.models.loading import LoadedModel

BATCHES = 4
"""Batches that are completed at a time: enough to put blanks of like length together, few enough to see progress."""


def settings(recipe: DataRecipe) -> Any:
    """The batch size too: other batches are other sums of floats. Not the threshold: it only counts."""
    return recipe.model_dump(mode="json", include={"preset": True, "label": {"model", "batch", "device"}})


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """The blanks in their contexts, and the model's files."""
    from repoformer.models.fingerprint import model_hash
    from repoformer.models.loading import model_folder

    settings = shards[0].recipe.label
    model = model_hash(model_folder(settings.model, download=settings.download))
    return [Input(config_hash(done.output, model), done.rows) for done in done_of("retrieve", shards)]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Complete the shard's blanks both ways."""
    found = read_parquet(BlankInContext, shard.part("retrieve"))
    labelled = list(_label(found, shard.recipe, advance)) if found else []
    stats = Stats(write_parquet(shard.part("label"), labelled, LabeledBlank))
    stats.counts["both completions are equal"] = sum(one.completion_with == one.completion_without for one in labelled)
    return stats


def _label(found: list[BlankInContext], recipe: DataRecipe, advance: Advance) -> Iterator[LabeledBlank]:
    from repoformer.inference.arms import ArmRequest, complete_arms

    loaded = _loaded(recipe)
    size = BATCHES * recipe.label.batch
    for start in range(0, len(found), size):
        group = found[start : start + size]
        requests = [ArmRequest(one.blank, tuple(ranked.chunk for ranked in one.context.chunks)) for one in group]
        arms = complete_arms(loaded, requests, recipe.label.batch, style="base", progress=False)
        yield from (_labelled(one, both, recipe) for one, both in zip(group, arms, strict=True))
        advance(len(group))


def _labelled(one: BlankInContext, arms: Arms, recipe: DataRecipe) -> LabeledBlank:
    from repoformer.metrics.completion import postprocess
    from repoformer.metrics.text import edit_similarity

    def similarity(completion: str) -> float:
        return edit_similarity(postprocess(one.blank, completion), one.blank.target)

    return LabeledBlank(
        blank=one.blank,
        context=one.context,
        completion_without=arms.text_without,
        completion_with=arms.text_with,
        es_without=similarity(arms.text_without),
        es_with=similarity(arms.text_with),
        generator=recipe.label.model,
        decoding=f"greedy, base prompt, {recipe.preset} budgets",
    )


def _loaded(recipe: DataRecipe) -> LoadedModel:
    """The model, with the budgets of the recipe."""
    from repoformer.models.loading import load_model

    loaded = load_model(recipe.label.model, device=recipe.label.device, download=recipe.label.download)
    return dataclasses.replace(loaded, settings=loaded.settings.model_copy(update={"preset": recipe.preset}))


STAGE = Stage("label", "blank", ("label",), settings, inputs, run_shard)
