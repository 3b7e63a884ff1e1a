"""A registry imports its modules at the first look-up, finds new ones by itself, and explains unknown names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from repoformer.errors import UserError
from repoformer.registry import Registry

PACKAGE = "a_package_of_colours"


@pytest.fixture
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry[str]]:
    package = tmp_path / PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text(
        f"from repoformer.registry import Registry\nCOLOURS = Registry('colour', '{PACKAGE}')\n"
    )
    (package / "warm.py").write_text(
        f"from {PACKAGE} import COLOURS\n"
        "COLOURS.register('vermilion')('#e34234')\n"
        "COLOURS.register('amber')('#ffbf00')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__(PACKAGE).COLOURS
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_modules_are_imported_at_the_first_look_up_only(colours: Registry[str]) -> None:
    assert f"{PACKAGE}.warm" not in sys.modules
    assert colours.names() == ["amber", "vermilion"]
    assert f"{PACKAGE}.warm" in sys.modules


def test_a_name_gives_what_was_registered_under_it(colours: Registry[str]) -> None:
    assert colours.get("amber") == "#ffbf00"


def test_a_second_thing_of_the_same_name_is_refused(colours: Registry[str]) -> None:
    colours.get("amber")
    with pytest.raises(ValueError, match="two colours are called amber"):
        colours.register("amber")("#ffbe00")


def test_an_unknown_name_gets_the_closest_one_suggested(colours: Registry[str]) -> None:
    with pytest.raises(UserError, match="no colour is called 'vermillion' .did you mean vermilion"):
        colours.get("vermillion")


def test_a_name_that_resembles_none_gets_all_of_them(colours: Registry[str]) -> None:
    with pytest.raises(UserError, match="known: amber, vermilion"):
        colours.get("zzz")
