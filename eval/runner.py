"""An evaluation from its recipe to its report, in three steps over files: generate, score, report.

out/run.json         configuration, commit, versions
out/contexts.jsonl   blanks with their contexts            } written as the work goes on, so a killed run
out/predictions/     completions of each model             } resumes where it stopped
out/shards/          the same of several processes, until scoring merges it
out/scores/
out/summary.json     everything that was found
out/report.html      the same to look at; report.md and report-*.svg for where no page can be shown
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from repoformer.code.records import Prediction
from repoformer.code.storage import read_json, write_json
from repoformer.config import parse_recipe, write_run_record
from repoformer.errors import UserError
from repoformer.report.markdown import write_page

from .examples import examples
from .execute.pass_rate import read_unit_tests
from .generate import generate as generate_predictions
from .generate import generator_of, group_size, merge_predictions, predictions_log
from .recipe import EvalRecipe
from .report import render
from .retrieve import Prepared, Retrieved, merge_contexts, retrieve, retrieved
from .score import read_scores, score_all, scores_path
from .shards import WHOLE, Shard, finished_shards
from .sources import Source
from .sources import asked as all_blanks
from .summary import Evaluated, summarise


def run(recipe: EvalRecipe, workers: int = 1, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Do what is not done yet and return the summary; ``notes`` are stated at the top of the report.

    ``workers`` are processes for scoring. Retrieval and generation are timed, so they run alone.
    """
    generate(recipe)
    return rescore(recipe, workers, notes)


