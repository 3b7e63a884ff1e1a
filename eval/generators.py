"""Who completes blanks: a model in this process, under the protocol that every other generator keeps too."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Protocol

import torch

from repoformer.code.records import Prediction
from repoformer.errors import UserError
from repoformer.inference.arms import ArmRequest, Arms, Length, TimedArms, complete_arms, time_arms
from repoformer.models.fingerprint import model_hash
from repoformer.models.loading import LoadedModel, dtype_on, load_model, weights_folder
from repoformer.models.settings import ModelSettings, load_settings

from .recipe import EvalRecipe, EvaluatedModel
from .retrieve import Prepared


class Generator(Protocol):
    """Completes blanks without and with their context."""

    def made_with(self) -> dict[str, Any]:
        """What decides about its completions; another value makes them anew. Loads nothing."""
        ...

    def facts_of_today(self) -> dict[str, Any]:
        """What the report says about it and may have changed since its completions were made. Loads nothing."""
        ...

    def load(self) -> None:
        """Get ready."""
        ...

    def facts(self) -> dict[str, Any]:
        """What the report says about its completions; asked for after :meth:`load`."""
        ...

    def complete(self, group: Sequence[Prepared], timed: Set[str]) -> list[Prediction]:
        """One prediction for each blank of a group; those in ``timed`` with their seconds."""
        ...


class LocalGenerator:
    """A model that is loaded into this process."""

    def __init__(self, recipe: EvalRecipe, entry: EvaluatedModel, length: Length) -> None:
        self._recipe = recipe
        self._entry = entry
        self._length = length
        self._folder = weights_folder(entry.path, download=recipe.download)
        self._loaded: LoadedModel | None = None
        settings = load_settings(self._folder)
        if settings:
            self._require_decisions(settings)

    @property
    def loaded(self) -> LoadedModel:
        """The model."""
        assert self._loaded is not None, "load() comes first"
        return self._loaded

    def made_with(self) -> dict[str, Any]:
        """Its files, the prompts that its settings ask for, and what decides about the sums of floats."""
        settings = load_settings(self._folder)
        prompts = _prompt_settings(settings) if settings else "detected from the tokenizer"
        device, batch = torch.device(self._recipe.device), self._recipe.batch
        numbers = {"device": device.type, "dtype": str(dtype_on(device)), "batch": batch}
        return {"model": model_hash(self._folder), "prompts": prompts, **numbers}

    def facts_of_today(self) -> dict[str, Any]:
        """Its thresholds may have been chosen anew since."""
        settings = load_settings(self._folder)
        return {"path": self._entry.path, "settings": self._told(settings)} if settings else {}

    def load(self) -> None:
        """Into memory."""
        recipe = self._recipe
        self._loaded = load_model(self._entry.path, device=recipe.device, download=recipe.download)
        self._require_decisions(self._loaded.settings)

    def facts(self) -> dict[str, Any]:
        """Settings, budgets and decoding."""
        builder = self._length.builder(self.loaded.builder())
        return {
            "path": self._entry.path,
            "settings": self._told(self.loaded.settings),
            "budgets": budgets_in_words(builder.budgets),
            "decoding": "greedy",
            "batch": self._recipe.batch,
            "device": self._recipe.device,
        }

    def _require_decisions(self, settings: ModelSettings) -> None:
        """Thresholds of a model that never compares anything with them are a mistake."""
        if self._entry.thresholds and settings.style == "base":
            raise UserError(f"models: {self._entry.name} takes no decisions ({self._folder}); leave its thresholds out")

    def _told(self, settings: ModelSettings) -> dict[str, Any]:
        """The model's settings, with the thresholds that the recipe puts in place of its own."""
        if not self._entry.thresholds:
            return settings.model_dump(mode="json")
        thresholds = settings.thresholds | self._entry.thresholds
        told = settings.model_copy(update={"thresholds": thresholds, "thresholds_from": "the recipe"})
        return told.model_dump(mode="json")

    def complete(self, group: Sequence[Prepared], timed: Set[str]) -> list[Prediction]:
        """In batches; the measured ones also one by one."""
        requests = [_request(one) for one in group]
        arms = complete_arms(
            self.loaded, requests, self._recipe.batch, length=self._length, uncertainty=True, progress=False
        )
        measured = [one for one in group if one.blank.id in timed]
        times = time_arms(self.loaded, [_request(one) for one in measured], length=self._length, progress=False)
        seconds = {one.blank.id: time for one, time in zip(measured, times, strict=True)}
        return [
            _prediction(self.loaded.name, one, both, seconds.get(one.blank.id))
            for one, both in zip(group, arms, strict=True)
        ]


def budgets_in_words(budgets: Any) -> str:
    """Token budgets, which are the same without and with context."""
    return (
        f"left {budgets.left}, right {budgets.right}, context {budgets.cross_file}, "
        f"new {budgets.new_tokens} ({budgets.new_tokens_function} for functions)"
    )


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
        uncertainty_without=arms.uncertainty_without,
        uncertainty_with=arms.uncertainty_with,
    )


def _prompt_settings(settings: ModelSettings) -> dict[str, str]:
    return {"dialect": settings.dialect, "style": settings.style, "preset": settings.preset}
