"""A model behind an OpenAI-compatible completions endpoint, in place of one in this process.

Both arms have the same budgets here too, measured with the tokenizer that the recipe names. Servers do not tell
probabilities in a common way, so policies that look at them have no row. A blank whose code spells control tokens
cannot be asked (see ``prompt/text_prompt.py``); it is set aside for every model of the table.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from repoformer.code.records import Blank, Chunk, Prediction
from repoformer.errors import UserError
from repoformer.inference.arms import Length
from repoformer.inference.endpoint import CompletionsEndpoint, NoCompletion, Request
from repoformer.models.loading import load_tokenizer
from repoformer.models.settings import ModelSettings
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import dialect_named
from repoformer.prompt.text_prompt import ControlText, TextPrompts

from .generators import budgets_in_words
from .recipe import EvalRecipe, EvaluatedModel
from .retrieve import Prepared


@dataclass(frozen=True, slots=True)
class _Ready:
    endpoint: CompletionsEndpoint
    builder: PromptBuilder
    prompts: TextPrompts


class EndpointGenerator:
    """Completes blanks through a server; keeps the protocol of ``generators.Generator``."""

    def __init__(self, recipe: EvalRecipe, entry: EvaluatedModel, length: Length) -> None:
        assert entry.endpoint is not None
        self._name, self._endpoint, self._download = entry.name, entry.endpoint, recipe.download
        self._length = length
        self._held: _Ready | None = None

    @property
    def _ready(self) -> _Ready:
        assert self._held is not None, "load() comes first"
        return self._held

    def made_with(self) -> dict[str, Any]:
        """Which model the server is asked for, and what makes the prompts."""
        endpoint = self._endpoint
        prompts = [endpoint.tokenizer, endpoint.dialect, endpoint.preset]
        return {"model": f"{endpoint.model} at {endpoint.url}", "prompts": prompts}

    def facts_of_today(self) -> dict[str, Any]:
        """Nothing changes but with the completions."""
        return {}

    def load(self) -> None:
        """The tokenizer."""
        endpoint, dialect = self._endpoint, dialect_named(self._endpoint.dialect)
        tokenizer, _ = load_tokenizer(endpoint.tokenizer, download=self._download)
        measure = self._length.builder(PromptBuilder(tokenizer, dialect, COMPLETION[endpoint.preset], "base"))
        self._held = _Ready(CompletionsEndpoint(endpoint), measure, TextPrompts(dialect, measure))

    def facts(self) -> dict[str, Any]:
        """Dialect, budgets and decoding."""
        builder = self._ready.builder
        settings = ModelSettings(dialect=builder.dialect.name, preset=self._endpoint.preset)
        return {
            "path": f"{self._endpoint.model} at {self._endpoint.url}",
            "settings": settings.model_dump(mode="json"),
            "budgets": budgets_in_words(builder.budgets),
            "decoding": "greedy (temperature 0)",
            "batch": self._endpoint.parallel,
            "device": "server",
        }

    def complete(self, group: Sequence[Prepared], timed: Set[str]) -> list[Prediction]:
        """Several requests at a time; the measured ones one after the other before them, after one to warm up."""
        measured = [one for one in group if one.blank.id in timed]
        for one in measured[:1]:
            self._arms(one)
        done = {one.blank.id: self._arms(one, timed=True) for one in measured}
        others = [one for one in group if one.blank.id not in timed]
        with ThreadPoolExecutor(self._endpoint.parallel) as pool:
            done |= {
                one.blank.id: prediction for one, prediction in zip(others, pool.map(self._arms, others), strict=True)
            }
        return [done[one.blank.id] for one in group]

    def _arms(self, one: Prepared, timed: bool = False) -> Prediction:
        chunks = [ranked.chunk for ranked in one.context.chunks]
        try:
            started = time.perf_counter()
            without = self._text(one.blank, [])
            between = time.perf_counter()
            with_context = self._text(one.blank, chunks) if chunks else without
            ended = time.perf_counter()
        except ControlText as error:
            return self._prediction(one, refused=f"{self._name}: {error}")
        seconds = (between - started, (ended - between) if chunks else (between - started))
        return self._prediction(one, without, with_context, seconds if timed else None)

    def _text(self, blank: Blank, chunks: Sequence[Chunk]) -> str:
        ready = self._ready
        prompt = ready.prompts.prompt(blank, chunks)
        request = Request(prompt, ready.builder.budgets.generated(blank.kind), self._stop(blank))
        try:
            return ready.prompts.completion(ready.endpoint.complete(request))
        except NoCompletion as error:
            raise UserError(f"blank {blank.id}: {self._endpoint.url} did not complete it: {error}; run again") from None

    def _stop(self, blank: Blank) -> tuple[str, ...]:
        """The end token and, for one whole line, the newline; other lengths cannot be told to a server."""
        end = self._ready.prompts.dialect.end
        one_line = blank.kind != "function" and "\n" not in blank.target and not self._length.to_the_limit
        return (end, "\n") if one_line else (end,)

    def _prediction(
        self,
        one: Prepared,
        without: str = "",
        with_context: str = "",
        seconds: tuple[float, float] | None = None,
        refused: str = "",
    ) -> Prediction:
        """``seconds`` of both answers, in which the server's prefill is contained."""
        return Prediction(
            blank=one.blank,
            model=self._name,
            p_retrieve=None,
            greedy=None,
            context=one.context,
            text_without=without,
            text_with=with_context,
            decide_seconds=0.0 if seconds else None,
            retrieve_seconds=one.context.seconds if seconds else None,
            generate_without_seconds=seconds[0] if seconds else None,
            generate_with_seconds=seconds[1] if seconds else None,
            refused=refused,
        )
