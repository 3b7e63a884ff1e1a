"""A manifest's wheels as repositories: the ones that it names, with its hashes, and nothing else."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from repoformer.code.collect import collect
from repoformer.code.filters import Requirements
from repoformer.code.sources.manifest import Package, fetch, manifest_candidates
from repoformer.errors import UserError

ANY = Requirements(files=1, imports_per_file=0.0, local_imports_per_file=0.0)


def wheel(folder: Path, name: str = "demo", licence: str = "MIT") -> Package:
    """A wheel of one module in ``folder``, and its entry in a manifest."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "VALUE = 1\n")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", metadata)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Package(name=name, version="1.0", use="label", licence=licence, sha256=digest)


def test_a_wheel_becomes_a_repository_under_its_own_licence(tmp_path: Path) -> None:
    (candidate,) = manifest_candidates([wheel(tmp_path)], tmp_path)
    repository = collect(candidate, ["MIT"], ANY).repository
    assert repository is not None
    assert (repository.id, repository.revision, repository.licence) == ("demo", "1.0", "MIT")


def test_only_what_is_asked_for_is_taken_from_the_folder(tmp_path: Path) -> None:
    wanted, _ = wheel(tmp_path), wheel(tmp_path, "other")
    assert [candidate.id for candidate in manifest_candidates([wanted], tmp_path)] == ["demo"]


def test_a_missing_wheel_is_named(tmp_path: Path) -> None:
    package = wheel(tmp_path)
    (tmp_path / "demo-1.0-py3-none-any.whl").unlink()
    with pytest.raises(UserError, match="no wheel of demo==1.0"):
        manifest_candidates([package], tmp_path)


def test_a_wheel_of_another_hash_is_refused(tmp_path: Path) -> None:
    package = wheel(tmp_path)
    wheel(tmp_path, licence="GPL-3.0-only")
    with pytest.raises(UserError, match="the manifest says"):
        manifest_candidates([package], tmp_path)


def test_a_failed_download_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    package = Package(name="no-such", version="1.0", use="label", licence="MIT", sha256="0" * 64)
    with pytest.raises(UserError, match="no-such==1.0: pip cannot download it"):
        fetch([package], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_that_lies_there_is_held_against_the_manifest(tmp_path: Path) -> None:
    lying = tmp_path / "some-1.0-py3-none-any.whl"
    lying.write_bytes(b"a wheel")
    values = {"name": "some", "version": "1.0", "licence": "MIT", "use": "pretrain"}
    right = Package(**values, sha256=hashlib.sha256(b"a wheel").hexdigest())
    fetch([right], tmp_path)
    lying.write_bytes(b"another")
    with pytest.raises(UserError, match="the manifest says"):
        fetch([right], tmp_path)
