"""The records that flow from repositories to scores, each defined once.

    repositories -> blanks -> cross-file context -> labelled blanks -> examples -> model -> predictions -> scores

Lines are 0-based and half-open in records, 1-based in everything that is shown to people. A blank is whole lines: its
left context ends in a newline (or is empty), its target has no newline at its end, its right context starts with one
(or is empty), so ``left + target + right`` is the file.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from repoformer.errors import UserError

Kind = Literal["line", "api", "chunk", "function"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One text file of a repository. ``path`` is relative to the repository, with forward slashes."""

    schema: ClassVar[int] = 1
    path: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Repository:
    """Files that belong together: the universe that cross-file context is retrieved from.

    ``licence`` is an SPDX expression. ``revision`` is a commit, a version, or empty where the source has none.
    """

    schema: ClassVar[int] = 1
    id: str
    revision: str
    licence: str
    files: tuple[SourceFile, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines ``[start, end)`` of a file; ``text`` keeps blank lines and indentation and has no newline at its end."""

    schema: ClassVar[int] = 1
    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Blank:
    """A hole in a file: whole lines ``[start, end)`` that a model shall write."""

    schema: ClassVar[int] = 1
    id: str
    repository: str
    revision: str
    licence: str
    path: str
    language: str
    kind: Kind
    start: int
    end: int
    left: str
    right: str
    target: str


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk that goes into the context, and the similarity of the *hit* that led to it."""

    schema: ClassVar[int] = 1
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """Cross-file context of one blank, best chunk first."""

    schema: ClassVar[int] = 1
    chunks: tuple[RankedChunk, ...]
    query: str
    query_holds_target: bool
    strategy: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LabeledBlank:
    """A blank, what retrieval found, and what one generator made of it without and with that context.

    The label itself is not stored: it is ``gain > T``, so T can change without generating again (section 4.1).
    """

    schema: ClassVar[int] = 2
    blank: Blank
    context: RetrievedContext
    completion_without: str
    completion_with: str
    es_without: float
    es_with: float
    generator: str
    decoding: str
    revision: str = ""
    """Which weights the generator had: a hash of its files; empty where an endpoint does not tell."""
    log_likelihood_without: float | None = None
    """Mean natural logarithm of the probability of the target's tokens; None where it was not asked for."""
    log_likelihood_with: float | None = None

    @property
    def gain(self) -> float:
        """ES(with context) - ES(without), in [-1, 1]."""
        return self.es_with - self.es_without

    @property
    def likelihood_gain(self) -> float | None:
        """The same in mean log likelihood per token of the target."""
        if self.log_likelihood_with is None or self.log_likelihood_without is None:
            return None
        return self.log_likelihood_with - self.log_likelihood_without

    def wants_context(self, threshold: float = 0.0) -> bool:
        """The label: retrieval helps when it raises edit similarity by more than ``threshold``."""
        return self.gain > threshold


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled blank as token ids, segment by segment, each already within the training budgets.

    It holds user text only: the trainer puts the segments and control tokens together as its objective says, so every
    ablation trains on the same file. Left and right context have the same budget whatever the label.
    """

    schema: ClassVar[int] = 1
    id: str
    repository: str
    kind: Kind
    gain: float
    """In edit similarity, or in mean log likelihood per token where the data recipe's ``label.by`` says so."""
    left: tuple[int, ...]
    right: tuple[int, ...]
    cross_file: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenUncertainty:
    """How sure a model was of a completion, one number per generated token: what trial generation decides by."""

    schema: ClassVar[int] = 1
    log_probabilities: tuple[float, ...]
    """Of the token that was taken, natural logarithm."""
    entropies: tuple[float, ...]
    """Of the distribution that it was taken from, in nats."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model did with one blank: both completions and the decision's probability, so any policy can be replayed.

    ``p_retrieve`` is P(``<cc>``) after ``<eof>`` and ``greedy`` whether ``<cc>`` was the arg-max token there; both None
    for a model that takes no decision. Seconds, at batch size one on a warm model: the decision's forward pass (prefill
    of left and right context included), retrieval, and each branch from its first token after the in-file part on;
    None where they were not measured.
    """

    schema: ClassVar[int] = 2
    blank: Blank
    model: str
    p_retrieve: float | None
    greedy: bool | None
    context: RetrievedContext
    text_without: str
    text_with: str
    decide_seconds: float | None
    retrieve_seconds: float | None
    generate_without_seconds: float | None
    generate_with_seconds: float | None
    uncertainty_without: TokenUncertainty | None = None
    uncertainty_with: TokenUncertainty | None = None
    """None where the model does not tell its probabilities."""
    refused: str = ""
    """Why the model could not be asked at all; both texts are empty then, and no model is scored on this blank."""


@dataclass(frozen=True, slots=True)
class NamedMetric:
    """A published metric of both completions, in [0, 1], under its name in ``metrics/catalogue.py``."""

    schema: ClassVar[int] = 1
    name: str
    without: float
    with_context: float


@dataclass(frozen=True, slots=True)
class Score:
    """Metrics of one prediction's two completions. ``em``: exact match; ``es``: edit similarity, both in [0, 1].

    ``named`` are the benchmark's own metrics, which decisions and intervals do not look at.
    """

    schema: ClassVar[int] = 2
    id: str
    repository: str
    kind: Kind
    em_without: float
    em_with: float
    es_without: float
    es_with: float
    named: tuple[NamedMetric, ...] = ()


T = TypeVar("T")


def to_row(record: Any) -> dict[str, Any]:
    """The record as plain values for Parquet or JSON, with its schema version under ``schema``."""
    return {"schema": record.schema, **_plain(record)}


def from_row(cls: type[T], row: Mapping[str, Any], where: str = "record") -> T:
    """The inverse of :func:`to_row`; ``where`` names the file and line or row in the error."""
    schema = cls.schema  # type: ignore[attr-defined]
    if row.get("schema") != schema:
        raise UserError(
            f"{where}: {cls.__name__} of schema {row.get('schema')!r}, this version reads {schema}; "
            "make the file again with the stage that wrote it"
        )
    try:
        return typing.cast(T, _build(cls, row))
    except (KeyError, TypeError) as error:
        raise UserError(f"{where}: not a {cls.__name__} ({error}); make the file again") from error


_hints = functools.cache(typing.get_type_hints)
"""Of a record type, by field."""


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _build(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        return hint(**{field.name: _build(hints[field.name], value[field.name]) for field in dataclasses.fields(hint)})
    origin = get_origin(hint)
    if origin is tuple:
        (item, *_) = get_args(hint)
        return tuple(_build(item, element) for element in value)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (inner,) = [argument for argument in get_args(hint) if argument is not type(None)]
        return _build(inner, value)
    if origin is Literal:
        if value not in get_args(hint):
            raise TypeError(f"{value!r} is none of {', '.join(map(repr, get_args(hint)))}")
        return value
    if not isinstance(value, hint) and not (hint is float and isinstance(value, int)):
        raise TypeError(f"{value!r} is not of type {hint.__name__}")
    return value
