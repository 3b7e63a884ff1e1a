"""The pocket corpus: its manifest, and the rule that nothing held out is trained on, copies included."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from repoformer.code.licences import is_allowed
from repoformer.code.records import Repository, SourceFile
from repoformer.code.sources.manifest import Manifest, Package
from repoformer.config import load_recipe
from repoformer.errors import UserError
from repoformer.models.pretraining.__main__ import main
from repoformer.models.pretraining.corpus import repositories, without_copies
from repoformer.models.pretraining.recipe import PocketRecipe

ROOT = Path(__file__).resolve().parents[2]
PERMISSIVE = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PSF-2.0"}


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_recipe(Manifest, ROOT / "recipes/pocket/corpus.yaml")


def test_the_manifest_is_large_enough(manifest):
    assert len(manifest.used_for("pretrain")) >= 60
    assert len(manifest.used_for("label")) >= 30
    assert len(manifest.used_for("evaluate")) >= 20


def test_every_licence_is_permissive(manifest):
    assert [package.name for package in manifest.packages if not is_allowed(package.licence, PERMISSIVE)] == []


def test_the_recipe_of_the_pocket_model_loads():
    recipe = load_recipe(PocketRecipe, ROOT / "recipes/pocket/pretrain.yaml")
    assert (ROOT / recipe.corpus).is_file()


def test_a_package_has_one_use():
    entry = {"version": "1", "licence": "MIT", "sha256": "0" * 64}
    with pytest.raises(ValueError, match="stands there twice"):
        Manifest(packages=[{"name": "a-b", "use": "pretrain", **entry}, {"name": "A_b", "use": "evaluate", **entry}])


def _repository(name: str, **files: str) -> Repository:
    return Repository(name, "1", "MIT", tuple(SourceFile(f"{stem}.py", text, "python") for stem, text in files.items()))


VENDORED = "".join(f"def vendored_function_{number}(argument):\n    return argument\n\n" for number in range(8))
OWN = "".join(f"def something_of_its_own_{number}(value):\n    return value * {number}\n\n" for number in range(8))


@pytest.mark.parametrize(
    "copy",
    [
        VENDORED,
        VENDORED.replace("    ", "\t"),
        "# another header\nimport os\n\n" + VENDORED,
        VENDORED + "def one_more_function(argument):\n    return argument\n",
    ],
    ids=["equal", "indented otherwise", "another header", "extended"],
)
def test_a_copy_of_a_held_out_file_is_not_trained_on(copy):
    kept, removed = without_copies([_repository("train", copied=copy, own=OWN)], [_repository("held", origin=VENDORED)])
    assert [file.path for file in kept[0].files] == ["own.py"]
    assert removed == {"train/copied.py": "held/origin.py"}


def _wheel(folder: Path, licence: str) -> Package:
    with zipfile.ZipFile(folder / "demo-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("demo/__init__.py", "VALUE = 1\n")
        archive.writestr(
            "demo-1.0.dist-info/METADATA",
            f"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\nLicense-Expression: {licence}\n",
        )
        archive.writestr("demo-1.0.dist-info/RECORD", "demo/__init__.py,,\ndemo-1.0.dist-info/METADATA,,\n")
    return Package(name="demo", version="1.0", use="pretrain", licence="MIT", sha256="0" * 64)


def test_a_wheel_becomes_a_repository(tmp_path):
    package = _wheel(tmp_path, "MIT")
    (repository,) = repositories([package], tmp_path, tmp_path / "unpacked")
    assert (repository.id, repository.revision, repository.licence) == ("demo", "1.0", "MIT")
    assert [file.path for file in repository.files] == ["demo/__init__.py"]


def test_a_wheel_with_another_licence_than_the_manifests_is_refused(tmp_path):
    package = _wheel(tmp_path, "GPL-3.0-only")
    with pytest.raises(UserError, match="demo==1.0"):
        repositories([package], tmp_path, tmp_path / "unpacked")


def test_an_unknown_step_is_a_users_mistake(capsys):
    assert main(["bake", "recipe.yaml"]) == 2
    assert "prepare" in capsys.readouterr().err


def test_data_of_another_run_are_never_made_anew(tmp_path, capsys):
    recipe = str(ROOT / "recipes/pocket/longer.yaml")
    assert main(["prepare", recipe, f"out={tmp_path}/out", f"data={tmp_path}/data"]) == 2
    assert main(["all", recipe, f"out={tmp_path}/out", f"data={tmp_path}/data"]) == 2
    assert not (tmp_path / "data").exists()
    assert "another run's" in capsys.readouterr().err


def test_training_without_a_token_file_says_what_to_run(tmp_path, capsys):
    assert main(["train", str(ROOT / "recipes/pocket/pretrain.yaml"), f"out={tmp_path}"]) == 2
    assert "prepare" in capsys.readouterr().err
