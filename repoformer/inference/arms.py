"""Both completions of a blank, without and with cross-file context, from one prefill of its in-file part.

What labelling compares (section 4.1) and what evaluation replays every retrieval policy from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tqdm import tqdm

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Blank, Chunk, TokenUncertainty
from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.decision import read_branch, read_decisions
from repoformer.inference.stopping import Stop, TokenText, stop_for
from repoformer.inference.uncertainty import UncertaintyWatch
from repoformer.models.loading import LoadedModel
from repoformer.prompt.builder import PromptBuilder, Style


@dataclass(frozen=True, slots=True)
class ArmRequest:
    """A blank and its cross-file chunks, best first; no chunks means that retrieval found nothing."""

    blank: Blank
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Arms:
    """Both completions, and the decision between them; ``p_retrieve`` and ``greedy`` are None in the base style.

    Without context to give, both arms are the same completion.
    """

    text_without: str
    text_with: str
    p_retrieve: float | None
    greedy: bool | None
    uncertainty_without: TokenUncertainty | None = None
    uncertainty_with: TokenUncertainty | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """How long completions may get where a benchmark says so, and not the model's budgets and the target alone."""

    new_tokens: int | None = None
    """A limit beside that of the model's budgets: the smaller one holds."""
    to_the_limit: bool = False
    """Whether only the end token ends a completion before its limit: for post-processing that may look behind as many
    lines as the target has."""

    def builder(self, builder: PromptBuilder) -> PromptBuilder:
        """The same prompts with this limit."""
        if self.new_tokens is None:
            return builder
        budgets = replace(
            builder.budgets,
            new_tokens=min(builder.budgets.new_tokens, self.new_tokens),
            new_tokens_function=min(builder.budgets.new_tokens_function, self.new_tokens),
        )
        return PromptBuilder(builder.tokenizer, builder.dialect, budgets, builder.style)

    def stop(self, builder: PromptBuilder, text: TokenText, blank: Blank) -> Stop:
        """When a completion of ``blank`` is over."""
        if self.to_the_limit:
            return Stop(text, builder.budgets.generated(blank.kind))
        return stop_for(builder, text, blank)


MODELS_OWN = Length()


