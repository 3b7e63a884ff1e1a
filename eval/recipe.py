"""The recipe of an evaluation: which blanks, which models, how context is found, what is measured."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from repoformer.code.records import Kind
from repoformer.config import Section
from repoformer.context.next_chunk_settings import NextChunkSettings
from repoformer.inference.endpoint import EndpointSettings


class Endpoint(EndpointSettings):
    """A served model that completes in place of one in this process."""

    tokenizer: str
    """A folder or hub name: its tokenizer cuts the contexts to the budgets."""
    preset: Literal["paper", "pocket"] = "paper"
    """Token budgets, the same with and without context."""


class EvaluatedModel(Section):
    """One model of the table: a folder or hub name under ``path``, or an ``endpoint``."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Names the model in tables and its files in ``predictions/`` and ``scores/``."""
    path: str = ""
    """A local folder, ``pocket``, or a name on the hub."""
    endpoint: Endpoint | None = None
    gate: str | None = None
    """Another model of this table that decides in this one's place, by its own thresholds; its seconds count where a
    policy asks for its decision."""
    thresholds: dict[Kind, Annotated[float, Field(ge=0, le=1)]] = {}
    """P(``<cc>``) above which it retrieves, by kind of blank, where that shall not be the model's own threshold."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> EvaluatedModel:
        if bool(self.path) == bool(self.endpoint):
            raise ValueError(f"{self.name}: name either path or endpoint")
        return self

    @model_validator(mode="after")
    def _thresholds_are_of_who_decides(self) -> EvaluatedModel:
        if self.thresholds and self.gate is not None:
            raise ValueError(f"{self.name}: its gate {self.gate!r} decides; give that model the thresholds")
        if self.thresholds and self.endpoint is not None:
            raise ValueError(f"{self.name}: an endpoint takes no decision; leave thresholds out")
        return self


class PublicBenchmark(Section):
    """A benchmark of ``repoformer eval ls``, from files that you have."""

    name: str
    data: str
    """The folder that its data unpacks to, or one of its files."""
    variant: str | None = None
    """One of the benchmark's variants; left out, its first one, or what the file's name says."""
    repositories: str | None = None
    """The folder of the benchmark's repositories: right context of RepoEval, and what retrieval searches."""
    context: Literal["given", "own"] = "given"
    """``given``: the context that stands in the file, where one does; ``own`` retrieves over the repositories."""

    @model_validator(mode="after")
    def _own_context_has_something_to_search(self) -> PublicBenchmark:
        if self.context == "own" and self.repositories is None:
            raise ValueError("context=own retrieves over the repositories; name their folder under repositories")
        return self


class PublishedFigure(Section):
    """What a publication says about one of its figures, to stand beside where ours is."""

    figure: str
    says: str
    """In words."""
    section: str
    """How the heading of the report's section begins that shows the same of this run."""


PublishedPolicy = Literal["never", "always", "greedy", "threshold"]


class EvalRecipe(Section):
    """``recipes/eval/*.yaml``."""

    seed: int = 0
    data: str | None = None
    """Folder of a data run or of `repoformer eval build`: ``collect/``, ``sample/`` and ``split.json`` are read."""
    benchmark: PublicBenchmark | None = None
    """A public benchmark in place of ``data``."""
    out: str
    """Where predictions, scores, ``summary.json`` and ``report.html`` go."""
    limit: int = Field(default=0, ge=0)
    """At most this many blanks, balanced over repositories and kinds; 0 takes all. Marks the result partial."""
    models: Annotated[list[EvaluatedModel], Field(min_length=1)]
    control: str | None = None
    """The model that was fine-tuned on the same blanks without context and without decisions (the paper's A3)."""
    retrieve: NextChunkSettings = NextChunkSettings()
    """The same for every model; its query never holds the target."""
    batch: int = Field(default=16, ge=1)
    """Blanks read in one forward pass; decoding takes both arms of each."""
    device: str = "cpu"
    """``cpu``, ``cuda`` or ``cuda:N``."""
    download: bool = False
    """Fetch a model from the hub where it is not in the local cache."""
    latency_blanks: int = Field(default=24, ge=0)
    """Blanks that are completed one by one, on a warm model, for their seconds; 0 measures none."""
    resamples: int = Field(default=1000, ge=100)
    """Of the paired bootstrap over repositories."""
    right_context: bool = True
    """Whether prompts hold what stands behind the blank."""
    published: dict[str, dict[PublishedPolicy, dict[str, Annotated[float, Field(ge=0)]]]] = {}
    """Numbers of a publication as printed: by model, policy and a name in ``metrics/catalogue.py`` or ``published.py``.
    A model is called there as under ``models``; where none has its name, ours are missing."""
    published_in: str = ""
    """Where they stand, in words."""
    figures: tuple[PublishedFigure, ...] = ()

    @field_validator("published", mode="before")
    @classmethod
    def _an_empty_list_is_none(cls, published: Any) -> Any:
        # As earlier versions recorded it in run.json; their evaluations can still be scored, compared and reported.
        return {} if published == [] else published

    @field_validator("models")
    @classmethod
    def _names_differ(cls, models: list[EvaluatedModel]) -> list[EvaluatedModel]:
        # Some file systems do not tell upper from lower case, and the names become file names.
        names = [model.name.lower() for model in models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two models are called {', '.join(twice)}; every name is a file and a row of its own")
        return models

    @field_validator("models")
    @classmethod
    def _gates_decide_themselves(cls, models: list[EvaluatedModel]) -> list[EvaluatedModel]:
        own = {model.name for model in models if model.gate is None and model.endpoint is None}
        for model in models:
            if model.gate is not None and model.gate not in own:
                raise ValueError(f"{model.name}: its gate {model.gate!r} is no model in this process without a gate")
        return models

    @field_validator("control")
    @classmethod
    def _control_is_evaluated(cls, control: str | None, info: ValidationInfo) -> str | None:
        models: list[EvaluatedModel] | None = info.data.get("models")
        if control is not None and models is not None and control not in [model.name for model in models]:
            raise ValueError("names none of models; add that model or leave control out, and the report will say so")
        return control

    @model_validator(mode="after")
    def _blanks_come_from_one_place(self) -> EvalRecipe:
        if (self.data is None) == (self.benchmark is None):
            raise ValueError("name either data or benchmark: the blanks come from one of them")
        return self