def rescore(recipe: EvalRecipe, workers: int = 1, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Score and report again what an earlier run generated; neither models nor data are needed."""
    score(recipe, workers)
    return report(recipe, notes)


def generate(recipe: EvalRecipe, shard: Shard = WHOLE) -> None:
    """Step one and two, for all blanks or for a shard of them."""
    for entry in recipe.models:
        generator_of(recipe, entry, Source("", ""))  # a missing model is found before the work starts
    available = all_blanks(recipe)  # so are missing data
    out = Path(recipe.out)
    if shard == WHOLE:
        _merge(recipe)
    write_run_record(shard.folder(out), recipe)
    prepared = retrieve(recipe, available, shard, group_size(recipe))
    chosen = retrieved(shard.folder(out))
    timed = set(chosen.chosen[: recipe.latency_blanks])
    for entry in recipe.models:
        generate_predictions(recipe, entry, prepared, chosen.source, timed, shard)


def score(recipe: EvalRecipe, workers: int = 1) -> None:
    """Step three: merge what shards left, and score the completions of all blanks that were chosen last."""
    out = Path(recipe.out)
    _merge(recipe)
    asked, predictions = _completed(recipe)
    for name, completed in predictions.items():
        source = asked.source
        score_all(scores_path(out, name), list(completed.values()), workers, source.postprocessing, source.metrics)


def report(recipe: EvalRecipe, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Step four: summary and page from predictions and scores; returns the summary."""
    out = Path(recipe.out)
    write_run_record(out, recipe)
    asked, models = evaluated(recipe)
    executed = read_json(out / "unit_tests.json") if (out / "unit_tests.json").exists() else None
    summary = summarise(recipe, read_json(out / "run.json"), asked, models, notes, executed)
    write_json(out / "summary.json", summary)
    shown = tqdm(examples(asked, models, recipe.seed), desc="instances", unit="completion")
    write_page(out / "report.html", render(summary, shown))
    return summary


def reported(folder: Path) -> EvalRecipe | None:
    """The recipe of an evaluation that has a report; None where there is none yet."""
    return recipe_of(folder) if (folder / "report.html").exists() else None


def report_again(recipe: EvalRecipe) -> dict[str, Any]:
    """Write a report anew, as after its unit tests were run, with the notes that it has; returns the summary."""
    return report(recipe, read_json(Path(recipe.out) / "summary.json")["notes"])


def recipe_of(folder: Path) -> EvalRecipe:
    """The recipe of an evaluation, wherever its folder lies now."""
    path = folder / "run.json"
    recipe = parse_recipe(EvalRecipe, read_json(path)["config"], f"{path}: config")
    return recipe.model_copy(update={"out": str(folder)})


def evaluated(recipe: EvalRecipe) -> tuple[Retrieved, list[Evaluated]]:
    """What was asked last and what every model of the recipe made of it, from files alone."""
    out = Path(recipe.out)
    asked, predictions = _completed(recipe)
    index_seconds = {one.blank.id: one.index_seconds for one in asked.prepared}
    models: dict[str, Evaluated] = {}
    for entry in sorted(recipe.models, key=lambda entry: entry.gate is not None):
        log = predictions_log(out, entry.name)
        models[entry.name] = Evaluated(
            entry.name,
            log.facts(),
            log.made_with(),
            predictions[entry.name],
            read_scores(scores_path(out, entry.name), set(index_seconds)),
            index_seconds,
            models[entry.gate] if entry.gate else None,
            read_unit_tests(out, entry.name, predictions[entry.name]),
        )
    return asked, [models[entry.name] for entry in recipe.models]


def _merge(recipe: EvalRecipe) -> None:
    """What shards left becomes one run; their folder is kept under another name, so that it is not merged again."""
    out = Path(recipe.out)
    shards = finished_shards(out)
    if not shards:
        return
    for entry in recipe.models:
        for folder in shards:
            _predictions(folder, entry.name, retrieved(folder))  # one that is not finished may still go on
    merge_contexts(out)
    for entry in recipe.models:
        merge_predictions(out, entry.name)
    earlier = len(list(out.glob("shards.merged-*")))
    os.replace(out / "shards", out / f"shards.merged-{earlier + 1}")


def _completed(recipe: EvalRecipe) -> tuple[Retrieved, dict[str, dict[str, Prediction]]]:
    """The blanks that were chosen last and every model's predictions for them, without those that one cannot be asked.

    Models are compared on the same blanks, so a blank that one refuses is set aside for all, and counted.
    """
    asked = retrieved(Path(recipe.out))
    predictions = {entry.name: _predictions(Path(recipe.out), entry.name, asked) for entry in recipe.models}
    refused = {id: one.refused for by_id in predictions.values() for id, one in by_id.items() if one.refused}
    if not refused:
        return asked, predictions
    kept = [one for one in asked.prepared if one.blank.id not in refused]
    if not kept:
        raise UserError(f"{recipe.out}: every blank is refused, the first: {next(iter(refused.values()))}")
    set_aside = Counter(asked.source.set_aside) + Counter(refused.values())
    asked = replace(asked, prepared=kept, source=replace(asked.source, set_aside=dict(set_aside)))
    return asked, {
        name: {id: one for id, one in by_id.items() if id not in refused} for name, by_id in predictions.items()
    }


def _predictions(out: Path, name: str, asked: Retrieved) -> dict[str, Prediction]:
    wanted = {one.blank.id: one for one in asked.prepared}
    log = predictions_log(out, name)
    read = tqdm(log.stream(), total=len(wanted), desc=f"read {name}", unit="blank")
    predictions = {one.blank.id: _sharing(one, wanted[one.blank.id]) for one in read if one.blank.id in wanted}
    if len(predictions) < len(wanted):
        raise UserError(
            f"{log.path}: {len(wanted) - len(predictions)} of {len(wanted)} blanks have no prediction; "
            "let `repoformer eval run`, or the shard's `eval generate`, finish first"
        )
    return predictions


def _sharing(prediction: Prediction, asked: Prepared) -> Prediction:
    """The same with the blank and the context that are in memory once for all models, where these are those."""
    blank = asked.blank if prediction.blank == asked.blank else prediction.blank
    context = asked.context if prediction.context == asked.context else prediction.context
    return replace(prediction, blank=blank, context=context)
