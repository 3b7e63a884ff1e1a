"""Who completes the blanks that are labelled: a model in this process, or one behind an endpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from repoformer.errors import UserError
from repoformer.prompt.budgets import COMPLETION

from .label_log import Completed
from .recipe import DataRecipe, Label
from .retrieve import BlankInContext

if TYPE_CHECKING:
    from repoformer.code.records import Blank
    from repoformer.inference.arms import ArmRequest
    from repoformer.inference.endpoint import NoCompletion, Request
    from repoformer.models.loading import LoadedModel
    from repoformer.prompt.builder import PromptBuilder


class Generator(Protocol):
    """Completes blanks both ways."""

    def prompt_tokens(self, blank: Blank) -> int:
        """About how long the prompt is: blanks of like length share a batch."""

    def complete(self, batch: Sequence[BlankInContext]) -> list[Completed]:
        """Both completions of each blank, greedily, in order."""


def generator(recipe: DataRecipe) -> Generator:
    """The generator that a recipe names."""
    label = recipe.label
    if label.endpoint is not None:
        return EndpointGenerator(recipe)
    loaded = _loaded(label.model, label.device, label.download, model_revision(label))
    settings = loaded.settings.model_copy(update={"preset": recipe.preset})
    return LocalGenerator(dataclasses.replace(loaded, settings=settings), label)


def refuse_unusable(recipe: DataRecipe) -> None:
    """A model that is not there, or an endpoint without its key, is told before any work; no weights are read."""
    from repoformer.models.loading import usable_device, weights_folder

    label = recipe.label
    if label.endpoint is not None:
        EndpointGenerator(recipe)
        return
    weights_folder(label.model, download=label.download)
    usable_device(label.device)
    prompt_builder(recipe)


class LocalGenerator:
    """A model in this process; both arms share the prefill of left and right context."""

    def __init__(self, loaded: LoadedModel, label: Label) -> None:
        self._loaded, self._label = loaded, label
        self._builder = loaded.builder("base")

    def prompt_tokens(self, blank: Blank) -> int:
        in_file = self._builder.in_file(blank.left, blank.right)
        return len(in_file.left) + len(in_file.right)

    def complete(self, batch: Sequence[BlankInContext]) -> list[Completed]:
        from repoformer.inference.arms import complete_arms

        requests = [_request(one) for one in batch]
        arms = complete_arms(self._loaded, requests, len(requests), style="base", progress=False)
        return [
            Completed(one.blank.id, both.text_without, both.text_with, *likelihoods)
            for one, both, likelihoods in zip(batch, arms, self._likelihoods(requests), strict=True)
        ]

    def _likelihoods(self, requests: Sequence[ArmRequest]) -> list[tuple[float, float] | tuple[None, None]]:
        from repoformer.inference.likelihood import target_likelihoods

        if not self._label.likelihood:
            return [(None, None)] * len(requests)
        found = target_likelihoods(self._loaded, requests, style="base")
        return [(one.without, one.with_context) for one in found]


class EndpointGenerator:
    """A served model. A blank whose prompt cannot be sent, or is not answered, is refused with the reason."""

    def __init__(self, recipe: DataRecipe) -> None:
        from repoformer.inference.endpoint import CompletionsEndpoint
        from repoformer.prompt.dialects import dialect_named
        from repoformer.prompt.text_prompt import TextPrompts

        settings = recipe.label.endpoint
        assert settings is not None
        self._measure = prompt_builder(recipe)
        self._prompts = TextPrompts(dialect_named(settings.dialect), self._measure)
        self._endpoint = CompletionsEndpoint(settings)

    def prompt_tokens(self, blank: Blank) -> int:
        return len(blank.left) + len(blank.right)  # answers are not padded to each other: any measure will do

    def complete(self, batch: Sequence[BlankInContext]) -> list[Completed]:
        asked = [self._requests(one) for one in batch]
        answers = iter(self._answers([request for each in asked for request in each.requests]))
        return [
            self._completed(one.blank.id, each.refused, [next(answers) for _ in each.requests])
            for one, each in zip(batch, asked, strict=True)
        ]

    def _requests(self, one: BlankInContext) -> _Asked:
        """One request for each arm; one for both where there is no context to give."""
        from repoformer.inference.endpoint import Request
        from repoformer.prompt.text_prompt import ControlText

        blank, chunks = one.blank, _request(one).chunks
        limit = self._measure.budgets.generated(blank.kind)
        is_line = blank.kind != "function" and "\n" not in blank.target
        stop = (self._prompts.dialect.end, "\n") if is_line else (self._prompts.dialect.end,)
        try:
            prompts = [self._prompts.prompt(blank, arm) for arm in ([(), chunks] if chunks else [()])]
        except ControlText as error:
            return _Asked([], str(error))
        return _Asked([Request(prompt, limit, stop) for prompt in prompts])

    def _answers(self, requests: Sequence[Request]) -> list[str | NoCompletion]:
        from repoformer.inference.endpoint import NoCompletion

        answers = self._endpoint.complete_all(requests)
        if answers and all(isinstance(answer, NoCompletion) for answer in answers):
            raise UserError(
                f"endpoint {self._endpoint.settings.url}: none of {len(answers)} requests was answered, the first: "
                f"{answers[0]}; what is labelled already is kept, run again when it answers"
            )
        return answers

    def _completed(self, id: str, refused: str, answers: Sequence[str | NoCompletion]) -> Completed:
        texts = [self._prompts.completion(answer) for answer in answers if isinstance(answer, str)]
        if refused or len(texts) < len(answers):
            failures = [f"endpoint: {answer}" for answer in answers if not isinstance(answer, str)]
            return Completed(id, refused=refused or failures[0])
        return Completed(id, texts[0], texts[-1])


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is sent for one blank, or why nothing is."""

    requests: list[Request]
    refused: str = ""


def prompt_builder(recipe: DataRecipe) -> PromptBuilder:
    """Prompts in the base style with the recipe's budgets and the tokenizer of ``label.model``, without its weights."""
    from repoformer.models.loading import load_tokenizer
    from repoformer.prompt.builder import PromptBuilder

    tokenizer, dialect = load_tokenizer(recipe.label.model, download=recipe.label.download)
    return PromptBuilder(tokenizer, dialect, COMPLETION[recipe.preset], "base")


def tokenizer_revision(recipe: DataRecipe) -> str:
    """A hash of how the tokenizer of ``label.model`` encodes text."""
    from repoformer.models.fingerprint import tokenizer_hash
    from repoformer.models.loading import load_tokenizer

    tokenizer, _ = load_tokenizer(recipe.label.model, download=recipe.label.download)
    return tokenizer_hash(tokenizer)


def _request(one: BlankInContext) -> ArmRequest:
    from repoformer.inference.arms import ArmRequest

    return ArmRequest(one.blank, tuple(ranked.chunk for ranked in one.context.chunks))


def model_revision(label: Label) -> str:
    """A hash of the files of ``label.model``, which are read once by a process."""
    from repoformer.models.loading import model_folder

    folder = model_folder(label.model, download=label.download)
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())]
    return _hash_of(folder, tuple(files))


@lru_cache(maxsize=4)
def _hash_of(folder: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    """The hash of a model's folder as it is in this ``state``."""
    from repoformer.models.fingerprint import model_hash

    return model_hash(folder)


@lru_cache(maxsize=1)
def _loaded(model: str, device: str, download: bool, revision: str) -> LoadedModel:
    """Loaded once by a process, however many shards it labels, but again where its files have changed."""
    from repoformer.models.loading import load_model

    return load_model(model, device=device, download=download)
