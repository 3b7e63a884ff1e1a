"""Label: what one model makes of every blank without and with its context, and how much that gained.

Both arms have the same budgets and the same untuned ``base`` prompt, and decode greedily (section 4.1). Blanks that
take about as long are completed together, and each batch is logged, so a killed shard goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from repoformer.code.records import LabeledBlank
from repoformer.code.storage import read_parquet, write_parquet
from repoformer.config import config_hash
from repoformer.prompt.budgets import COMPLETION

from .done import done_of, settings_hash
from .generators import Generator, generator, model_revision
from .label_log import Completed, CompletedBatch, LabelLog, label_log
from .recipe import DataRecipe
from .retrieve import BlankInContext
from .stage import Advance, Input, Shard, Stage, Stats


def settings(recipe: DataRecipe) -> Any:
    """The batch size too: other batches are other sums of floats. Not the threshold: it only counts."""
    label = {"model", "batch", "device", "likelihood"}
    served = recipe.label.endpoint and recipe.label.endpoint.model_dump(include={"url", "model", "dialect"})
    told = recipe.model_dump(mode="json", include={"preset": True, "label": label})
    return told | {"endpoint": served, "schema": LabeledBlank.schema}


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """The blanks in their contexts, and the model's files."""
    revision = model_revision(shards[0].recipe.label)
    return [Input(config_hash(done.output, revision), done.rows) for done in done_of("retrieve", shards)]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Complete the shard's blanks both ways."""
    found = read_parquet(BlankInContext, shard.part("retrieve"))
    stats = Stats()
    (given,) = inputs([shard])
    with label_log(shard, config_hash(settings_hash(STAGE, shard.recipe), given.hash)) as log:
        stats.seconds = log.seconds
        completed = _complete(found, shard.recipe, log, advance) if found else {}
        labelled = list(_labelled(found, completed, shard.recipe, stats))
        stats.rows = write_parquet(shard.part("label"), labelled, LabeledBlank)
    stats.counts["both completions are equal"] = sum(one.completion_with == one.completion_without for one in labelled)
    return stats


def _complete(
    found: Sequence[BlankInContext], recipe: DataRecipe, log: LabelLog, advance: Advance
) -> dict[str, Completed]:
    """The completions by blank: those in the log, then batch after batch the others."""
    done = len(log.batches)
    advance(sum(len(batch.completed) for batch in log.batches))
    size = recipe.label.batch
    if done * size < len(found):
        model = generator(recipe)
        ordered = by_cost(found, model)
        for start in range(done * size, len(ordered), size):
            started = time.perf_counter()
            completed = tuple(model.complete(ordered[start : start + size]))
            log.append(CompletedBatch(time.perf_counter() - started, completed))
            advance(len(completed))
    return {one.id: one for batch in log.batches for one in batch.completed}


def by_cost(found: Sequence[BlankInContext], model: Generator) -> list[BlankInContext]:
    """Blanks in an order in which neighbours take about as long: decoding first, which stops at the target's lines."""

    def cost(one: BlankInContext) -> tuple[bool, int, int, str]:
        blank = one.blank
        return blank.kind == "function", blank.target.count("\n"), model.prompt_tokens(blank), blank.id

    return sorted(found, key=cost, reverse=True)


def _labelled(
    found: Sequence[BlankInContext], completed: dict[str, Completed], recipe: DataRecipe, stats: Stats
) -> Iterator[LabeledBlank]:
    from repoformer.metrics.completion import postprocess
    from repoformer.metrics.text import edit_similarity

    endpoint, decoding = recipe.label.endpoint, _decoding(recipe)
    for one in found:
        both, blank = completed[one.blank.id], one.blank
        if both.refused:
            stats.dropped[both.refused] += 1
            continue
        yield LabeledBlank(
            blank=blank,
            context=one.context,
            completion_without=both.without,
            completion_with=both.with_context,
            es_without=edit_similarity(postprocess(blank, both.without), blank.target),
            es_with=edit_similarity(postprocess(blank, both.with_context), blank.target),
            generator=endpoint.model if endpoint else recipe.label.model,
            decoding=decoding,
            revision="" if endpoint else model_revision(recipe.label),
            log_likelihood_without=both.log_likelihood_without,
            log_likelihood_with=both.log_likelihood_with,
        )


def _decoding(recipe: DataRecipe) -> str:
    """Everything that the completions depend on beside the weights, in words."""
    budgets, label = COMPLETION[recipe.preset], recipe.label
    where = f"endpoint {label.endpoint.url}" if label.endpoint else f"batches of {label.batch} on {label.device}"
    return (
        f"greedy; base prompt of {budgets.left} + {budgets.right} + {budgets.cross_file} tokens ({recipe.preset}); "
        f"at most {budgets.new_tokens} new tokens, {budgets.new_tokens_function} for functions; {where}"
    )


STAGE = Stage("label", "blank", ("label",), settings, inputs, run_shard)
