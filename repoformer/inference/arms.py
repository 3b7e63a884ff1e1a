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
from repoformer.inference.decision import Decision, read_branch, read_decisions
from repoformer.inference.guessing import decode_guessing
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
            found = _complete(loaded, builder, text, [prepared[place] for place in places], length, uncertainty)
            arms.update(zip(places, found, strict=True))
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
        _time(loaded, builder, text, warm_up, length)
    bar = tqdm(prepared, desc="time", unit="blank", disable=not progress)
    return [_time(loaded, builder, text, one, length) for one in bar]


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
    uncertainty: bool,
) -> list[Arms]:
    """One batch: a shared pass over the in-file parts, then both branches, decoded together."""
    shared = CachedPass(loaded.model)
    shared.append([one.in_file for one in batch], keep=int(builder.style != "base"))
    decisions = read_decisions(shared.next_logits, builder)

    asking = [place for place, one in enumerate(batch) if one.with_context is not None]
    forked = shared.fork(asking)
    read_branch(shared, builder, [one.without for one in batch])
    rows = [_Row(one, one.without) for one in batch]
    parts = [(shared, rows)]
    if asking:
        more = [_Row(batch[place], batch[place].with_context or []) for place in asking]
        forked.append([row.branch[:-1] for row in more], keep=0)
        forked.append([row.branch[-1:] for row in more])
        if shared.can_join():
            shared.join(forked)
            parts = [(shared, rows + more)]
        else:
            parts.append((forked, more))
    completed = [
        one
        for read, some in parts
        for one in _decode(read, [length.stop(builder, text, row.of.blank) for row in some], uncertainty, some)
    ]
    without = completed[: len(batch)]
    found = dict(zip(asking, completed[len(batch) :], strict=True))
    return [
        _arms(decision, without[place], found.get(place, without[place])) for place, decision in enumerate(decisions)
    ]


def _time(loaded: LoadedModel, builder: PromptBuilder, text: TokenText, one: _Prepared, length: Length) -> TimedArms:
    """One blank: each branch is decoded by itself."""
    started = time.perf_counter()
    shared = CachedPass(loaded.model)
    shared.append([one.in_file])
    (decision,) = read_decisions(shared.next_logits, builder)
    decide_seconds = time.perf_counter() - started

    def branch(read: CachedPass, tokens: list[int]) -> tuple[_Completed, float]:
        started = time.perf_counter()
        read_branch(read, builder, [tokens])
        (completed,) = _decode(read, [length.stop(builder, text, one.blank)])
        return completed, time.perf_counter() - started

    forked = shared.fork()
    without, without_seconds = branch(shared, one.without)
    found, with_seconds = without, without_seconds
    if one.with_context is not None:
        found, with_seconds = branch(forked, one.with_context)
    return TimedArms(_arms(decision, without, found), decide_seconds, without_seconds, with_seconds)


@dataclass(frozen=True, slots=True)
class _Completed:
    text: str
    uncertainty: TokenUncertainty | None


@dataclass(frozen=True, slots=True)
class _Row:
    """One arm of a request in a batch."""

    of: _Prepared
    branch: list[int]


def _decode(
    read: CachedPass, stops: list[Stop], uncertainty: bool = False, rows: Sequence[_Row] = ()
) -> list[_Completed]:
    watch = UncertaintyWatch() if uncertainty else None
    if rows:
        decode_guessing(read, stops, [row.of.in_file + row.branch for row in rows], watch)
    else:
        read.decode(stops, watch)
    return [_Completed(stop.text, watch.of(row, len(stop.tokens)) if watch else None) for row, stop in enumerate(stops)]


def _arms(decision: Decision | None, without: _Completed, found: _Completed) -> Arms:
    return Arms(
        without.text,
        found.text,
        decision.p_retrieve if decision else None,
        decision.greedy if decision else None,
        without.uncertainty,
        found.uncertainty,
    )
