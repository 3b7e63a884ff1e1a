"""``from repoformer import ...``: documented names, imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import repoformer


@pytest.mark.parametrize("name", repoformer.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(repoformer, name).__doc__
    assert name in dir(repoformer)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        repoformer.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, repoformer; print([name for name in ('torch', 'transformers', 'numpy') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
