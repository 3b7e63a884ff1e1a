"""Assemble: labelled blanks as token ids, segment by segment, for training and for validation.

Left and right context have the same budgets whatever the label, so their lengths give nothing away. What the trainer
puts between the segments is its own affair: `Example` holds user text only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Example, LabeledBlank
from repoformer.code.storage import read_parquet, write_parquet
from repoformer.config import config_hash
from repoformer.prompt.budgets import TRAINING, TrainingBudgets
from repoformer.prompt.builder import PromptBuilder

from .done import done_of
from .generators import prompt_builder
from .recipe import DataRecipe
from .split import read_split
from .stage import Advance, Input, Shard, Stage, Stats, owned

SIDES = ("train", "validation")


def settings(recipe: DataRecipe) -> Any:
    """The budgets and whose tokenizer it is."""
    return recipe.model_dump(mode="json", include={"preset": True, "label": {"model", "by"}})


def inputs(shards: Sequence[Shard]) -> list[Input]:
    """The labelled blanks and the side of each repository. The model's files are in the labels' input."""
    split = read_split(shards[0].recipe)
    stages = zip(shards, done_of("label", shards), strict=True)
    return [
        Input(
            config_hash(done.output, done.input, owned(shard, split.train), owned(shard, split.validation)), done.rows
        )
        for shard, done in stages
    ]


def run_shard(shard: Shard, advance: Advance) -> Stats:
    """Encode the shard's blanks; a target over its budget is dropped."""
    stats = Stats()
    labelled = read_parquet(LabeledBlank, shard.part("label"))
    examples = list(_encoded(labelled, shard.recipe, stats, advance)) if labelled else []
    sides = read_split(shard.recipe).sides
    for side in SIDES:
        mine = [example for example in examples if sides[example.repository] == side]
        stats.rows += write_parquet(shard.part("assemble", side), mine, Example)
    return stats


def _encoded(labelled: list[LabeledBlank], recipe: DataRecipe, stats: Stats, advance: Advance) -> Iterator[Example]:
    builder, budgets = prompt_builder(recipe), TRAINING[recipe.preset]
    for one in labelled:
        example = encode(one, gain_of(one, recipe.label.by), builder, budgets)
        advance(1)
        if example is None:
            stats.dropped[f"target of more than {budgets.target} tokens"] += 1
        else:
            yield example


def encode(one: LabeledBlank, gain: float, builder: PromptBuilder, budgets: TrainingBudgets) -> Example | None:
    """The blank as token ids; None when its target is over budget."""
    blank = one.blank
    target = builder.encode(blank.target)
    if len(target) > budgets.target:
        return None
    in_file = builder.in_file(blank.left, blank.right, budgets.in_file(len(target)))
    chunks = [ranked.chunk for ranked in one.context.chunks]
    cross_file = builder.cross_file(chunks, LANGUAGES[blank.language].comment)
    return Example(
        id=blank.id,
        repository=blank.repository,
        kind=blank.kind,
        gain=gain,
        left=in_file.left,
        right=in_file.right,
        cross_file=tuple(cross_file[: budgets.cross_file]),
        target=tuple(target),
    )


def gain_of(one: LabeledBlank, by: str) -> float:
    """What retrieval gained, by the measure that the recipe names."""
    if by == "edit_similarity":
        return one.gain
    gain = one.likelihood_gain
    assert gain is not None, "the label stage stores likelihoods where the recipe asks for them"
    return gain


STAGE = Stage("assemble", "blank", tuple(f"assemble/{side}" for side in SIDES), settings, inputs, run_shard)
