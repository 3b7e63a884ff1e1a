"""A model behind an OpenAI-compatible completions endpoint, in place of one in this process.

The prompt is the text of the very token ids that the builder makes, control tokens of the model's dialect included, so
both arms have the same budgets here too. A server reads such text as control tokens wherever it stands: code that spells
them out is not told apart from the prompt's own, as it is in this process. Servers do not tell probabilities in a common
way, so policies that look at them have no row.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Prediction
from repoformer.errors import UserError
from repoformer.inference.arms import Length
from repoformer.models.loading import load_tokenizer
from repoformer.models.settings import ModelSettings
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder

from .generators import budgets_in_words
from .recipe import Endpoint, EvalRecipe, EvaluatedModel
from .retrieve import Prepared

_WORTH_ANOTHER_TRY = (408, 429, 500, 502, 503, 504)
_FIRST_PAUSE = 0.5
"""Seconds before the second attempt; doubled before every further one."""


class CompletionsClient:
    """Greedy completions of one model, with time-outs and retries."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.url.rstrip('/')}/completions"

    def complete(self, prompt: str, new_tokens: int, stop: Sequence[str]) -> str:
        """The text that follows ``prompt``, up to ``new_tokens`` tokens or the first of ``stop``."""
        asked = {
            "model": self._endpoint.model,
            "prompt": prompt,
            "max_tokens": new_tokens,
            "temperature": 0,
            "stop": list(stop),
        }
        answer = self._post(json.dumps(asked).encode())
        try:
            text = str(answer["choices"][0]["text"])
        except (KeyError, IndexError, TypeError):
            raise UserError(f"{self._url}: answered without a completion ({str(answer)[:200]})") from None
        ends = [place for one in stop if (place := text.find(one)) != -1]  # some servers ignore `stop`
        return text[: min(ends, default=len(text))]

    def _post(self, body: bytes) -> Any:
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        problem = ""
        for attempt in range(self._endpoint.retries + 1):
            if attempt:
                time.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                with urllib.request.urlopen(request, timeout=self._endpoint.timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                problem = f"status {error.code}: {error.read(200).decode('utf-8', 'replace')}"
                if error.code not in _WORTH_ANOTHER_TRY:
                    break
            except (OSError, ValueError) as error:  # refused, reset, timed out, not JSON
                problem = str(error)
        raise UserError(f"{self._url}: no answer after {attempt + 1} attempts ({problem}); is the server up?")


@dataclass(frozen=True, slots=True)
class _Ready:
    client: CompletionsClient
    builder: PromptBuilder
    stop: tuple[str, ...]


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
        return {"model": f"{endpoint.model} at {endpoint.url}", "prompts": [endpoint.tokenizer, endpoint.preset]}

    def facts_of_today(self) -> dict[str, Any]:
        """Nothing changes but with the completions."""
        return {}

    def load(self) -> None:
        """The tokenizer."""
        tokenizer, dialect = load_tokenizer(self._endpoint.tokenizer, download=self._download)
        builder = PromptBuilder(tokenizer, dialect, COMPLETION[self._endpoint.preset], "base")
        controls = (dialect.end, dialect.prefix, dialect.suffix, dialect.middle, dialect.file_separator)
        stop = tuple(token for token in controls if token)
        self._held = _Ready(CompletionsClient(self._endpoint), self._length.builder(builder), stop)

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
        blank, builder = one.blank, self._ready.builder
        in_file = builder.in_file(blank.left, blank.right)
        chunks = (ranked.chunk for ranked in one.context.chunks)
        cross_file = builder.cross_file(chunks, LANGUAGES[blank.language].comment)
        started = time.perf_counter()
        without = self._text(builder.prompt(in_file, None), blank.kind)
        between = time.perf_counter()
        with_context = self._text(builder.prompt(in_file, cross_file), blank.kind) if cross_file else without
        ended = time.perf_counter()
        with_seconds = ended - between if cross_file else between - started
        return Prediction(
            blank=blank,
            model=self._name,
            p_retrieve=None,
            greedy=None,
            context=one.context,
            text_without=without,
            text_with=with_context,
            decide_seconds=0.0 if timed else None,  # the server's prefill is part of its answer
            retrieve_seconds=one.context.seconds if timed else None,
            generate_without_seconds=between - started if timed else None,
            generate_with_seconds=with_seconds if timed else None,
        )

    def _text(self, prompt: list[int], kind: str) -> str:
        ready = self._ready
        text = str(ready.builder.tokenizer.decode(prompt, clean_up_tokenization_spaces=False))
        return ready.client.complete(text, ready.builder.budgets.generated(kind), ready.stop)
