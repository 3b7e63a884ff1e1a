"""Source distributions by name, from a folder; pip fetches only what is asked for and lacking."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.collect import collect
from repoformer.code.filters import Requirements
from repoformer.code.sources import sdists
from repoformer.code.sources.sdists import sdist_candidates
from repoformer.errors import UserError

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)


def write_sdist(folder: Path, name: str, version: str, licence: str = "MIT") -> None:
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: {licence}\n",
        f"src/{name}/a.py": f"version = '{version}'\n",
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    folder.mkdir(exist_ok=True)
    (folder / f"{name}-{version}.tar.gz").write_bytes(gzip.compress(buffer.getvalue()))


def test_the_newest_that_is_allowed_is_taken(tmp_path: Path) -> None:
    for version in ("1.2", "1.10", "2.0"):
        write_sdist(tmp_path, "one_two", version)
    (newest,) = sdist_candidates(tmp_path, ["One-Two"])
    (pinned,) = sdist_candidates(tmp_path, ["one.two<2"])
    assert [(each.id, each.revision) for each in (newest, pinned)] == [("one-two", "2.0"), ("one-two", "1.10")]


def test_a_distribution_is_a_repository_with_the_licence_of_its_metadata(tmp_path: Path) -> None:
    write_sdist(tmp_path, "one", "1.0")
    write_sdist(tmp_path, "two", "1.0", "GPL-3.0-only")
    (tmp_path / "notes.zip").write_bytes(b"")
    one, two = (collect(each, ["MIT"], ANYTHING) for each in sdist_candidates(tmp_path))
    assert one.repository is not None
    assert [(file.path, file.text) for file in one.repository.files] == [("src/one/a.py", "version = '1.0'\n")]
    assert two.refused == "licence GPL-3.0-only is not allowed"


def test_nothing_is_fetched_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("nothing may be run"))
    with pytest.raises(UserError, match=r"no source distribution of one.*download: true"):
        sdist_candidates(tmp_path, ["one"])
    write_sdist(tmp_path, "one", "1.0")
    assert len(sdist_candidates(tmp_path, ["one"], download=True)) == 1


def test_pip_fetches_what_is_lacking_without_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command[1:])
        write_sdist(tmp_path, "two", "3.0")
        return subprocess.CompletedProcess(command, 0, "", "")

    write_sdist(tmp_path, "one", "1.0")
    monkeypatch.setattr(sdists.subprocess, "run", pip)
    assert [each.id for each in sdist_candidates(tmp_path, ["one", "two>2"], download=True)] == ["one", "two"]
    (command,) = commands
    assert {"download", "--no-deps", "--no-binary", ":all:", "two>2"} <= set(command)
    assert "one" not in command
    assert "--disable-pip-version-check" in command, "else that notice may be the last that pip says"


def test_pips_own_words_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: slow\nERROR: No matching distribution found for one\n")
    monkeypatch.setattr(sdists.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(UserError, match="No matching distribution found for one"):
        sdist_candidates(tmp_path, ["one"], download=True)


@pytest.mark.parametrize("name", ["one two", "", "--index-url=x", "a @ file:///tmp/a.tar.gz"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="sources: "):
        sdist_candidates(tmp_path, [name], download=True)
