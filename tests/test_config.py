"""Recipes are read strictly, and everything that is wrong with one is said at once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from repoformer import config
from repoformer.config import Section, config_hash, load_recipe, write_run_record
from repoformer.errors import UserError


class Optimiser(Section):
    learning_rate: float = 1e-3
    steps: int


class Folder(Section):
    kind: Literal["folder"]
    path: str


class Installed(Section):
    kind: Literal["installed"]
    include: list[str] = []


class Small(Section):
    name: str = "x"
    train: Optimiser
    sources: list[Annotated[Folder | Installed, Field(discriminator="kind")]] = []


def recipe(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return path


def problems(tmp_path: Path, text: str, *overrides: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        load_recipe(Small, recipe(tmp_path, text), overrides)
    return str(caught.value).splitlines()


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    lines = problems(tmp_path, "nam: y\ntrain: {steps: many, learning_rat: 1.0}\n")
    assert len(lines) == 3


def test_each_problem_names_file_and_dotted_key(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: many}\n")
    assert line.startswith(f"{tmp_path / 'small.yaml'}: train.steps: ")
    assert "'many'" in line


def test_an_unknown_key_suggests_the_nearest(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1, learning_rat: 1.0}\n")
    assert "did you mean learning_rate?" in line


def test_an_unknown_key_inside_a_list_of_variants_suggests_too(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1}\nsources: [{kind: installed, includ: []}]\n")
    assert "did you mean include?" in line


def test_an_unknown_kind_of_section_names_its_key_and_the_kinds_that_there_are(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1}\nsources: [{kind: folders, path: a}]\n")
    assert line.endswith("sources.0.kind: 'folders' is none of folder, installed (did you mean folder?)")


def test_a_section_that_does_not_say_its_kind_lacks_a_key(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1}\nsources: [{path: a}]\n")
    assert line.endswith("sources.0.kind: this key is required")


def test_a_key_of_a_section_is_named_without_its_kind(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1}\nsources: [{kind: folder}]\n")
    assert line.endswith("sources.0.path: this key is required")
    with pytest.raises(UserError, match=r"data\.sources\.0\.pth: unknown key \(did you mean path\?\)"):
        text = "train: {steps: 1}\nsources: [{kind: folder, path: a}]\n"
        load_recipe(Small, recipe(tmp_path, text), ["sources.0.pth=b"], "data.")


def test_a_missing_key_is_called_required(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "train: {}\n")
    assert "train.steps" in line
    assert "required" in line


def test_an_override_goes_before_the_recipe_and_is_coerced_by_type(tmp_path: Path) -> None:
    # YAML reads 2e-5 as a string; the field's type makes it a number.
    loaded = load_recipe(
        Small, recipe(tmp_path, "train: {steps: 1, learning_rate: 0.5}\n"), ["train.learning_rate=2e-5"]
    )
    assert loaded.train.learning_rate == 2e-5


def test_an_override_reaches_into_a_list(tmp_path: Path) -> None:
    text = "train: {steps: 1}\nsources: [{kind: folder, path: a}]\n"
    loaded = load_recipe(Small, recipe(tmp_path, text), ["sources.0.path=b"])
    assert loaded.sources[0] == Folder(kind="folder", path="b")


@pytest.mark.parametrize("override", ["train.steps", "train.steps.deeper=1", "sources.7=1", "train.steps={", "=3"])
def test_a_broken_override_is_named(tmp_path: Path, override: str) -> None:
    (line,) = problems(tmp_path, "train: {steps: 1}\nsources: []\n", override)
    assert repr(override) in line


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "", "just words"])
def test_a_file_that_is_no_recipe_is_one_line(tmp_path: Path, text: str) -> None:
    (line,) = problems(tmp_path, text)
    assert "small.yaml" in line


def test_a_missing_recipe_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere.yaml"):
        load_recipe(Small, tmp_path / "nowhere.yaml")


def files(tmp_path: Path, **texts: str) -> Path:
    """Writes ``name.yaml`` for each, two underscores being a folder; returns the first."""
    paths = [tmp_path / f"{name.replace('__', '/')}.yaml" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return paths[0]


def test_a_recipe_says_only_what_differs_from_the_one_it_extends(tmp_path: Path) -> None:
    path = files(
        tmp_path,
        small__top="extends: ../middle.yaml\ntrain: {learning_rate: 0.5}\n",
        middle="extends: base.yaml\nname: middle\nsources: [{kind: installed}]\n",
        base="name: base\ntrain: {steps: 7}\nsources: [{kind: folder, path: p}, {kind: folder, path: q}]\n",
    )
    found = load_recipe(Small, path, ["train.steps=8"])
    assert found == Small(
        name="middle", train=Optimiser(learning_rate=0.5, steps=8), sources=[Installed(kind="installed")]
    )


def test_extending_changes_the_base_for_nobody_else(tmp_path: Path) -> None:
    path = files(tmp_path, top="extends: base.yaml\ntrain: {steps: 8}\n", base="train: {steps: 7}\n")
    assert load_recipe(Small, path).train.steps == 8
    assert load_recipe(Small, tmp_path / "base.yaml").train.steps == 7


def test_a_circle_of_recipes_is_named(tmp_path: Path) -> None:
    path = files(tmp_path, one="extends: two.yaml\n", two="extends: three.yaml\n", three="extends: two.yaml\n")
    with pytest.raises(UserError, match=r"two.yaml: extends itself \(one.yaml -> two.yaml -> three.yaml -> two.yaml\)"):
        load_recipe(Small, path)


def test_a_missing_base_is_named_with_the_recipe_that_extends_it(tmp_path: Path) -> None:
    path = files(tmp_path, one="extends: gone.yaml\n")
    with pytest.raises(UserError, match=r"gone.yaml: cannot read this recipe that .*one.yaml extends"):
        load_recipe(Small, path)


@pytest.mark.parametrize("value", ["[a.yaml, b.yaml]", "{}", "3"])
def test_a_recipe_extends_one_other_at_most(tmp_path: Path, value: str) -> None:
    with pytest.raises(UserError, match="extends: the path of one recipe"):
        load_recipe(Small, files(tmp_path, one=f"extends: {value}\n"))


def test_the_hash_changes_with_a_value_and_with_nothing_else() -> None:
    first = Optimiser(steps=1)
    assert config_hash(first) == config_hash(Optimiser(steps=1))
    assert config_hash(first) != config_hash(Optimiser(steps=2))


def test_the_run_record_keeps_those_of_earlier_runs(tmp_path: Path) -> None:
    for number in range(3):
        write_run_record(tmp_path, Optimiser(steps=number + 1))
    record = json.loads((tmp_path / "run.json").read_text())
    assert [one["config"]["steps"] for one in (*record["earlier"], record)] == [1, 2, 3]
    assert not any("earlier" in one for one in record["earlier"])


@pytest.mark.parametrize(
    ("name", "package", "told"),
    [
        ("repoformer", "here/repoformer", True),
        ("repoformer", "here/.venv/lib/site-packages/repoformer", True),
        ("repoformer", "elsewhere/site-packages/repoformer", False),
        ("other", "here/.venv/lib/site-packages/repoformer", False),
    ],
)
def test_only_a_checkout_of_this_project_that_holds_the_package_is_named(
    name: str, package: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*git, *command], cwd=here, check=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr(config, "__file__", str(tmp_path / package / "config.py"))
    write_run_record(tmp_path, Optimiser(steps=1))
    assert bool(json.loads((tmp_path / "run.json").read_text())["git"]) is told
