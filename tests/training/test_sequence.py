"""What each objective makes of an example, token by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from repoformer.code.records import Example
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import dialect_named
from repoformer.training.objectives import OBJECTIVES
from repoformer.training.recipe import ObjectiveName
from repoformer.training.sequence import TrainingSequence, Verbaliser

LEFT, RIGHT, CONTEXT, TARGET = (101, 102), (201,), (301, 302, 303), (401, 402)
HELPED = Example("helped", "r", "line", 0.25, LEFT, RIGHT, CONTEXT, TARGET)
NOT_HELPED = replace(HELPED, id="not helped", gain=0.0)

Read = Callable[[TrainingSequence], str]


@pytest.fixture
def verbaliser(tiny_tokenizer: Any) -> Callable[..., Verbaliser]:
    def make(name: ObjectiveName, **values: Any) -> Verbaliser:
        objective = OBJECTIVES[name]
        builder = PromptBuilder(tiny_tokenizer, dialect_named("starcoder"), COMPLETION["pocket"], objective.style)
        return Verbaliser(objective, builder, **values)

    return make


@pytest.fixture
def read(tiny_tokenizer: Any) -> Read:
    """A sequence with control tokens by name, segments by letter, and marks: ?decision, [target]."""
    letters = {LEFT[0]: "L", RIGHT[0]: "R", CONTEXT[0]: "CFC", TARGET[0]: "Y"}
    plain = {*LEFT[1:], *RIGHT[1:], *CONTEXT[1:], *TARGET[1:]}
    names = {"<|endoftext|>": "end", "<fim_prefix>": "P", "<fim_suffix>": "S", "<fim_middle>": "M"}

    def show(sequence: TrainingSequence) -> str:
        words = []
        for place, token in enumerate(sequence.ids):
            if token in plain:
                continue
            text = tiny_tokenizer.convert_ids_to_tokens(token)
            word = letters.get(token) or names.get(text, text)
            word = f"[{word}]" if place >= sequence.target_start else word
            words.append(f"?{word}" if place == sequence.decision else word)
        return " ".join(words)

    return show


@pytest.mark.parametrize(
    ("name", "helped", "not_helped"),
    [
        ("selective", "P L S R <eof> ?<cc> CFC M [Y] [end]", "P L S R <eof> ?M [Y] [end]"),
        ("one_cross_entropy", "P L S R <eof> ?<cc> CFC M [Y] [end]", "P L S R <eof> ?M [Y] [end]"),
        ("no_evaluation", "P L S R <eof> ?<cc> CFC M [Y] [end]", "P L S R <eof> ?M [Y] [end]"),
        ("fim_only", "P L S R M [Y] [end]", "P L S R M [Y] [end]"),
        ("context_after_middle", "P L S R M ?<cc> CFC <eof> [Y] [end]", "P L S R M ?[Y] [end]"),
    ],
)
def test_objective(
    name: ObjectiveName, helped: str, not_helped: str, verbaliser: Callable[..., Verbaliser], read: Read
) -> None:
    verbalise = verbaliser(name)
    assert read(verbalise(HELPED)) == helped
    assert read(verbalise(NOT_HELPED)) == not_helped


def test_every_token_of_the_segments_is_there(verbaliser: Callable[..., Verbaliser]) -> None:
    sequence = verbaliser("selective")(HELPED)
    assert sequence.ids[1:3] == LEFT
    assert sequence.ids[7:10] == CONTEXT
    assert sequence.targets[:-1] == TARGET


def test_the_end_token_can_be_left_out(verbaliser: Callable[..., Verbaliser], read: Read) -> None:
    assert read(verbaliser("selective", train_end_token=False)(HELPED)) == "P L S R <eof> ?<cc> CFC M [Y]"


def test_the_label_is_a_gain_greater_than_the_threshold(verbaliser: Callable[..., Verbaliser]) -> None:
    assert verbaliser("selective", label_threshold=0.24)(HELPED).wants_context
    assert not verbaliser("selective", label_threshold=0.25)(HELPED).wants_context


def test_empty_context_is_never_wanted(verbaliser: Callable[..., Verbaliser], read: Read) -> None:
    assert read(verbaliser("selective")(replace(HELPED, cross_file=()))) == "P L S R <eof> ?M [Y] [end]"
