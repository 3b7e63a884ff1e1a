"""A benchmark of one's own, from folders to an evaluation's source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from repoformer.errors import UserError
from repoformer.eval.blanks import held_out_blanks, repositories
from repoformer.eval.build import build


@pytest.fixture
def repos(tmp_path: Path, python_sources: list[str]) -> Path:
    """Two repositories of two files, one of a single file, and a copy of the first under another name."""
    root = tmp_path / "repos"
    for name, sources in {
        "one": python_sources[:2],
        "two": python_sources[2:4],
        "single": python_sources[4:5],
        "fork-of-one": [f"{source}\nextra = 1\n" for source in python_sources[:2]],
    }.items():
        (root / name).mkdir(parents=True)
        for number, text in enumerate(sources):
            (root / name / f"module{number}.py").write_text(text, encoding="utf-8")
    return root


def test_a_benchmark_holds_blanks_of_each_kind_from_each_repository(repos: Path, tmp_path: Path) -> None:
    built = build(repos, tmp_path / "out", each=4, seed=0)
    blanks = held_out_blanks(tmp_path / "out", seed=0)
    assert Counter(blank.kind for blank in blanks) == built.kinds
    assert set(built.kinds) == {"chunk", "function", "line"}
    assert max(Counter((blank.repository, blank.kind) for blank in blanks).values()) == 4
    assert {one.id for one in repositories(tmp_path / "out", built.repositories)} == set(built.repositories)


def test_a_fork_and_a_single_file_are_refused_with_the_reason(repos: Path, tmp_path: Path) -> None:
    built = build(repos, tmp_path / "out", each=2, seed=0)
    assert sorted(built.repositories) == ["fork-of-one", "two"]
    assert built.refused == {
        "one": "2 of its 2 files are copies of another's",
        "single": "1 usable files, context needs 2",
    }


def test_the_same_folders_and_seed_give_the_same_bytes(repos: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(repos, tmp_path / name, each=3, seed=7)
    for stage in ("collect", "sample"):
        first, second = (next((tmp_path / name / stage).glob("*.parquet")).read_bytes() for name in ("a", "b"))
        assert first == second


def test_blanks_in_files_that_were_trained_on_are_left_out(repos: Path, tmp_path: Path) -> None:
    """The earlier benchmark stands in for a data run that trained on all of its repositories."""
    build(repos, tmp_path / "run", each=2, seed=0)
    split = (tmp_path / "run" / "split.json").read_text()
    (tmp_path / "run" / "split.json").write_text(
        split.replace('"train"', '"spare"').replace('"test"', '"train"').replace('"spare"', '"test"')
    )
    with pytest.raises(UserError, match="no blank can be drawn"):
        build(repos, tmp_path / "out", each=2, seed=0, against=[tmp_path / "run"])


def test_no_usable_repository_is_said(tmp_path: Path) -> None:
    (tmp_path / "repos" / "empty").mkdir(parents=True)
    with pytest.raises(UserError, match="no repository can be used"):
        build(tmp_path / "repos", tmp_path / "out", each=2, seed=0)
