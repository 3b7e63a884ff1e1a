"""What the trainer's tests share: random examples and a whole small run on disk."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from accelerate import PartialState
from accelerate.state import AcceleratorState, GradientState

from repoformer.code.records import Example, Kind
from repoformer.code.storage import write_parquet
from repoformer.config import parse_recipe
from repoformer.training.loop import train
from repoformer.training.recipe import TrainRecipe

InAFork = Callable[[TrainRecipe, Path], None]
MakeExamples = Callable[..., list[Example]]
MakeRecipe = Callable[..., TrainRecipe]


@pytest.fixture(scope="session")
def make_examples() -> MakeExamples:
    """``make_examples(number, seed=0)``: random token ids; about half want context, every fifth has none."""

    def make(number: int, seed: int = 0) -> list[Example]:
        rng = random.Random(seed)

        def ids(low: int, high: int) -> tuple[int, ...]:
            return tuple(rng.randrange(40, 700) for _ in range(rng.randint(low, high)))

        return [
            Example(
                id=f"e{seed}-{place}",
                repository=f"r{place % 3}",
                kind=get_args(Kind)[place % 4],
                gain=rng.uniform(-0.5, 0.5),
                left=ids(4, 30),
                right=ids(0, 15),
                cross_file=ids(5, 30) if place % 5 else (),
                target=ids(1, 12),
            )
            for place in range(number)
        ]

    return make


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, base_tokenizer: Any) -> Path:
    """A base model on disk: no ``<cc>``, no ``<eof>``."""
    folder = tmp_path_factory.mktemp("models") / "base"
    model = copy.deepcopy(tiny_model)
    model.resize_token_embeddings(len(base_tokenizer))
    model.save_pretrained(folder)
    base_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory, make_examples: MakeExamples) -> Path:
    """Twelve training and nine validation examples, as the data pipeline writes them."""
    folder = tmp_path_factory.mktemp("data")
    write_parquet(folder / "train" / "part-00000-of-00001.parquet", make_examples(12, seed=1))
    write_parquet(folder / "validation" / "part-00000-of-00001.parquet", make_examples(9, seed=2))
    return folder


@pytest.fixture
def make_recipe(tmp_path: Path, model_folder: Path, data_folder: Path) -> MakeRecipe:
    """``make_recipe(**values)``: six steps of four examples in two epochs, unless told otherwise."""

    def make(**values: Any) -> TrainRecipe:
        usual = {
            "model": str(model_folder),
            "data": str(data_folder),
            "out": str(tmp_path / "out"),
            "epochs": 2,
            "batch": 4,
            "micro_batch": 2,
            "learning_rate": 1e-2,
            "warmup_steps": 2,
            "save_every": 2,
        }
        return parse_recipe(TrainRecipe, usual | values, "recipe")

    return make


@pytest.fixture
def in_a_fork() -> InAFork:
    """``in_a_fork(recipe, errors)`` trains in a process of ``debug_launcher``; how it fails goes to ``errors/error-*``.

    A forked process must not take itself for the one that it was forked from.
    """

    def train_in_a_fork(recipe: TrainRecipe, errors: Path) -> None:
        for state in (PartialState, AcceleratorState, GradientState):
            state._reset_state()
        try:
            train(recipe)
        except Exception as error:
            (errors / f"error-{os.getpid()}").write_text(str(error))

    return train_in_a_fork
