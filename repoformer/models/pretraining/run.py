"""From repositories to an exported model; every stage is kept, and a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from repoformer.code.records import Repository
from repoformer.code.storage import read_json, read_parquet, write_json, write_parquet
from repoformer.config import config_hash, write_run_record
from repoformer.errors import UserError
from repoformer.models.loading import LoadedModel
from repoformer.models.pretraining.documents import build_tokens, learn_tokenizer, tokens_key
from repoformer.models.pretraining.model import new_model, take_weights
from repoformer.models.pretraining.probes import HeldOut, draw_held_out, measure
from repoformer.models.pretraining.recipe import PretrainRecipe
from repoformer.models.pretraining.rows import RowMaker
from repoformer.models.pretraining.token_file import load_tokens
from repoformer.models.pretraining.trainer import METRICS, Progress, Trainer
from repoformer.models.settings import ModelSettings
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import dialect_named
from repoformer.training.export import export_model

SETTINGS = ModelSettings(dialect="starcoder", style="base", preset="pocket")

_CHANGEABLE = {"minutes", "steps", "probes", "save_seconds", "device"}
"""What of a recipe may be another when a run goes on: how long it takes, where, and what is measured on the way."""


def pretrain(
    repositories: Sequence[Repository], out_dir: Path, recipe: PretrainRecipe, held_out: Sequence[Repository] = ()
) -> Path | None:
    """Train a model from scratch on ``repositories`` and export it to ``out_dir/model``, which is returned.

    None when the run was asked to stop before its end: call it again to go on. The probes measure on ``held_out``.
    """
    prepare(repositories, held_out, out_dir / "data", recipe)
    return train(out_dir, out_dir / "data", recipe)


def prepare(
    repositories: Sequence[Repository], held_out: Sequence[Repository], data: Path, recipe: PretrainRecipe
) -> None:
    """Tokenizer, token file and probe blanks in the folder ``data``; kept when the same were made before."""
    if not repositories:
        raise UserError("pretraining: no repositories; collect some first")
    key = config_hash(tokens_key(repositories, recipe), tokens_key(held_out, recipe), recipe.probes)
    if (data / "key.json").exists() and read_json(data / "key.json") == key:
        return
    (data / "key.json").unlink(missing_ok=True)  # stopped from here on, no key vouches for a mixture of two runs
    tokenizer = learn_tokenizer(repositories, recipe)
    tokenizer.save_pretrained(data / "tokenizer")
    tokens = build_tokens(repositories, _builder(tokenizer), recipe)
    if not tokens.blanks:
        raise UserError("pretraining: no blank could be drawn from the repositories; collect larger ones")
    tokens.save(data / "tokens.npz")
    write_parquet(data / "held_out.parquet", draw_held_out(held_out, recipe))
    write_json(data / "key.json", key)


def train(out_dir: Path, data: Path, recipe: PretrainRecipe) -> Path | None:
    """Train on what :func:`prepare` left in ``data`` and export; None when asked to stop before the end."""
    tokenizer, trainer, probe = _trainer(out_dir, data, recipe)
    write_run_record(out_dir, recipe)
    finished = trainer.train(probe)
    return _export(trainer, tokenizer, out_dir) if finished else None


def export_checkpoint(out_dir: Path, data: Path, recipe: PretrainRecipe) -> Path:
    """Export the checkpoint of a run that has not come to its end."""
    tokenizer, trainer, _ = _trainer(out_dir, data, recipe)
    return _export(trainer, tokenizer, out_dir)


def _trainer(out_dir: Path, data: Path, recipe: PretrainRecipe) -> tuple[Any, Trainer, Any]:
    from transformers import AutoTokenizer

    if not (data / "key.json").exists():
        raise UserError(f"{data}: no tokenizer and token file; run the step `prepare` first")
    tokenizer = AutoTokenizer.from_pretrained(data / "tokenizer", local_files_only=True)
    tokens = load_tokens(data / "tokens.npz")
    held_out = read_parquet(HeldOut, data / "held_out.parquet")
    builder = _builder(tokenizer)
    model = new_model(recipe.model, tokenizer, recipe.seed)
    if recipe.start_from:
        take_weights(model, tokenizer, recipe.start_from)
    rows = RowMaker(tokens, builder, recipe.seed)
    decides = recipe.model_dump(mode="json", exclude=_CHANGEABLE)
    trainer = Trainer(model, rows, recipe, out_dir, config_hash(tokens.key, decides))
    loaded = LoadedModel(model, tokenizer, SETTINGS, "pretraining")
    return tokenizer, trainer, lambda: measure(loaded, builder, held_out, recipe.probes.completed)


def _export(trainer: Trainer, tokenizer: Any, out_dir: Path) -> Path:
    """Half-precision weights: twice as small, and read as float32 where that is faster."""
    model = trainer.model.to("cpu", torch.float16).eval()
    card = _card(trainer.progress, sum(weight.numel() for weight in model.parameters()), out_dir / METRICS)
    export_model(model, model.state_dict(), tokenizer, SETTINGS, card, out_dir / "model")
    return out_dir / "model"


def _builder(tokenizer: Any) -> PromptBuilder:
    return PromptBuilder(tokenizer, dialect_named(SETTINGS.dialect), SETTINGS.budgets, SETTINGS.style)


def _card(progress: Progress, parameters: int, metrics: Path) -> str:
    """The model's README: how long it was trained, and what the last probe measured."""
    records = (
        [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()] if metrics.exists() else []
    )
    probed: dict[str, float] = next((record for record in reversed(records) if "random_48" in record), {})
    lines = [
        f"A `GPTBigCodeForCausalLM` of {parameters / 1e6:.2f} M parameters, trained from scratch: {progress.step}",
        f"steps, {progress.tokens / 1e6:.1f} M tokens, {progress.seconds / 60:.1f} minutes. Prompts: style `base`,",
        "dialect `starcoder`, budgets `pocket`. Its numbers say that the path works, little about code.",
        "",
        *(["| probe | value |", "|---|---|"] if probed else []),
        *(f"| {name} | {value} |" for name, value in probed.items()),
        "",
    ]
    return "\n".join(lines)