@dataclass(frozen=True, slots=True)
class TimedArms:
    """Arms at batch size one, and the seconds they took on a warm model.

    ``decide_seconds`` is the prefill of left and right context with the decision read at its end; each branch counts
    from its first token after the in-file part.
    """

    arms: Arms
    decide_seconds: float
    generate_without_seconds: float
    generate_with_seconds: float


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request as token ids."""

    blank: Blank
    in_file: list[int]
    without: list[int]
    with_context: list[int] | None


def complete_arms(
    loaded: LoadedModel,
    requests: Sequence[ArmRequest],
    batch: int = 16,
    *,
    style: Style | None = None,
    length: Length = MODELS_OWN,
    uncertainty: bool = False,
    progress: bool = True,
) -> list[Arms]:
    """Greedy completions of all requests, ``batch`` blanks at a time, in the order of the requests.

    With ``uncertainty`` the arms hold how sure the model was of each token.
    """
    builder = _builder(loaded, requests, style, length)
    text = TokenText(builder)
    prepared = [_prepare(builder, request) for request in requests]
    arms: dict[int, Arms] = {}
    with tqdm(total=len(requests), desc="complete", unit="blank", disable=not progress) as bar:
        for places in _batches(prepared, batch):
            timed = _complete(loaded, builder, text, [prepared[place] for place in places], length, uncertainty)
            arms.update(zip(places, (one.arms for one in timed), strict=True))
            bar.update(len(places))
    return [arms[place] for place in range(len(requests))]


def time_arms(
    loaded: LoadedModel,
    requests: Sequence[ArmRequest],
    *,
    style: Style | None = None,
    length: Length = MODELS_OWN,
    progress: bool = True,
) -> list[TimedArms]:
    """The same one blank at a time, with the seconds of each part; the first blank also runs once to warm up."""
    builder = _builder(loaded, requests, style, length)
    text = TokenText(builder)
    prepared = [_prepare(builder, request) for request in requests]
    for warm_up in prepared[:1]:
        _complete(loaded, builder, text, [warm_up], length)
    bar = tqdm(prepared, desc="time", unit="blank", disable=not progress)
    return [timed for one in bar for timed in _complete(loaded, builder, text, [one], length)]


def _builder(loaded: LoadedModel, requests: Sequence[ArmRequest], style: Style | None, length: Length) -> PromptBuilder:
    builder = length.builder(loaded.builder(style))
    loaded.check_positions(builder.budgets, {request.blank.kind for request in requests})
    return builder


def _prepare(builder: PromptBuilder, request: ArmRequest) -> _Prepared:
    blank = request.blank
    cross_file = builder.cross_file(request.chunks, LANGUAGES[blank.language].comment)
    return _Prepared(
        blank=blank,
        in_file=builder.in_file_part(builder.in_file(blank.left, blank.right)),
        without=builder.branch(None),
        with_context=builder.branch(cross_file) if cross_file else None,
    )


def _batches(prepared: Sequence[_Prepared], batch: int) -> Iterator[list[int]]:
    """Places of the requests in batches of like ones: long completions together, then long prompts."""

    def cost(place: int) -> tuple[bool, int]:
        return prepared[place].blank.kind == "function", len(prepared[place].in_file)

    order = sorted(range(len(prepared)), key=cost, reverse=True)
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def _complete(
    loaded: LoadedModel,
    builder: PromptBuilder,
    text: TokenText,
    batch: Sequence[_Prepared],
    length: Length,
    uncertainty: bool = False,
) -> list[TimedArms]:
    """One batch: a shared pass over the in-file parts, then the two branches; seconds are those of the whole batch."""
    started = time.perf_counter()
    shared = CachedPass(loaded.model)
    shared.append([one.in_file for one in batch])
    decisions = read_decisions(shared.next_logits, builder)
    decide_seconds = time.perf_counter() - started

    asking = [place for place, one in enumerate(batch) if one.with_context is not None]
    forked = shared.fork(asking)
    watches = (UncertaintyWatch(), UncertaintyWatch()) if uncertainty else (None, None)
    branches = [one.without for one in batch]
    without, without_seconds = _branch(shared, builder, text, batch, branches, length, watches[0])
    asked = [batch[place] for place in asking]
    branches = [one.with_context or [] for one in asked]
    found, with_seconds = _branch(forked, builder, text, asked, branches, length, watches[1])
    with_context = list(without)
    for place, completion in zip(asking, found, strict=True):
        with_context[place] = completion
    return [
        TimedArms(
            Arms(
                without[place].text,
                with_context[place].text,
                decision.p_retrieve if decision else None,
                decision.greedy if decision else None,
                without[place].uncertainty,
                with_context[place].uncertainty,
            ),
            decide_seconds,
            without_seconds,
            with_seconds if place in asking else without_seconds,
        )
        for place, decision in enumerate(decisions)
    ]


@dataclass(frozen=True, slots=True)
class _Completed:
    text: str
    uncertainty: TokenUncertainty | None


def _branch(
    read: CachedPass,
    builder: PromptBuilder,
    text: TokenText,
    batch: Sequence[_Prepared],
    branches: list[list[int]],
    length: Length,
    watch: UncertaintyWatch | None,
) -> tuple[list[_Completed], float]:
    """The completions that follow ``branches`` [rows of token ids], and the seconds of reading and decoding them."""
    if not branches:
        return [], 0.0
    started = time.perf_counter()
    read_branch(read, builder, branches)
    stops = [length.stop(builder, text, one.blank) for one in batch]
    read.decode(stops, watch)
    completed = [
        _Completed(stop.text, watch.of(row, len(stop.tokens)) if watch else None) for row, stop in enumerate(stops)
    ]
    return completed, time.perf_counter() - started
