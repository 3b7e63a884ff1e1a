"""Whatever stands in the sources: one clear line for what cannot be used, and the rest is collected."""

from __future__ import annotations

import errno
import gzip
import io
import json
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Repository
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline import collect, runner
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.split import write_split
from repoformer.data_pipeline.workers import Workers

from .conftest import write_repository

RecipeFor = Callable[..., DataRecipe]
ANYTHING = {"files": 1, "imports_per_file": 0, "local_imports_per_file": 0}
MIT = '[project]\nlicense = "MIT"\n'


def run_collect(recipe: DataRecipe, workers: int = 1) -> tuple[set[str], dict[str, str], dict[str, int]]:
    """Names of the repositories, the refused ones with their reasons, and the files set aside."""
    with Workers(workers) as processes:
        runner.run_stage(collect.STAGE, recipe, processes)
    out = Path(recipe.out)
    done = [json.loads(path.read_text()) for path in sorted((out / "collect").glob("*.done.json"))]
    assert len(done) == recipe.shards
    dropped: dict[str, int] = {}
    for each in done:
        for reason, count in each["dropped"].items():
            dropped[reason] = dropped.get(reason, 0) + count
    refused = {name: reason for each in done for name, reason in each["refused"]}
    return {each.id for each in read_parquet(Repository, out / "collect")}, refused, dropped


