"""How a recipe says what next-chunk retrieval does: one section, whatever the context is for."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, ValidationInfo, field_validator

from repoformer.code.records import Kind, SourceFile
from repoformer.config import Section
from repoformer.context.leaks import CopyFinder
from repoformer.context.next_chunk import Neighbour, NextChunk
from repoformer.retrieval.scorers import Scorer


class NextChunkSettings(Section):
    """How cross-file context is found: next-chunk retrieval (appendix A)."""

    window: int = Field(default=20, ge=1)
    """Lines per chunk, for every kind but functions."""
    stride: int = Field(default=10, ge=1, validate_default=True)
    function_window: int = Field(default=50, ge=1)
    function_stride: int = Field(default=25, ge=1, validate_default=True)
    top: int = Field(default=10, ge=1)
    """Chunks that go into the context, best first, before the budget cuts it."""
    neighbour: Neighbour = "next"
    """Whether a hit is replaced by the window that follows it, or goes in itself."""
    query_lines: int = Field(default=20, ge=1)
    """Last lines of the left context that make the query."""
    scorer: Scorer = "jaccard"
    """What makes windows similar; ``bm25`` weighs rare words more."""

    @field_validator("stride", "function_stride")
    @classmethod
    def _windows_leave_no_gap(cls, stride: int, info: ValidationInfo) -> int:
        name = "window" if info.field_name == "stride" else "function_window"
        window = info.data.get(name)
        if window is not None and stride > window:
            raise ValueError(f"must not exceed {name}={window}: lines between two windows would never be found")
        return stride

    def chunking(self, kind: Kind) -> tuple[int, int]:
        """Window and stride, in lines, for blanks of this kind."""
        return (self.function_window, self.function_stride) if kind == "function" else (self.window, self.stride)

    def index(self, files: Sequence[SourceFile], kind: Kind, copies: CopyFinder | None = None) -> NextChunk:
        """One repository, ready to be searched for blanks of this kind, and of any other with the same chunking."""
        window, stride = self.chunking(kind)
        return NextChunk(
            files,
            window=window,
            stride=stride,
            top=self.top,
            neighbour=self.neighbour,
            query_lines=self.query_lines,
            scorer=self.scorer,
            copies=copies,
        )
