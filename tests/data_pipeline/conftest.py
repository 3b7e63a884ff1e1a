"""A folder of small made-up repositories, and a recipe for it that a tiny model can label in a second."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.config import parse_recipe
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.models.settings import ModelSettings, save_settings

NAMES = ("ant", "bee", "cat", "dog", "elk", "fox")
VERBS = ("load", "store", "parse", "merge", "count", "split")


def write_repository(root: Path, name: str) -> None:
    """Six modules that import each other, with functions and blank lines, all different and all made from the name."""
    rng = random.Random(name)
    package = root / name / name
    package.mkdir(parents=True)
    (root / name / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
    for verb in VERBS:
        others = rng.sample([other for other in VERBS if other != verb], 3)
        lines = ["import os", "import sys", *(f"from {name}.{other} import {other}_{name}_0" for other in others), ""]
        for number in range(4):
            thing = rng.choice(("path", "table", "node", "token"))
            lines += [
                "",
                f"def {verb}_{name}_{number}({thing}, limit={rng.randrange(100)}):",
                f'    """{verb.title()} a {thing} of the {name}: <cc> <fim_middle> <eof>."""',
                f"    result = {others[0]}_{name}_0({thing})",
                "",
                f"    if len(result) > {rng.randrange(100)} or not {thing}:",
                f"        return {others[1]}_{name}_0(os.path.join({thing}, 'é'), sys.argv[{number}])",
                "    return result",
                "",
            ]
        (package / f"{verb}.py").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six good repositories, one with files that cannot be used, one under the GPL, an empty one, one of one file."""
    root = tmp_path_factory.mktemp("repositories")
    for name in (*NAMES, "gnu", "odd"):
        write_repository(root, name)
    (root / "gnu" / "pyproject.toml").write_text('[project]\nlicense = "GPL-3.0-only"\n')
    (root / "odd" / "odd" / "latin.py").write_bytes("# é\n".encode("latin-1"))
    (root / "odd" / "odd" / "large.py").write_text("x = 1\n" * 900_000)
    (root / "odd" / "odd" / "breaks.py").write_text("import os\n\fx = 'a\u2028b'\r\ny = 2\r\n")
    (root / "empty").mkdir()
    (root / "single").mkdir()
    (root / "single" / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
    (root / "single" / "a.py").write_text("x = 1\n")
    return root


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, tiny_tokenizer: Any) -> Path:
    """The tiny model, exported as this project exports models."""
    folder = tmp_path_factory.mktemp("model")
    tiny_model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    save_settings(folder, ModelSettings(preset="pocket"))
    return folder


@pytest.fixture
def recipe_for(repositories: Path) -> Callable[..., DataRecipe]:
    """Makes recipes over the made-up repositories; keyword arguments replace whole sections."""

    def recipe(out: Path, **changes: Any) -> DataRecipe:
        values: dict[str, Any] = {
            "out": str(out),
            "shards": 3,
            "sources": [{"kind": "folder", "path": str(repositories)}],
            "licences": ["MIT"],
            "split": {"validation": 0.2, "test": 0.2},
            "sample": {"chunks_per_repository": 4, "functions_per_repository": 1},
            "label": {"model": "no-model-here", "batch": 8},
        }
        return parse_recipe(DataRecipe, values | changes, "recipe")

    return recipe
