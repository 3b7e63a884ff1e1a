"""Prompts as text say what prompts as ids say, and never let user code spell a control token."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from repoformer.code.records import Blank, Chunk
from repoformer.errors import UserError
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import DIALECTS, dialect_named
from repoformer.prompt.text_prompt import ControlText, TextPrompts

BLANK = Blank("b", "r", "", "MIT", "a.py", "python", "chunk", 1, 2, "x = 1\n", "\nz = 3\n", "y = 2")
CHUNK = Chunk("b.py", 0, 1, "w = 0")


@pytest.fixture(scope="module")
def builder(tiny_tokenizer: Any) -> PromptBuilder:
    return PromptBuilder(tiny_tokenizer, dialect_named("starcoder"), COMPLETION["pocket"], "base")


@pytest.fixture(scope="module")
def prompts(builder: PromptBuilder) -> TextPrompts:
    return TextPrompts(builder.dialect, builder)


@pytest.mark.parametrize("chunks", [(), (CHUNK,)])
def test_the_text_is_that_of_the_ids(
    builder: PromptBuilder, prompts: TextPrompts, python_sources: list[str], chunks: tuple[Chunk, ...]
) -> None:
    for source in python_sources[:3]:
        blank = dataclasses.replace(BLANK, left=source, right=f"\n{source}")
        ids = builder.prompt(builder.in_file(blank.left, blank.right), builder.cross_file(chunks, "#"))
        text = builder.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        assert prompts.prompt(blank, chunks) == text


def test_a_cut_through_a_character_keeps_the_text_whole(builder: PromptBuilder, prompts: TextPrompts) -> None:
    blank = dataclasses.replace(BLANK, left="# 漢字\n" * 300, right="\n# 漢字" * 300)
    text = prompts.prompt(blank, ())
    assert "\ufffd" not in text
    left, right = text.removeprefix("<fim_prefix>").removesuffix("<fim_middle>").split("<fim_suffix>")
    assert blank.left.endswith(left)
    assert blank.right.startswith(right)


@pytest.mark.parametrize("place", ["left", "right", "chunk", "path"])
@pytest.mark.parametrize("control", ["<fim_middle>", "<|endoftext|>", "<filename>", "<|im_start|>"])
def test_code_that_spells_a_control_token_is_refused(prompts: TextPrompts, place: str, control: str) -> None:
    blank, chunk = BLANK, CHUNK
    if place in ("left", "right"):
        blank = dataclasses.replace(BLANK, **{place: f"\n{control}\n"})
    else:
        chunk = dataclasses.replace(CHUNK, **{"text" if place == "chunk" else "path": f"a{control}b"})
    with pytest.raises(ControlText, match="as text"):
        prompts.prompt(blank, (chunk,))


def test_the_target_is_not_sent_and_may_say_anything(prompts: TextPrompts) -> None:
    assert "<fim_pad>" not in prompts.prompt(dataclasses.replace(BLANK, target="<fim_pad>"), ())


def test_what_the_budget_cuts_off_is_not_refused(prompts: TextPrompts) -> None:
    assert prompts.prompt(dataclasses.replace(BLANK, left="<fim_middle>\n" + "x = 1\n" * 3000), ())


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "codellama"])
def test_every_other_familys_own_tokens_are_refused(builder: PromptBuilder, name: str) -> None:
    dialect = dialect_named(name)
    prompts = TextPrompts(dialect, builder)
    for token in (dialect.prefix, dialect.suffix, dialect.middle, dialect.end, dialect.file_separator):
        if token:
            with pytest.raises(ControlText):
                prompts.prompt(dataclasses.replace(BLANK, left=f"s = '{token}'\n"), ())


def test_a_completion_ends_where_a_server_spells_out_a_control_token(prompts: TextPrompts) -> None:
    assert prompts.completion("y = 2\n<|endoftext|>rubbish") == "y = 2\n"


def test_codellama_is_refused(builder: PromptBuilder) -> None:
    with pytest.raises(UserError, match="codellama"):
        TextPrompts(dialect_named("codellama"), builder)
