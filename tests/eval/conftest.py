"""A finished data run over a few small repositories, two tiny models, and an evaluation of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.blanks import blank_at
from repoformer.code.records import Blank, Kind, Prediction, Repository, RetrievedContext, Score, SourceFile
from repoformer.code.storage import write_json, write_parquet
from repoformer.eval import runner
from repoformer.eval.outcomes import Outcomes, outcomes_of
from repoformer.eval.recipe import EvalRecipe
from repoformer.models.settings import ModelSettings, save_settings
from repoformer.prompt.budgets import COMPLETION, scaled


@contextmanager
def short_budgets() -> Iterator[None]:
    """A model with random weights hardly ever ends a line: a few tokens of each completion are enough here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COMPLETION, "pocket", scaled(COMPLETION["pocket"], new_tokens=8, new_tokens_function=8))
        yield


@pytest.fixture(scope="module", autouse=True)
def short_completions() -> Iterator[None]:
    """Not for the session: the rooms that are tested afterwards need the real budgets."""
    with short_budgets():
        yield


@pytest.fixture(scope="session")
def repositories(python_sources: list[str]) -> list[Repository]:
    """Four repositories of three files each, cut from real files; the last one is trained on."""
    found = []
    for number in range(4):
        texts = ["\n".join(source.split("\n")[60 * number : 60 * number + 120]) + "\n" for source in python_sources[:3]]
        files = tuple(SourceFile(f"pkg/m{place}.py", text, "python") for place, text in enumerate(texts))
        found.append(Repository(f"repo{number}", "1.0", "MIT", files))
    return found


@pytest.fixture(scope="session")
def blanks(repositories: list[Repository]) -> list[Blank]:
    """Of each repository, three chunk blanks and one that counts as a function's."""
    return [
        blank_at(repository, file, kind, start, start + 2)
        for repository in repositories
        for file, kind, start in (
            (repository.files[0], "chunk", 30),
            (repository.files[1], "chunk", 50),
            (repository.files[2], "chunk", 70),
            (repository.files[2], "function", 90),
        )
    ]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, repositories: list[Repository], blanks: list[Blank]) -> Path:
    """The folder of a data run, as its stages leave it."""
    folder = tmp_path_factory.mktemp("run") / "data"
    for number in range(2):
        mine = {repository.id for repository in repositories[number::2]}
        made = {"collect": repositories[number::2], "sample": [blank for blank in blanks if blank.repository in mine]}
        for stage, records in made.items():
            write_parquet(folder / stage / f"part-{number:05d}-of-00002.parquet", records)
            write_json(folder / stage / f"part-{number:05d}-of-00002.done.json", {})
    write_json(folder / "split.json", {"train": ["repo3"], "validation": [], "test": ["repo0", "repo1", "repo2"]})
    return folder


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, tiny_tokenizer: Any) -> dict[str, Path]:
    """The tiny model exported twice, as one that decides and as one that does not."""
    folders = {}
    for style in ("base", "selective"):
        folder = tmp_path_factory.mktemp(style)
        tiny_model.save_pretrained(folder)
        tiny_tokenizer.save_pretrained(folder)
        save_settings(folder, ModelSettings(style=style, preset="pocket", thresholds={"chunk": 0.001}))
        folders[style] = folder
    return folders


@pytest.fixture(scope="session")
def recipe_values(data: Path, model_folders: dict[str, Path]) -> dict[str, Any]:
    """A recipe over ``data`` with both models, all but ``out``."""
    return {
        "data": str(data),
        "models": [
            {"name": "plain", "path": str(model_folders["base"])},
            {"name": "deciding", "path": str(model_folders["selective"])},
        ],
        "control": "plain",
        "batch": 2,
        "latency_blanks": 3,
        "resamples": 100,
    }


@pytest.fixture
def recipe_with(tmp_path: Path, recipe_values: dict[str, Any]) -> Callable[..., EvalRecipe]:
    """The recipe with some values replaced."""

    def make(**changes: Any) -> EvalRecipe:
        return EvalRecipe.model_validate(recipe_values | {"out": str(tmp_path / "out")} | changes)

    return make


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory, recipe_values: dict[str, Any]) -> EvalRecipe:
    """A run over everything, to look at."""
    recipe = EvalRecipe.model_validate(recipe_values | {"out": str(tmp_path_factory.mktemp("finished"))})
    with short_budgets():
        runner.run(recipe)
    return recipe


@pytest.fixture
def finished(finished_run: EvalRecipe, tmp_path: Path) -> EvalRecipe:
    """A copy of a finished run, to change."""
    shutil.copytree(finished_run.out, tmp_path / "out")
    return finished_run.model_copy(update={"out": str(tmp_path / "out")})


@dataclass(frozen=True)
class Replayed:
    """One blank's results, as little as a test needs to say."""

    repository: str = "r0"
    kind: Kind = "chunk"
    es_without: float = 0.0
    es_with: float = 0.0
    p: float | None = None
    seconds: tuple[float, float, float, float] | None = None
    """Decide, retrieve, generate without, generate with."""
    texts: tuple[str, str] = ("x", "x")
    """Completed without and with context."""


@pytest.fixture(scope="session")
def blank_result() -> type[Replayed]:
    """:class:`Replayed`."""
    return Replayed


Records = tuple[dict[str, Prediction], dict[str, Score]]


@pytest.fixture(scope="session")
def records_from() -> Callable[[list[Replayed]], Records]:
    """Predictions and scores by id, as a run writes them; greedy asks where ``p`` > 0.5, EM is ES = 1."""

    def make(results: list[Replayed]) -> Records:
        predictions, scores = {}, {}
        for number, one in enumerate(results):
            id = f"{number:05d}"
            blank = Blank(id, one.repository, "", "MIT", "a.py", "python", one.kind, 0, 1, "", "", "x")
            context = RetrievedContext((), "", False, "none", 0.0)
            greedy = None if one.p is None else one.p > 0.5
            seconds = one.seconds or (None, None, None, None)
            predictions[id] = Prediction(blank, "m", one.p, greedy, context, *one.texts, *seconds)
            em = float(one.es_without == 1), float(one.es_with == 1)
            scores[id] = Score(id, one.repository, one.kind, *em, one.es_without, one.es_with)
        return predictions, scores

    return make


@pytest.fixture(scope="session")
def outcomes_from(records_from: Callable[[list[Replayed]], Records]) -> Callable[[list[Replayed]], Outcomes]:
    """Outcomes through the same records that a run writes."""

    def make(results: list[Replayed]) -> Outcomes:
        predictions, scores = records_from(results)
        return outcomes_of(list(predictions.values()), scores, dict.fromkeys(scores, 0.5))

    return make
