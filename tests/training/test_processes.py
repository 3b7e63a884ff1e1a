"""Launches that would do something else than was asked for are refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accelerate import PartialState
from accelerate.state import AcceleratorState, GradientState

from repoformer.errors import UserError
from repoformer.training.checkpoints import Progress, check_layout
from repoformer.training.processes import layout, start_processes


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Accelerate keeps what it found once."""
    states = (PartialState, AcceleratorState, GradientState)
    for state in states:
        state._reset_state()
    yield
    for state in states:
        state._reset_state()


def test_one_process_is_what_it_says(make_recipe: Any) -> None:
    assert layout(start_processes(make_recipe(processes=1))) == "whole"


@pytest.mark.parametrize(
    ("environment", "values", "message"),
    [
        ({"WORLD_SIZE": "3"}, {}, "batch=4 is not a multiple of 3 processes times micro_batch=2; nearest is batch=6"),
        ({"WORLD_SIZE": "2"}, {}, r"launched with WORLD_SIZE=2, but accelerate sees 1 process\(es\)"),
        ({}, {"processes": 2}, "processes=2 in the recipe, but there are 1"),
        ({"ACCELERATE_USE_FSDP": "true"}, {}, r"FSDP was asked for \(ACCELERATE_USE_FSDP\), but accelerate runs NO"),
    ],
    ids=["a batch that does not divide", "processes that lost each other", "another number", "FSDP without a GPU"],
)
def test_a_launch_that_would_do_less_is_refused(
    environment: dict[str, str],
    values: dict[str, Any],
    message: str,
    make_recipe: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    recipe = make_recipe(**values)
    with pytest.raises(UserError, match=message):
        start_processes(recipe)
    assert not recipe.out.exists()


def test_a_checkpoint_of_another_world_is_refused() -> None:
    progress = Progress(4, {}, "zero3 of 2 process(es)")
    check_layout(progress, "zero3 of 2 process(es)", Path("out"))
    with pytest.raises(UserError, match=r"step 4 is zero3 of 2 process.*this launch is whole; launch it as before"):
        check_layout(progress, "whole", Path("out"))


def test_checkpoints_without_a_layout_are_whole() -> None:
    assert Progress(1, {}).layout == "whole"