def archive(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    """A zip or a tar.gz with a good repository's files and these."""
    good = {"pyproject.toml": MIT.encode(), "good.py": f"name = '{name}'\n".encode()}
    path = folder / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as opened:
            for member, data in (good | files).items():
                opened.writestr(member, data)
        return path
    with tarfile.open(path, "w:gz", compresslevel=1) as opened:
        for member, data in (good | files).items():
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    return path


def test_archives_that_cannot_be_used_are_refused_one_by_one(tmp_path: Path, recipe_for: RecipeFor) -> None:
    folder = tmp_path / "archives"
    folder.mkdir()
    archive(folder, "good.tar.gz", {})
    archive(folder, "outside.zip", {"../outside.py": b"x = 1\n"})
    archive(folder, "bomb.tar.gz", {"zero.bin": bytes(40_000_000)})
    archive(folder, "many.zip", {f"{number}.py": b"x = 1\n" for number in range(500)})
    truncated = archive(folder, "truncated.tar.gz", {"noise.bin": bytes(range(256)) * 500})
    truncated.write_bytes(truncated.read_bytes()[:700])
    (folder / "empty.zip").write_bytes(b"")
    source = {"kind": "archives", "path": str(folder), "max_entries": 400, "max_unpacked_bytes": 10_000_000}
    names, refused, dropped = run_collect(recipe_for(tmp_path / "out", sources=[source], filter=ANYTHING))
    assert names == {"good", "outside"}
    assert dropped == {"path out of the archive": 1}
    assert refused.pop("truncated").startswith("archive cannot be read to its end")
    assert refused.pop("empty").startswith("archive cannot be read to its end")
    assert refused == {
        "bomb": "unpacks to more than 10000000 bytes",
        "many": "more than 400 entries in the archive",
    }


def test_files_that_cannot_be_used_are_counted(tmp_path: Path, recipe_for: RecipeFor) -> None:
    root = tmp_path / "repositories" / "one"
    root.mkdir(parents=True)
    (root / "pyproject.toml").write_text(MIT)
    (root / "good.py").write_text("x = 1\n")
    (root / "line.py").write_text("x = '" + "y" * 50_000_000 + "'\n")
    (root / "long.py").write_text("x = '" + "y" * 500_000 + "'\n")
    (root / "latin.py").write_bytes(b"x = '\xe9'\n")
    (root / "utf16.py").write_bytes("x = 1\n".encode("utf-16"))
    (root / "nul.py").write_bytes(b"x = 1\n\0")
    (root / "link.py").symlink_to("/etc/hostname")
    source = {"kind": "folder", "path": str(root.parent)}
    names, _, dropped = run_collect(recipe_for(tmp_path / "out", sources=[source], filter=ANYTHING))
    assert names == {"one"}
    assert dropped == {
        "larger than 1000000 bytes": 1,
        "a line of more than 1000 characters": 1,
        "not UTF-8": 1,
        "UTF-16, not UTF-8": 1,
        "holds NUL bytes": 1,
        "link out of the repository": 1,
    }


def test_names_of_any_bytes_are_no_end(tmp_path: Path, recipe_for: RecipeFor) -> None:
    """Of files, repositories and licences, in sources that hold text only by convention."""
    root = tmp_path / "repositories" / "name-\udcff"
    root.mkdir(parents=True)
    (root / "pyproject.toml").write_text(MIT)
    for name in ("good.py", "bad-\udcff.py"):
        (root / name).write_text("x = 1\n")
    rows = [
        {"repo_name": "a\ud800", "license": "MIT", "files": [{"filepath": "\ud800.py", "content": "x = 1\n"}]},
        {"repo_name": "b", "license": "\ud800", "files": []},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sources = [{"kind": "folder", "path": str(root.parent)}, {"kind": "jsonl", "path": str(tmp_path / "rows.jsonl")}]
    names, refused, dropped = run_collect(recipe_for(tmp_path / "out", sources=sources, filter=ANYTHING))
    assert names == {"name-?"}
    assert refused == {"a?": "0 usable files, at least 1 are needed", "b": "unknown licence (?)"}
    assert dropped == {"name is not UTF-8": 2}


def test_a_hundred_thousand_files_are_refused_before_they_are_read(tmp_path: Path, recipe_for: RecipeFor) -> None:
    """In an archive, since to make them on the disk would take longer than to refuse them."""
    folder = tmp_path / "archives"
    folder.mkdir()
    with zipfile.ZipFile(folder / "many.zip", "w") as opened:
        for number in range(100_000):
            opened.writestr(zipfile.ZipInfo(f"f{number}.py"), b"")
    archive(folder, "good.zip", {})
    source = {"kind": "archives", "path": str(folder)}
    recipe = recipe_for(
        tmp_path / "out", sources=[source | {"licence": "MIT"}], filter=ANYTHING | {"max_files": 10_000}
    )
    names, refused, _ = run_collect(recipe)
    assert names == {"good"}
    assert refused == {"many": "100000 files, at most 10000 are wanted"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few pages."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a small disk takes root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_is_told_by_the_file_and_the_run_goes_on_when_there_is_room(
    small_disk: Path, tmp_path: Path, recipe_for: RecipeFor
) -> None:
    for name in ("ant", "bee", "cat", "dog"):
        write_repository(tmp_path / "repositories", name)
    recipe = recipe_for(small_disk / "out", sources=[{"kind": "folder", "path": str(tmp_path / "repositories")}])
    filler = small_disk / "filler"
    filler.write_bytes(bytes(80_000))
    with pytest.raises(OSError, match=r"No space left on device.*disk/out/") as caught:
        run_collect(recipe)
    assert caught.value.errno == errno.ENOSPC
    assert not list(small_disk.rglob("*.tmp"))
    filler.unlink()
    names, refused, _ = run_collect(recipe)
    assert (names, refused) == ({"ant", "bee", "cat", "dog"}, {})


def test_every_source_feeds_the_same_pipeline(
    tmp_path: Path, recipe_for: RecipeFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One recipe with a repository from each source; all land in the split."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    sources = mixed_sources(tmp_path)
    recipe = recipe_for(tmp_path / "out", sources=sources)
    names, refused, dropped = run_collect(recipe)
    assert names == {"in_folder", "in_tar", "in_git", "in-sdist", "owner/in_rows", "owner/in_lines"}
    assert (refused, dropped) == ({}, {})
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("part-*")}
    run_collect(recipe)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("part-*")}
    write_split(recipe)


def mixed_sources(root: Path) -> list[dict[str, Any]]:
    """A small repository in each of the forms that a source can have."""
    import datasets

    def files(name: str) -> dict[str, str]:
        write_repository(root / "made", name)
        base = root / "made" / name
        return {path.relative_to(base).as_posix(): path.read_text() for path in base.rglob("*") if path.is_file()}

    write_repository(root / "folders", "in_folder")
    (root / "archives").mkdir()
    for folder, name, version in (("archives", "in_tar", ""), ("sdists", "in_sdist", "-1.0")):
        (root / folder).mkdir(exist_ok=True)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as opened:
            for path, text in files(name).items():
                entry = tarfile.TarInfo(f"{name}{version}/{path}")
                entry.size = len(text.encode())
                opened.addfile(entry, io.BytesIO(text.encode()))
        (root / folder / f"{name}{version}.tar.gz").write_bytes(gzip.compress(buffer.getvalue()))
    write_repository(root / "clones", "in_git")
    git = ["git", "-C", str(root / "clones" / "in_git"), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    rows = [
        {"repo_name": "owner/in_rows", "path": path, "content": text, "detected_licenses": ["MIT"]}
        for path, text in files("in_rows").items()
    ]
    (root / "rows").mkdir()
    datasets.Dataset.from_list(rows).to_parquet(root / "rows" / "a.parquet")
    line = {
        "repo_name": "owner/in_lines",
        "license": "MIT",
        "files": [{"filepath": path, "content": text} for path, text in files("in_lines").items()],
    }
    (root / "lines.jsonl").write_text(json.dumps(line))
    return [
        {"kind": "folder", "path": str(root / "folders")},
        {"kind": "archives", "path": str(root / "archives")},
        {"kind": "git", "path": str(root / "clones")},
        {"kind": "sdists", "folder": str(root / "sdists"), "names": ["in-sdist"]},
        {"kind": "dataset", "name": str(root / "rows")},
        {"kind": "jsonl", "path": str(root / "lines.jsonl")},
    ]
