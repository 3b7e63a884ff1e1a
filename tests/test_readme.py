"""What the READMEs tell people to type is what the command line takes."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from repoformer.cli import _parse

ROOT = Path(__file__).resolve().parent.parent
READMES = [ROOT / "README.md", *sorted((ROOT / "recipes").rglob("README.md"))]


def commands() -> list[tuple[str, list[str]]]:
    """(file, words) of every ``repoformer`` and launcher command, in fenced and indented blocks."""
    found = []
    for readme in READMES:
        fenced = False
        for line in readme.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            fenced ^= line.startswith("```")
            typed = re.split(r"\s{3,}", line.strip())[0].removeprefix(".venv/bin/")  # what follows a gap explains
            if (fenced or line.startswith("    ")) and re.match(r"(repoformer|accelerate launch|python -m) \S", typed):
                words = shlex.split(re.sub(r"\[[^]]*\]", "", typed), comments=True)  # [optional] words are left out
                found.append((readme.relative_to(ROOT).as_posix(), words))
    return found


COMMANDS = commands()


@pytest.mark.parametrize(("readme", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS])
def test_a_documented_command_is_one_that_exists(readme: str, words: list[str]) -> None:
    if words[0] == "repoformer":
        _parse(words[1:])
    else:
        assert importlib.util.find_spec(words[words.index("-m") + 1]), readme


@pytest.mark.parametrize(("readme", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS])
def test_a_documented_recipe_is_there(readme: str, words: list[str]) -> None:
    for word in words:
        if word.startswith("recipes/"):
            assert (ROOT / word).exists(), f"{readme}: {word}"


def test_the_readme_shows_every_command_of_the_tool() -> None:
    shown = {words[1] for _, words in COMMANDS if words[0] == "repoformer"}
    assert {"data", "train", "complete", "eval"} <= shown


def test_make_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
