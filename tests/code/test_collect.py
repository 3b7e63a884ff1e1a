"""Folders and distributions become repositories, or are refused with a reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from repoformer.code.collect import Collected, collect, fingerprint
from repoformer.code.filters import Requirements
from repoformer.code.sources import FolderCandidate, folder_candidates, installed_candidates
from repoformer.errors import UserError

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy ... The above copyright notice and this permission notice shall be included"  # noqa: E501


def folder(root: Path, files: dict[str, str]) -> FolderCandidate:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return FolderCandidate(root.name, root)


def licence(collected: Collected) -> str | None:
    return collected.repository.licence if collected.repository else None


@pytest.mark.parametrize(
    "files",
    [
        {"LICENSE": MIT},
        {"Licence.txt": MIT},
        {"COPYING.md": MIT},
        {"pyproject.toml": '[project]\nlicense = "MIT"\n'},
        {"pyproject.toml": '[project]\nlicense = {text = "MIT License"}\n'},
        {"pyproject.toml": '[project]\nclassifiers = ["License :: OSI Approved :: MIT License"]\n'},
        {"pyproject.toml": '[tool.poetry]\nlicense = "MIT"\n'},
        {"pyproject.toml": "broken [\n", "LICENSE": MIT},
    ],
)
def test_a_folder_says_its_licence_in_many_places(tmp_path: Path, files: dict[str, str]) -> None:
    assert licence(collect(folder(tmp_path, files | {"a.py": "x = 1\n"}), ["MIT"], ANYTHING)) == "MIT"


@pytest.mark.parametrize("files", [{}, {"LICENSE": "All rights reserved."}, {"licenses.py": MIT}, {"doc/LICENSE": MIT}])
def test_a_folder_of_unknown_licence_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    collected = collect(folder(tmp_path, files | {"a.py": "x = 1\n"}), ["MIT"], ANYTHING)
    assert collected.repository is None
    assert "licence" in collected.refused


def test_whoever_owns_the_code_may_name_its_licence(tmp_path: Path) -> None:
    folder(tmp_path / "own", {"a.py": "x = 1\n"})
    (candidate,) = folder_candidates(tmp_path, granted="LicenseRef-own")
    assert licence(collect(candidate, [], ANYTHING)) == "LicenseRef-own"


def test_a_licence_that_is_not_allowed_is_named(tmp_path: Path) -> None:
    candidate = folder(tmp_path, {"pyproject.toml": '[project]\nlicense = "GPL-3.0-only"\n', "a.py": "x = 1\n"})
    assert collect(candidate, ["MIT"], ANYTHING).refused == "licence GPL-3.0-only is not allowed"


def test_an_empty_repository_and_one_of_one_file_are_refused_in_a_line(tmp_path: Path) -> None:
    empty = collect(folder(tmp_path / "empty", {"LICENSE": MIT}), ["MIT"], Requirements())
    single = collect(folder(tmp_path / "single", {"LICENSE": MIT, "a.py": "x = 1\n"}), ["MIT"], Requirements())
    assert empty.refused == "0 usable files, at least 5 are needed"
    assert single.refused == "1 usable files, at least 5 are needed"


def test_too_many_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    candidate = folder(tmp_path, {"LICENSE": MIT} | {f"{name}.py": "x = 1\n" for name in "abc"})
    assert collect(candidate, ["MIT"], Requirements(max_files=2)).refused == "3 files, at most 2 are wanted"


def test_unwanted_and_unusable_files_are_counted_by_reason(tmp_path: Path) -> None:
    candidate = folder(tmp_path, {"LICENSE": MIT, "a.py": "x = 1\n", "b.pyi": "y: int\n", "vendor/c.py": "z = 1\n"})
    (tmp_path / "d.py").write_bytes(b"\xff")
    collected = collect(candidate, ["MIT"], ANYTHING)
    assert collected.repository is not None
    assert [file.path for file in collected.repository.files] == ["a.py"]
    assert collected.dropped == {"stub": 1, "vendored": 1, "not UTF-8": 1}


def test_imports_of_files_that_were_set_aside_are_local(tmp_path: Path) -> None:
    files = {"LICENSE": MIT, "pkg/__init__.py": "", "pkg/a.py": "import pkg.vendor.b\n", "pkg/vendor/b.py": "x = 1\n"}
    requirements = Requirements(files=1, imports_per_file=1, local_imports_per_file=1)
    assert collect(folder(tmp_path, files), ["MIT"], requirements).repository is not None


def test_each_folder_is_a_repository_or_the_directory_is_one(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        folder(tmp_path / name, {"a.py": "x = 1\n"})
    assert [candidate.id for candidate in folder_candidates(tmp_path)] == ["a", "b"]
    assert [candidate.id for candidate in folder_candidates(tmp_path, each=False)] == [tmp_path.name]


def test_a_source_that_is_not_there_is_the_users_to_hear(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        folder_candidates(tmp_path / "nowhere")
    with pytest.raises(UserError, match="each: false"):
        folder_candidates(tmp_path)
    with pytest.raises(UserError, match="'no-such-thing' is not installed"):
        installed_candidates(["no-such-thing"])


def test_the_revision_of_a_checkout_is_its_commit(tmp_path: Path) -> None:
    candidate = folder(tmp_path, {"a.py": "x = 1\n"})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert candidate.revision == ""
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert candidate.revision == head.stdout.strip()


def test_the_fingerprint_changes_with_a_file_and_with_the_licence_only(tmp_path: Path) -> None:
    candidate = folder(tmp_path, {"a.py": "x = 1\n"})
    before = fingerprint(candidate)
    (tmp_path / "notes.txt").write_text("nothing")
    assert fingerprint(candidate) == before
    (tmp_path / "a.py").write_text("x = 12\n")
    changed = fingerprint(candidate)
    assert changed != before
    (tmp_path / "LICENSE").write_text(MIT)
    assert fingerprint(candidate) not in (before, changed)


def distribution(site: Path, name: str, metadata: str, files: dict[str, str]) -> None:
    info = f"{name}-1.0.dist-info"
    everything = files | {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}"}
    for path, text in everything.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    record = "".join(f"{path},,\n" for path in (*everything, f"{info}/RECORD", "../../bin/tool.py"))
    (site / info / "RECORD").write_text(record)


def test_a_distribution_is_a_repository_of_the_files_it_installed(tmp_path: Path) -> None:
    distribution(tmp_path, "One", "License: MIT\n", {"one/a.py": "x = 1\n", "one/data.txt": "no code"})
    distribution(tmp_path, "two", "License-Expression: GPL-3.0-only\n", {"two/b.py": "x = 1\n"})
    (tmp_path / "stray.py").write_text("x = 1\n")
    one, two = (collect(each, ["MIT"], ANYTHING) for each in installed_candidates(site_packages=[str(tmp_path)]))
    assert one.repository is not None
    assert (one.repository.id, one.repository.revision, one.repository.licence) == ("one", "1.0", "MIT")
    assert [file.path for file in one.repository.files] == ["one/a.py"]
    assert two.refused == "licence GPL-3.0-only is not allowed"


def test_distributions_are_included_and_excluded_by_name(tmp_path: Path) -> None:
    for name in ("a", "B.c", "d"):
        distribution(tmp_path, name, "", {f"{name}.py": "x = 1\n"})
    site = [str(tmp_path)]
    assert [each.id for each in installed_candidates(exclude=["b_c"], site_packages=site)] == ["a", "d"]
    assert [each.id for each in installed_candidates(include=["b-c"], site_packages=site)] == ["b-c"]


def test_real_distributions_pass_the_papers_filter() -> None:
    (candidate,) = installed_candidates(["pytest"])
    collected = collect(candidate, ["MIT"], Requirements())
    assert collected.repository is not None
    assert len(collected.repository.files) > 20
