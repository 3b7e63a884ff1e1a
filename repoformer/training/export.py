"""A trained model as a folder that transformers loads as it is, with its settings and a model card."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repoformer.code.storage import write_text
from repoformer.models.settings import ModelSettings, save_settings
from repoformer.training.recipe import TrainRecipe
from repoformer.training.thresholds import ENOUGH
from repoformer.training.validation import Validation

# Renamed last: without it no reader takes the folder for a model.
_LAST = "config.json"


def export_model(
    model: Any, weights: Mapping[str, Any], tokenizer: Any, settings: ModelSettings, card: str, out: Path
) -> None:
    """Write safetensors, tokenizer, ``repoformer.json`` and ``README.md`` aside, then move them into ``out``.

    ``weights`` are the whole model's by name, gathered from all processes where it was sharded.
    """
    aside = out / ".export.tmp"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        model.save_pretrained(aside, state_dict=weights)
        tokenizer.save_pretrained(aside)
        save_settings(aside, settings)
        write_text(aside / "README.md", card)
        for path in aside.iterdir():  # safetensors writes for the owner alone, whatever the umask says
            path.chmod((aside / _LAST).stat().st_mode)
        (out / _LAST).unlink(missing_ok=True)
        for path in sorted(aside.iterdir(), key=lambda path: path.name == _LAST):
            os.replace(path, out / path.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def threshold_origin(validation: Validation) -> str:
    """Where a model's thresholds come from, in words."""
    counts = {kind: sum(one.kind == kind for one in validation.decisions) for kind in validation.thresholds}
    few = [kind for kind, count in counts.items() if count < ENOUGH]
    pooled = f"; one for all kinds for {', '.join(few)}, with fewer than {ENOUGH} examples" if few else ""
    return (
        f"highest summed gain of the labelling model on {len(validation.decisions)} validation examples "
        f"at step {validation.step}{pooled}"
    )


def model_card(recipe: TrainRecipe, settings: ModelSettings, step: int, validation: Validation | None) -> str:
    """The model's README: what it was trained on and how, and what was measured; nothing that was not."""
    decides = settings.style != "base"
    start = Path(recipe.model).name if Path(recipe.model).is_dir() else recipe.model
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: text-generation",
        "tags: [code, fill-in-the-middle, retrieval]",
        "---",
        f"# {recipe.out.name}",
        "",
        f"`{start}`, fine-tuned for fill-in-the-middle "
        + ("and for deciding when to retrieve cross-file context." if decides else "without cross-file context."),
        "",
        "## Training",
        "",
        f"- objective `{recipe.objective}`, lambda {recipe.lambda_:g}, "
        f"end token {'trained' if recipe.train_end_token else 'not trained'}",
        f"- {step} steps of {recipe.batch} examples ({recipe.epochs:g} epochs), learning rate "
        f"{recipe.learning_rate:g}, {recipe.precision}, seed {recipe.seed}",
        f"- an instance wants context when {_measure(settings)} gains more than {recipe.label_threshold:g}",
        "",
        "## Measured",
        "",
        *(_measured(validation) if validation else ["Nothing: no validation was completed."]),
        "",
        "## Use",
        "",
        f"Prompts: style `{settings.style}`, dialect `{settings.dialect}`, budgets `{settings.preset}`, as "
        "`repoformer.json` says, which `repoformer` reads. `transformers` loads the folder as it is.",
        "",
    ]
    return "\n".join(lines)


def _measure(settings: ModelSettings) -> str:
    """What the labels' gain is counted in; data that do not say hold edit similarities."""
    by = settings.labels.get("label", {}).get("by", "edit_similarity")
    return "the mean log likelihood of a target's tokens (nats)" if by == "likelihood" else "edit similarity"


def _measured(validation: Validation) -> list[str]:
    """The summary as a table, thresholds by kind among it."""
    rows: dict[str, float | int | None] = {
        "validation examples": validation.examples,
        "L_gen": validation.L_gen,
        "L_eval": validation.L_eval,
        "share that wants context": validation.positives,
        "AUROC of P(`<cc>`)": validation.auroc,
        "average precision": validation.average_precision,
        "F1 at the thresholds": validation.f1,
        "calibration error": validation.calibration_error,
        **{f"threshold, {kind}": threshold for kind, threshold in validation.thresholds.items()},
    }
    table = [f"| {name} | {value:.4g} |" for name, value in rows.items() if value is not None]
    calibration = [
        f"| {one.low:.1f}-{one.high:.1f} | {one.count} | {one.mean_p:.3f} | {one.helped:.3f} |"
        for one in validation.calibration
    ]
    reasons = [f"- no {name}: {reason}" for name, reason in validation.not_measured.items() if validation.decisions]
    return [
        *(f"On repositories held out of training, at step {validation.step}:", "", "| | |", "|---|---|", *table),
        *(["", *reasons] if reasons else []),
        *(
            ["", "| P(`<cc>`) | examples | mean | context helped |", "|---|---|---|---|", *calibration]
            if calibration
            else []
        ),
    ]
