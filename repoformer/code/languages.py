"""The languages the framework knows, in one table: a new one is an entry here, its queries in syntax.py and a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Language:
    """What the other rooms need to know about a programming language."""

    name: str
    suffixes: tuple[str, ...]
    comment: str
    """The sign that starts a line comment."""
    grammar: str
    """The module of its tree-sitter grammar."""


LANGUAGES: dict[str, Language] = {
    language.name: language for language in (Language("python", (".py", ".pyi"), "#", "tree_sitter_python"),)
}

_BY_SUFFIX = {suffix: language for language in LANGUAGES.values() for suffix in language.suffixes}


def language_of(path: str) -> Language | None:
    """The language of a file by its suffix; None for a file that is not source text we know."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
