"""Step two: what each model makes of each blank, without and with context; every policy is replayed from that.

    out/predictions/MODEL.jsonl       one `Prediction` a line
    out/predictions/MODEL.meta.json   what they were made with, and the model's settings

Blanks are completed in groups that depend on nothing but their order, so a killed run that goes on forms the same
batches as one that was never killed. A raised limit goes on where the smaller one ended.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from repoformer.code.records import Prediction
from repoformer.code.storage import read_json
from repoformer.config import config_hash

from .endpoint import EndpointGenerator
from .generators import Generator, LocalGenerator
from .recipe import EvalRecipe, EvaluatedModel
from .record_log import RecordLog
from .retrieve import Prepared, contexts_log
from .shards import WHOLE, Shard, finished_shards, merge
from .sources import Source

BATCHES = 2
"""Batches that are completed, then written, together: what a killed run loses at most."""


def predictions_log(out: Path, model: str) -> RecordLog[Prediction]:
    """Where a model's predictions are kept."""
    return RecordLog(Prediction, out / "predictions" / f"{model}.jsonl")


def group_size(recipe: EvalRecipe) -> int:
    """How many blanks make one group."""
    return BATCHES * recipe.batch


def generate(
    recipe: EvalRecipe,
    entry: EvaluatedModel,
    prepared: Sequence[Prepared],
    source: Source,
    timed: Set[str],
    shard: Shard = WHOLE,
) -> None:
    """Complete every blank that has no prediction yet; loads the model only if there is one.

    ``timed``: ids of the blanks whose seconds are measured.
    """
    out = shard.folder(Path(recipe.out))
    generator = generator_of(recipe, entry, source)
    log = predictions_log(out, entry.name)
    made_with = generator.made_with() | {
        "contexts": config_hash(contexts_log(out).made_with()),
        "length": config_hash(source.new_tokens, source.postprocessing),
        **({} if recipe.right_context else {"right context": "none"}),
    }
    held = {prediction.blank.id: prediction for prediction in log.resume(made_with)}
    size = group_size(recipe)
    groups = [prepared[start : start + size] for start in range(0, len(prepared), size)]
    unfinished = [group for group in groups if not all(_is_done(one, held, timed) for one in group)]
    if not unfinished:
        log.note(log.facts() | generator.facts_of_today())
        return
    redone = {one.blank.id for group in unfinished for one in group}
    log.rewrite(prediction for blank, prediction in held.items() if blank not in redone)
    generator.load()
    run = read_json(out / "run.json")
    generated = {key: run[key] for key in ("started", "git", "python", "packages")}
    log.note(generator.facts() | {"generated": generated})
    with tqdm(total=len(prepared), desc=entry.name, unit="blank") as bar:
        bar.update(len(prepared) - sum(map(len, unfinished)))
        for group in unfinished:
            log.append(_completed(generator, group, timed, recipe.right_context))
            bar.update(len(group))


def generator_of(recipe: EvalRecipe, entry: EvaluatedModel, source: Source) -> Generator:
    """Who completes for an entry of the table."""
    kind = EndpointGenerator if entry.endpoint else LocalGenerator
    return kind(recipe, entry, source.length)


def _completed(
    generator: Generator, group: Sequence[Prepared], timed: Set[str], right_context: bool
) -> list[Prediction]:
    """Predictions hold the whole blank, whatever of it the model was shown."""
    if right_context:
        return generator.complete(group, timed)
    shown = [replace(one, blank=replace(one.blank, right="")) for one in group]
    made = generator.complete(shown, timed)
    return [replace(prediction, blank=one.blank) for one, prediction in zip(group, made, strict=True)]


def _is_done(one: Prepared, held: dict[str, Prediction], timed: Set[str]) -> bool:
    prediction = held.get(one.blank.id)
    if prediction is None:
        return False
    return prediction.decide_seconds is not None or one.blank.id not in timed or bool(prediction.refused)


def merge_predictions(out: Path, model: str) -> None:
    """A model's predictions of all shards in one file, if the run was sharded."""
    logs = [predictions_log(folder, model) for folder in finished_shards(out)]
    if logs:
        merge(logs, predictions_log(out, model), logs[0].facts())
