"""Step two: what each model makes of each blank, without and with context; every policy is replayed from that.

    out/predictions/MODEL.jsonl       one `Prediction` a line
    out/predictions/MODEL.meta.json   what they were made with, and the model's settings

Blanks are completed in groups that depend on nothing but their order, so a killed run that goes on forms the same
batches as one that was never killed. A raised limit goes on where the smaller one ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from repoformer.code.records import Prediction
from repoformer.code.storage import read_json
from repoformer.config import config_hash
from repoformer.inference.arms import ArmRequest, Arms, TimedArms, complete_arms, time_arms
from repoformer.models.fingerprint import model_hash
from repoformer.models.loading import LoadedModel, load_model, model_folder
from repoformer.models.settings import ModelSettings, load_settings

from .recipe import EvalRecipe, EvaluatedModel
from .record_log import RecordLog
from .retrieve import Prepared, contexts_log

BATCHES = 2
"""Batches that are completed, then written, together: what a killed run loses at most."""


def predictions_log(out: Path, model: str) -> RecordLog[Prediction]:
    """Where a model's predictions are kept."""
    return RecordLog(Prediction, out / "predictions" / f"{model}.jsonl")


def generate(recipe: EvalRecipe, entry: EvaluatedModel, prepared: Sequence[Prepared]) -> None:
    """Complete every blank that has no prediction yet; loads the model only if there is one."""
    out = Path(recipe.out)
    folder = model_folder(entry.path, download=recipe.download)
    settings = load_settings(folder)
    log = predictions_log(out, entry.name)
    made_with = {
        "model": model_hash(folder),
        "prompts": _prompt_settings(settings) if settings else "detected from the tokenizer",
        "contexts": config_hash(contexts_log(out).made_with()),
    }
    held = {prediction.blank.id: prediction for prediction in log.resume(made_with)}
    timed = {one.blank.id for one in prepared[: recipe.latency_blanks]}
    size = BATCHES * recipe.batch
    groups = [prepared[start : start + size] for start in range(0, len(prepared), size)]
    unfinished = [group for group in groups if not all(_is_done(one, held, timed) for one in group)]
    if not unfinished:
        if settings:  # its thresholds may have been chosen anew since
            log.note(log.facts() | {"path": entry.path, "settings": settings.model_dump(mode="json")})
        return
    redone = {one.blank.id for group in unfinished for one in group}
    log.rewrite(prediction for blank, prediction in held.items() if blank not in redone)
    loaded = load_model(entry.path, device=recipe.device, download=recipe.download)
    log.note(_facts(recipe, entry, loaded.settings))
    bar = tqdm(total=len(prepared), desc=entry.name, unit="blank")
    with bar:
        bar.update(len(prepared) - sum(map(len, unfinished)))
        for group in unfinished:
            log.append(_complete(loaded, group, timed, recipe.batch))
            bar.update(len(group))


def _is_done(one: Prepared, held: dict[str, Prediction], timed: set[str]) -> bool:
    prediction = held.get(one.blank.id)
    if prediction is None:
        return False
    return prediction.decide_seconds is not None or one.blank.id not in timed


def _complete(loaded: LoadedModel, group: Sequence[Prepared], timed: set[str], batch: int) -> list[Prediction]:
    arms = complete_arms(loaded, [_request(one) for one in group], batch, progress=False)
    measured = [one for one in group if one.blank.id in timed]
    times = time_arms(loaded, [_request(one) for one in measured], progress=False)
    seconds = {one.blank.id: time for one, time in zip(measured, times, strict=True)}
    return [
        _prediction(loaded.name, one, both, seconds.get(one.blank.id)) for one, both in zip(group, arms, strict=True)
    ]


def _request(one: Prepared) -> ArmRequest:
    return ArmRequest(one.blank, tuple(ranked.chunk for ranked in one.context.chunks))


def _prediction(model: str, one: Prepared, arms: Arms, time: TimedArms | None) -> Prediction:
    return Prediction(
        blank=one.blank,
        model=model,
        p_retrieve=arms.p_retrieve,
        greedy=arms.greedy,
        context=one.context,
        text_without=arms.text_without,
        text_with=arms.text_with,
        decide_seconds=time.decide_seconds if time else None,
        retrieve_seconds=one.context.seconds if time else None,
        generate_without_seconds=time.generate_without_seconds if time else None,
        generate_with_seconds=time.generate_with_seconds if time else None,
    )


def _prompt_settings(settings: ModelSettings) -> dict[str, str]:
    return {"dialect": settings.dialect, "style": settings.style, "preset": settings.preset}


def _facts(recipe: EvalRecipe, entry: EvaluatedModel, settings: ModelSettings) -> dict[str, object]:
    """What the report says about these predictions."""
    run = read_json(Path(recipe.out) / "run.json")
    return {
        "path": entry.path,
        "settings": settings.model_dump(mode="json"),
        "decoding": "greedy",
        "batch": recipe.batch,
        "device": recipe.device,
        "generated": {key: run[key] for key in ("started", "git", "python", "packages")},
    }
