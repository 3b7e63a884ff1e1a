"""The recipe of a data set: where repositories come from, which are used, and what is made of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from repoformer.benchmarks.benchmark import BENCHMARKS
from repoformer.code.filters import Requirements
from repoformer.code.languages import LANGUAGES
from repoformer.config import Section
from repoformer.context.next_chunk_settings import NextChunkSettings
from repoformer.inference.endpoint import EndpointSettings
from repoformer.prompt.budgets import Preset

from .sources import Source, known_licence


class Filter(Section):
    """Which repositories are worth it (appendix D); averages count import statements over all files."""

    files: int = Field(default=5, ge=1)
    """At least this many usable files."""
    max_files: int = Field(default=0, ge=0)
    """At most this many; 0 sets no limit."""
    lines: int = Field(default=0, ge=0)
    """At least this many lines of code in all."""
    languages: Annotated[tuple[str, ...], Field(min_length=1)] = ("python",)
    """Files in others are not looked at."""
    imports_per_file: float = Field(default=3.0, ge=0)
    local_imports_per_file: float = Field(default=2.0, ge=0)
    """Of them, at least this many of the repository's own modules."""
    max_file_bytes: int = Field(default=1_000_000, ge=1)
    """Larger files are set aside."""
    repositories: int = Field(default=0, ge=0)
    """Keep at most this many repositories, drawn by the seed; 0 keeps all."""

    @field_validator("languages")
    @classmethod
    def _are_known(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [language for language in languages if language not in LANGUAGES]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no known language; known: {', '.join(LANGUAGES)}")
        return languages

    @field_validator("max_files")
    @classmethod
    def _leaves_room(cls, most: int, info: ValidationInfo) -> int:
        least = info.data.get("files")
        if most and least is not None and most < least:
            raise ValueError(f"must not be less than files={least}: no repository would be left")
        return most

    @field_validator("repositories")
    @classmethod
    def _enough_to_split(cls, repositories: int) -> int:
        if 0 < repositories < 3:
            raise ValueError("must be 3 or more, one each for training, validation and test, or 0 for all")
        return repositories

    @property
    def requirements(self) -> Requirements:
        """What is asked of each repository by itself."""
        return Requirements(**self.model_dump(exclude={"repositories"}))


class BenchmarkFiles(Section):
    """A benchmark whose repositories and files must not be trained on."""

    name: str
    """As ``repoformer eval`` lists it."""
    path: str
    """Where its files were unpacked, or one of them."""
    variant: str | None = None
    repositories: str | None = None
    """The folder of its repositories, where there is one: right contexts then count too."""

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        BENCHMARKS.get(name)
        return name


class Split(Section):
    """Shares of repositories that are held out; at least one of each."""

    validation: float = Field(default=0.1, gt=0, lt=1)
    test: float = Field(default=0.2, gt=0, lt=1, validate_default=True)
    test_repositories: list[str] = []
    """Names of the repositories to test on, in place of a share drawn by the seed; ``validation`` is then a share of
    the others."""

    @field_validator("test")
    @classmethod
    def _leaves_training(cls, test: float, info: ValidationInfo) -> float:
        validation = info.data.get("validation")
        if validation is not None and validation + test >= 1:
            raise ValueError(
                f"leaves no repository to train on beside validation={validation}; their sum must be below 1"
            )
        return test


class Sample(Section):
    """How blanks are drawn (appendix D, algorithms 1 and 2)."""

    chunks_per_repository: int = Field(default=20, ge=0)
    """At most this many chunk blanks."""
    functions_per_repository: int = Field(default=10, ge=0)
    """At most this many function blanks."""
    lines_mean: float = Field(default=3.0, gt=0)
    """Lines per chunk blank: max(1, Poisson of this mean), at most ten."""
    function_lines: tuple[int, int] = (3, 30)
    """Least and most lines of a function's body."""
    clustered_chunks: int = Field(default=1000, ge=1)
    """At most this many random chunks (and functions) of a repository are clustered."""

    @field_validator("functions_per_repository")
    @classmethod
    def _something_is_drawn(cls, functions: int, info: ValidationInfo) -> int:
        if functions == 0 and info.data.get("chunks_per_repository") == 0:
            raise ValueError("is 0, and so is chunks_per_repository: nothing would be drawn")
        return functions

    @field_validator("function_lines")
    @classmethod
    def _in_order(cls, lines: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= lines[0] <= lines[1]:
            raise ValueError("must be [least, most] lines, at least 1")
        return lines


class Retrieve(NextChunkSettings):
    """How cross-file context is found, and what its queries hold."""

    top: int = Field(default=3, ge=1)
    """Chunks that go into the context, best first, before the budget cuts it."""
    query_holds_target: float = Field(default=0.5, ge=0, le=1)
    """Share of the queries of training blanks that also hold the target; those of validation blanks never do."""


class Label(Section):
    """Which model says whether context helped (section 4.1)."""

    model: str = "pocket"
    """A local folder, ``pocket``, or a name on the hub; its tokenizer also makes the training examples."""
    threshold: float = Field(default=0.0, ge=-1, le=1)
    """A label is positive when ES(with) - ES(without) exceeds this. The gain is stored, so this only decides what the
    data card counts; the training recipe has its own."""
    batch: int = Field(default=16, ge=1)
    """Blanks read in one forward pass; decoding takes both arms of each."""
    device: str = "cpu"
    """``cpu``, ``cuda`` or ``cuda:N``."""
    download: bool = False
    """Fetch the model from the hub where it is not in the local cache."""
    endpoint: EndpointSettings | None = None
    """A served model that completes instead of ``model``, whose tokenizer then counts the tokens of its prompts."""
    likelihood: bool = False
    """Also store how likely the model finds the target in both arms."""
    by: Literal["edit_similarity", "likelihood"] = Field(default="edit_similarity", validate_default=True)
    """Which gain becomes that of a training example: in edit similarity, or in nats of mean log likelihood per token.
    The data card counts positive labels by edit similarity in either case."""

    @field_validator("likelihood")
    @classmethod
    def _needs_logits(cls, likelihood: bool, info: ValidationInfo) -> bool:
        if likelihood and info.data.get("endpoint") is not None:
            raise ValueError("an endpoint gives text only; leave endpoint out and load the model here")
        return likelihood

    @field_validator("by")
    @classmethod
    def _is_stored(cls, by: str, info: ValidationInfo) -> str:
        if by == "likelihood" and not info.data.get("likelihood"):
            raise ValueError("is only known with likelihood: true")
        return by


class DataRecipe(Section):
    """``recipes/data/*.yaml``."""

    seed: int = 0
    preset: Preset = "pocket"
    """Token budgets of labelling and of training examples; goes before the one that the model carries."""
    out: str
    """A folder for each stage, ``split.json`` and ``data-card.json`` go here."""
    shards: int = Field(default=2, ge=1, le=99_999)
    """Parts of every stage: what is done again after a kill, and what can be done at the same time."""
    sources: Annotated[list[Source], Field(min_length=1)]
    licences: Annotated[list[str], Field(min_length=1)]
    """Licences that allow use, as SPDX identifiers; others, and unknown ones, are refused."""
    filter: Filter = Filter()
    decontaminate: list[BenchmarkFiles] = []
    """Repositories of these benchmarks are refused, and copies of their files left out."""
    split: Split = Split()
    sample: Sample = Sample()
    retrieve: Retrieve = Retrieve()
    label: Label = Label()

    @field_validator("licences")
    @classmethod
    def _are_spdx(cls, licences: list[str]) -> list[str]:
        return [known_licence(licence) for licence in licences]
