"""An evaluation from its recipe to its report: retrieve, generate, score, report.

out/run.json         configuration, commit, versions
out/contexts.jsonl   blanks with their contexts            } written as the work goes on, so a killed run
out/predictions/     completions of each model             } resumes where it stopped
out/scores/
out/summary.json     everything that was found
out/report.html      the same to look at
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repoformer.code.storage import read_json, write_json, write_text
from repoformer.config import write_run_record
from repoformer.errors import UserError
from repoformer.models.loading import model_folder

from .generate import generate, predictions_log
from .recipe import EvalRecipe
from .report import render
from .retrieve import retrieve, retrieved
from .score import score_all, scores_path
from .summary import Evaluated, summarise


def run(recipe: EvalRecipe, workers: int = 1, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Do what is not done yet and return the summary; ``notes`` are stated at the top of the report.

    ``workers`` are processes for scoring. Retrieval and generation are timed, so they run alone.
    """
    for entry in recipe.models:
        model_folder(entry.path, download=recipe.download)  # a missing model is found before the work starts
    write_run_record(Path(recipe.out), recipe)
    prepared = retrieve(recipe)
    for entry in recipe.models:
        generate(recipe, entry, prepared)
    return score(recipe, workers, notes)


def rescore(recipe: EvalRecipe, workers: int = 1, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Score and report again what an earlier run generated; neither models nor data are needed."""
    write_run_record(Path(recipe.out), recipe)
    return score(recipe, workers, notes)


def score(recipe: EvalRecipe, workers: int, notes: Sequence[str]) -> dict[str, Any]:
    """Score all predictions for the blanks that were chosen last, write summary and report, and return the summary."""
    out = Path(recipe.out)
    prepared, available = retrieved(out)
    wanted = {one.blank.id for one in prepared}
    evaluated = [_evaluated(out, entry.name, wanted, workers) for entry in recipe.models]
    provenance = read_json(out / "run.json")
    summary = summarise(recipe, provenance, prepared, available, evaluated, notes)
    write_json(out / "summary.json", summary)
    write_text(out / "report.html", render(summary))
    return summary


def _evaluated(out: Path, name: str, wanted: set[str], workers: int) -> Evaluated:
    log = predictions_log(out, name)
    predictions = {one.blank.id: one for one in log.read() if one.blank.id in wanted}
    if len(predictions) < len(wanted):
        raise UserError(
            f"{log.path}: {len(wanted) - len(predictions)} of {len(wanted)} blanks have no prediction; "
            "let `repoformer eval run` finish first"
        )
    scores = score_all(scores_path(out, name), list(predictions.values()), workers)
    return Evaluated(name, log.facts(), log.made_with(), predictions, {score.id: score for score in scores})
