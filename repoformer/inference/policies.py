"""When to retrieve: never, always, when ``<cc>`` is the most likely token, or when it is likely enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, get_args

from repoformer.code.records import Kind
from repoformer.errors import UserError
from repoformer.models.settings import ModelSettings

POLICIES = ("threshold", "greedy", "never", "always")


class Policy(Protocol):
    """Says for one blank whether cross-file context is retrieved."""

    name: ClassVar[str]
    needs_decision: ClassVar[bool]
    """Whether it reads the model's self-assessment, which only a model of the selective style has."""

    def retrieve(self, p_retrieve: float | None, greedy: bool | None, kind: Kind) -> bool:
        """The decision from P(``<cc>``) and whether ``<cc>`` is the arg-max; both None without a self-assessment."""
        ...


@dataclass(frozen=True, slots=True)
class Never:
    """In-file context only."""

    name: ClassVar[str] = "never"
    needs_decision: ClassVar[bool] = False

    def retrieve(self, p_retrieve: float | None, greedy: bool | None, kind: Kind) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Always:
    """What retrieval-augmented completion does without self-assessment."""

    name: ClassVar[str] = "always"
    needs_decision: ClassVar[bool] = False

    def retrieve(self, p_retrieve: float | None, greedy: bool | None, kind: Kind) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Greedy:
    """Retrieve where ``<cc>`` is the most likely token after ``<eof>``."""

    name: ClassVar[str] = "greedy"
    needs_decision: ClassVar[bool] = True

    def retrieve(self, p_retrieve: float | None, greedy: bool | None, kind: Kind) -> bool:
        assert greedy is not None, "a model without self-assessment is refused before it is asked"
        return greedy


@dataclass(frozen=True, slots=True)
class Threshold:
    """Retrieve where P(``<cc>``) is strictly above a threshold: one for all, or one for each kind of blank."""

    value: float | Mapping[Kind, float]

    name: ClassVar[str] = "threshold"
    needs_decision: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for value in self.value.values() if isinstance(self.value, Mapping) else [self.value]:
            if not 0.0 <= value <= 1.0:
                raise UserError(f"threshold {value}: a probability lies between 0 and 1")

    @classmethod
    def of(cls, settings: ModelSettings) -> Threshold:
        """The model's own thresholds, the paper's where it has none."""
        return cls({kind: settings.threshold(kind) for kind in get_args(Kind)})

    def above(self, kind: Kind) -> float:
        """The threshold for this kind of blank."""
        return self.value[kind] if isinstance(self.value, Mapping) else self.value

    def retrieve(self, p_retrieve: float | None, greedy: bool | None, kind: Kind) -> bool:
        assert p_retrieve is not None, "a model without self-assessment is refused before it is asked"
        return p_retrieve > self.above(kind)


def default_policy(settings: ModelSettings) -> Policy:
    """The model's own thresholds; for one that takes no decisions, what there was before selection: always."""
    return Threshold.of(settings) if settings.style == "selective" else Always()


def policy_named(name: str, settings: ModelSettings, threshold: float | None = None) -> Policy:
    """The policy called ``name``; ``threshold`` replaces the model's own thresholds."""
    if threshold is not None and name != "threshold":
        raise UserError(f"a threshold says nothing to the policy {name!r}; leave it out or use the policy 'threshold'")
    if name == "threshold":
        return Threshold.of(settings) if threshold is None else Threshold(threshold)
    for policy in (Never(), Always(), Greedy()):
        if policy.name == name:
            return policy
    raise UserError(f"policy {name!r} is unknown; choose one of {', '.join(POLICIES)}")
