"""What of a folder serving retrieves from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from repoformer.inference.insertion_point import InsertionPoint
from repoformer.inference.working_tree import WorkingTree
from repoformer.models.settings import ModelSettings

CODE = "def add(first, second):\n    return first + second\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "here.py").write_text("first = 1\nsecond = 2\nprint(first + second)\n")
    (tmp_path / "there.py").write_text(CODE)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "generated.py").write_text(CODE.replace("add", "plus"))
    return tmp_path


def retrieved(folder: Path) -> set[str]:
    blank = InsertionPoint.parse("here.py:3").blank(folder)
    return {ranked.chunk.path for ranked in WorkingTree(folder).retrieve(blank).chunks}


def test_outside_of_a_checkout_all_source_files_are_read(folder: Path) -> None:
    assert retrieved(folder) == {"there.py", "build/generated.py"}


def test_what_git_ignores_is_not_read(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / ".gitignore").write_text("build/\n")
    assert retrieved(folder) == {"there.py"}, "files need not be committed"


def test_without_git_all_source_files_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / ".gitignore").write_text("build/\n")
    monkeypatch.setenv("PATH", "")
    assert retrieved(folder) == {"there.py", "build/generated.py"}


def test_a_checkout_cannot_make_git_run_a_program(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    program.chmod(0o755)
    subprocess.run(["git", "-C", str(folder), "config", "core.fsmonitor", str(program)], check=True)
    assert "there.py" in retrieved(folder)
    assert not (folder / "ran").exists()


def test_files_that_cannot_be_read_are_left_out(folder: Path) -> None:
    (folder / "latin.py").write_bytes(b"first = second = '\xe9'\n")
    (folder / "huge.py").write_text("first + second\n" * 100_000)
    assert retrieved(folder) == {"there.py", "build/generated.py"}


def test_context_is_found_as_for_the_labels_that_the_model_was_trained_on(folder: Path) -> None:
    options = {"window": 7, "stride": 3, "neighbour": "same", "query_lines": 5, "scorer": "bm25"}
    made = {"top": 3, "function_window": 9, "query_holds_target": 0.5}
    retrieval = ModelSettings(labels={"retrieve": options | made}).retrieval
    assert retrieval == options
    blank = InsertionPoint.parse("here.py:3").blank(folder)
    assert WorkingTree(folder, retrieval).retrieve(blank).strategy == "next-chunk(bm25, 7/3, same, query 5)"
    assert WorkingTree(folder, ModelSettings().retrieval).retrieve(blank).strategy == (
        "next-chunk(jaccard, 20/10, next, query 20)"
    )
