"""The loop: rows, loss, step; save, then probe; it can be stopped at any moment and goes on where it was saved.

A run's *progress* is the larger of the shares of its time and of its steps that are used up. Sequence length and
learning rate follow it, so the same recipe makes sense of two minutes and of two hours.
"""

from __future__ import annotations

import json
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from tqdm import tqdm

from repoformer.code.storage import written_aside
from repoformer.errors import UserError
from repoformer.models.pretraining.recipe import PretrainRecipe
from repoformer.models.pretraining.rows import RowMaker, shifted_positions, target_mask
from repoformer.seeding import generator
from repoformer.training.stopping import StopRequests

CHECKPOINT = "checkpoint.pt"
METRICS = "metrics.jsonl"
_LOG_STEPS = 50


@dataclass
class Progress:
    """How far a run is."""

    step: int = 0
    seconds: float = 0.0
    """Spent in optimiser steps, over all resumptions."""
    tokens: int = 0

    def share(self, recipe: PretrainRecipe) -> float:
        """The share of the run that is done; 1.0 at its end."""
        by_time = self.seconds / (60 * recipe.minutes) if recipe.minutes else 0.0
        by_steps = self.step / recipe.steps if recipe.steps else 0.0
        return min(1.0, max(by_time, by_steps))


class Trainer:
    """Trains one model in one folder."""

    def __init__(self, model: Any, rows: RowMaker, recipe: PretrainRecipe, out_dir: Path, run_key: str) -> None:
        """``run_key`` stands for all that must be the same for a checkpoint to be continued."""
        self.model = model.to(recipe.device)
        self.rows, self.recipe, self.out_dir, self.run_key = rows, recipe, out_dir, run_key
        self.progress = Progress()
        self.optimiser = _optimiser(self.model, recipe)
        self._resume()

    def train(self, probe: Callable[[], dict[str, float]]) -> bool:
        """Run to the end, or to a request to stop (then False). ``probe`` measures the model now and then."""
        saved = probed = time.monotonic()
        with (
            StopRequests(self.out_dir, main=True, plain=True) as stop,
            tqdm(desc="pretrain", unit="%", total=100) as bar,
        ):
            while (share := self.progress.share(self.recipe)) < 1.0 and stop.reason() is None:
                loss = self._step(share)
                bar.update(100 * self.progress.share(self.recipe) - bar.n)
                if self.progress.step % _LOG_STEPS == 0:
                    bar.set_postfix(loss=f"{(value := float(loss)):.3f}", step=self.progress.step)
                    self._log({"loss": value, "learning_rate": self.optimiser.param_groups[0]["lr"]})
                if time.monotonic() - saved > self.recipe.save_seconds:
                    self.save()
                    saved = time.monotonic()
                if time.monotonic() - probed > self.recipe.probes.every_seconds:
                    self.save()
                    self._probe(probe)
                    probed = time.monotonic()
            stop.honour()
        self.save()
        finished = self.progress.share(self.recipe) >= 1.0
        if finished:
            self._probe(probe)
        return finished

    def save(self) -> None:
        """Write weights, optimiser state and progress, all or nothing."""
        state = {
            "run_key": self.run_key,
            "progress": asdict(self.progress),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        with written_aside(self.out_dir / CHECKPOINT) as aside:
            torch.save(state, aside)

    def _step(self, share: float) -> torch.Tensor:
        started = time.perf_counter()
        progress, recipe = self.progress, self.recipe
        phase = recipe.phase(share)
        ids = torch.from_numpy(self.rows.batch(progress.step, phase)).to(recipe.device)
        rng = generator(recipe.seed, "positions", progress.step)
        loss = self._loss(ids, rng)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), recipe.optimiser.clip_norm)
        for group in self.optimiser.param_groups:
            group["lr"] = recipe.learning_rate(progress.step, share)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        progress.step += 1
        progress.tokens += ids.numel()
        progress.seconds += time.perf_counter() - started
        return loss.detach()

    def _loss(self, ids: torch.Tensor, rng: random.Random) -> torch.Tensor:
        """Weighted mean cross entropy of the next token: of all tokens, for what stands in a context is code as well,
        with more weight on targets, few as they are."""
        starts = shifted_positions(rng, ids.shape[0], ids.shape[1], self.recipe.model.positions)
        positions = torch.tensor([list(row) for row in starts], device=ids.device)
        with torch.autocast(self.recipe.device, dtype=torch.bfloat16, enabled=self.recipe.device == "cuda"):
            logits = self.model(input_ids=ids, position_ids=positions, use_cache=False).logits
        losses = functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none")
        is_target = target_mask(ids.cpu().numpy(), self.rows.builder.middle_id, self.rows.builder.end_id)[:, 1:]
        targets = torch.from_numpy(is_target).to(ids.device).flatten()
        weights = torch.where(targets, self.recipe.target_weight, 1.0)
        return (weights * losses).sum() / weights.sum()

    def _probe(self, probe: Callable[[], dict[str, float]]) -> None:
        self.model.eval()
        self._log(probe())
        self.model.train()

    def _log(self, values: dict[str, float]) -> None:
        line = {**asdict(self.progress), **{name: round(value, 5) for name, value in values.items()}}
        with open(self.out_dir / METRICS, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(line) + "\n")

    def _resume(self) -> None:
        path = self.out_dir / CHECKPOINT
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self.recipe.device, weights_only=True)
            run_key = state["run_key"]
        except (OSError, RuntimeError, EOFError, ValueError, TypeError, KeyError, pickle.UnpicklingError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise UserError(f"{path}: not readable ({reason}); delete it to start again") from None
        if run_key != self.run_key:
            raise UserError(
                f"{path}: is of a run on other data, of another model, or with other settings; delete it or choose "
                "another out=DIR"
            )
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.progress = Progress(**state["progress"])


def _optimiser(model: Any, recipe: PretrainRecipe) -> torch.optim.AdamW:
    """AdamW that decays matrices, but neither embeddings nor vectors."""
    matrices = [weight for weight in model.transformer.h.parameters() if weight.dim() == 2]
    decayed = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in decayed]
    groups = [
        {"params": matrices, "weight_decay": recipe.optimiser.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.optimiser.learning_rate, betas=(0.9, recipe.optimiser.beta2), fused=True)
