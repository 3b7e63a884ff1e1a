"""Selective completion in one left-to-right pass: read the file, decide, retrieve only if asked, complete."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from repoformer.code.languages import LANGUAGES
from repoformer.code.records import Blank, Kind, RankedChunk, RetrievedContext
from repoformer.errors import UserError
from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.decision import read_branch, read_decisions
from repoformer.inference.insertion_point import InsertionPoint
from repoformer.inference.policies import Policy, Threshold, default_policy
from repoformer.inference.stopping import Reason, TokenText, stop_for
from repoformer.inference.working_tree import WorkingTree
from repoformer.models.loading import LoadedModel, load_model

NOTHING_TO_SHOW = "context was asked for, but the repository holds nothing else to show: completed without"
WROTE_NOTHING = "the model wrote nothing"
NO_DECISIONS = (
    "this model was not trained to decide, so context is always retrieved; choose a policy (never, always), or a model "
    "that decides: `repoformer quickstart` makes one"
)


class ContextSource(Protocol):
    """Where cross-file context comes from; asked only when the policy wants context."""

    def retrieve(self, blank: Blank) -> RetrievedContext:
        """The chunks for a blank, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of each part of one completion."""

    decide: float
    """Prefill of left and right context, with the decision read at its end."""
    retrieve: float | None
    """None where nothing was retrieved; the first retrieval in a repository also reads and indexes it."""
    generate: float


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model wrote into a blank, and how it came to it."""

    text: str
    decision: bool
    """Whether the policy asked for cross-file context."""
    p_retrieve: float | None
    """P(``<cc>``) after ``<eof>``; None for a model that takes no decision."""
    chunks: tuple[RankedChunk, ...]
    """What was retrieved, best first; the prompt holds as much of it as its budget allows."""
    timings: Timings
    stopped_by: Reason | None
    policy: str
    """Whose decision it was."""
    kind: Kind
    """Of the blank: a model has a threshold for each."""
    threshold: float | None
    """What P(``<cc>``) had to exceed; None for a policy without one."""
    note: str = ""
    """What one would not expect of it."""


def blank_at(repository: str | Path, place: str, *, replace: int = 0, lines: int = 1) -> Blank:
    """The blank that ``PATH:LINE[:COL]`` means, see :class:`InsertionPoint`; needs no model."""
    if lines < 1:
        raise UserError(f"cannot write {lines} lines; choose 1 or more")
    return InsertionPoint.parse(place).blank(Path(repository).expanduser(), replace=replace, lines=lines)


class SelectiveCompleter:
    """Completes code with a model that decides for itself when to look around the repository.

    >>> completer = SelectiveCompleter.load("runs/quickstart/repoformer")
    >>> completion = completer.complete_at("path/to/repository", "package/module.py:120")
    >>> print(completion.text, completion.decision, completion.p_retrieve)
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded
        self._builder = loaded.builder()
        self._text = TokenText(self._builder)
        self._working_trees: dict[Path, WorkingTree] = {}
        loaded.check_positions(self._builder.budgets, {"line", "function"})

    @classmethod
    def load(cls, model: str | Path = "pocket", *, device: str = "cpu", download: bool = False) -> SelectiveCompleter:
        """A completer for a local model folder, or a hub name where ``download`` allows fetching it."""
        return cls(load_model(model, device=device, download=download))

    def complete_at(
        self,
        repository: str | Path,
        place: str,
        *,
        replace: int = 0,
        lines: int = 1,
        policy: Policy | None = None,
    ) -> Completion:
        """Complete at ``PATH:LINE[:COL]`` of a working tree, see :class:`InsertionPoint`.

        Writes ``replace`` lines in place of as many that are held out, else up to ``lines`` new ones. The repository is
        read when context is first asked for, and then kept; the file that is completed is read every time.
        """
        root = Path(repository).expanduser()
        blank = blank_at(root, place, replace=replace, lines=lines)
        tree = self._working_trees.setdefault(root.resolve(), WorkingTree(root, self.loaded.settings.retrieval))
        return self.complete(blank, tree, policy, lines=replace or lines)

    def complete(
        self, blank: Blank, source: ContextSource, policy: Policy | None = None, *, lines: int | None = None
    ) -> Completion:
        """Complete a blank; the default policy is the model's own thresholds, the default length that of the target.

        A model that was not trained to decide retrieves always by default, and the completion's note says so.
        One pass: what is read for the decision is not read again, whichever way it falls.
        """
        notes = [NO_DECISIONS] if policy is None and self._builder.style == "base" else []
        policy = default_policy(self.loaded.settings) if policy is None else policy
        self._check_policy(policy)
        builder = self._builder

        started = time.perf_counter()
        read = CachedPass(self.loaded.model)
        read.append([builder.in_file_part(builder.in_file(blank.left, blank.right))])
        (assessed,) = read_decisions(read.next_logits, builder)
        p_retrieve, greedy = (assessed.p_retrieve, assessed.greedy) if assessed else (None, None)
        decision = policy.retrieve(p_retrieve, greedy, blank.kind)
        decided = time.perf_counter()

        context = source.retrieve(blank) if decision else None
        retrieved = time.perf_counter()

        chunks = context.chunks if context else ()
        notes += [NOTHING_TO_SHOW] if decision and not chunks else []
        cross_file = builder.cross_file((ranked.chunk for ranked in chunks), LANGUAGES[blank.language].comment)
        read_branch(read, builder, [builder.branch(cross_file)])
        stop = stop_for(builder, self._text, blank, lines)
        read.decode([stop])
        notes += [WROTE_NOTHING] if not stop.text.strip() else []
        return Completion(
            text=stop.text,
            decision=decision,
            p_retrieve=p_retrieve,
            chunks=chunks,
            timings=Timings(
                decide=decided - started,
                retrieve=retrieved - decided if decision else None,
                generate=time.perf_counter() - retrieved,
            ),
            stopped_by=stop.reason,
            policy=policy.name,
            note="; ".join(notes),
            kind=blank.kind,
            threshold=policy.above(blank.kind) if isinstance(policy, Threshold) else None,
        )

    def _check_policy(self, policy: Policy) -> None:
        if policy.needs_decision and self._builder.style == "base":
            raise UserError(
                f"model {self.loaded.name!r} was not trained to decide, so the policy {policy.name!r} has nothing to "
                "go by; use the policy 'never' or 'always', or fine-tune it with `repoformer train`"
            )
