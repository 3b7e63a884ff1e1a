"""Which blanks are evaluated on, and in which order."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Blank, Kind
from repoformer.code.storage import write_json, write_parquet
from repoformer.errors import UserError
from repoformer.eval.blanks import balanced_order, held_out_blanks, repositories


def blank(repository: str, number: int, kind: Kind = "chunk") -> Blank:
    identity = f"{kind}:{repository}:{number}"
    return Blank(identity, repository, "", "MIT", "a.py", "python", kind, number, number + 1, "", "", "x")


@st.composite
def some_blanks(draw: st.DrawFn) -> list[Blank]:
    sizes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=5))
    return [
        blank(f"r{place}", number, kind)
        for place, counts in enumerate(sizes)
        for kind, count in zip(("chunk", "function"), counts, strict=True)
        for number in range(count)
    ]


@given(some_blanks(), st.integers(0, 3))
def test_every_beginning_is_balanced_over_repositories(blanks: list[Blank], seed: int) -> None:
    available = Counter(one.repository for one in blanks)
    order = balanced_order(blanks, seed)
    for length in range(len(order) + 1):
        taken = Counter(one.repository for one in order[:length])
        most = max(taken.values(), default=0)
        assert all(taken[name] >= min(most - 1, count) for name, count in available.items())


@given(some_blanks(), st.integers(0, 3))
def test_within_a_repository_kinds_take_turns(blanks: list[Blank], seed: int) -> None:
    order = balanced_order(blanks, seed)
    for name in {one.repository for one in blanks}:
        available = Counter(one.kind for one in blanks if one.repository == name)
        mine = [one.kind for one in order if one.repository == name]
        for length in range(len(mine) + 1):
            taken = Counter(mine[:length])
            assert all(taken[kind] >= min(max(taken.values()) - 1, count) for kind, count in available.items() if taken)


@given(some_blanks(), st.randoms())
def test_the_order_is_that_of_the_seed_and_not_of_the_files(blanks: list[Blank], random: object) -> None:
    shuffled = list(blanks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert balanced_order(shuffled, 7) == balanced_order(blanks, 7)
    assert sorted(one.id for one in balanced_order(blanks, 7)) == sorted(one.id for one in blanks)


def test_another_seed_draws_other_blanks() -> None:
    blanks = [blank("r", number) for number in range(50)]
    assert balanced_order(blanks, 0)[:10] != balanced_order(blanks, 1)[:10]


def run_folder(tmp_path: Path, split: object, blanks: list[Blank]) -> Path:
    write_json(tmp_path / "split.json", split)
    write_parquet(tmp_path / "sample" / "part-00000-of-00001.parquet", blanks)
    write_json(tmp_path / "sample" / "part-00000-of-00001.done.json", {})
    return tmp_path


def test_a_repository_on_both_sides_of_the_split_is_refused(tmp_path: Path) -> None:
    split = {"train": ["a", "b"], "validation": [], "test": ["b"]}
    with pytest.raises(UserError, match="b is in test and in training too"):
        held_out_blanks(run_folder(tmp_path, split, [blank("b", 0)]), 0)


@pytest.mark.parametrize("split", [[], {"train": []}, {"train": [], "validation": [], "test": "b"}])
def test_a_file_that_is_no_split_is_named(tmp_path: Path, split: object) -> None:
    with pytest.raises(UserError, match=r"split\.json: expected lists"):
        held_out_blanks(run_folder(tmp_path, split, [blank("b", 0)]), 0)


def test_a_split_without_test_repositories_says_what_to_raise(tmp_path: Path) -> None:
    split = {"train": ["a"], "validation": [], "test": []}
    with pytest.raises(UserError, match=r"raise split\.test"):
        held_out_blanks(run_folder(tmp_path, split, [blank("a", 0)]), 0)


def test_no_blank_in_any_test_repository_is_said(tmp_path: Path) -> None:
    split = {"train": ["a"], "validation": [], "test": ["b", "c"]}
    with pytest.raises(UserError, match="no blank of the 2 test repositories"):
        held_out_blanks(run_folder(tmp_path, split, [blank("a", 0)]), 0)


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    split = {"train": [], "validation": [], "test": ["a"]}
    with pytest.raises(UserError, match="2 blanks have the id chunk:a:0"):
        held_out_blanks(run_folder(tmp_path, split, [blank("a", 0), blank("a", 0)]), 0)


def test_a_data_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere/split\.json: no such file"):
        held_out_blanks(tmp_path / "nowhere", 0)


@pytest.mark.parametrize("lost", ["part-00001-of-00002.parquet", "part-00000-of-00002.done.json"])
def test_a_stage_that_is_not_finished_is_refused(data: Path, tmp_path: Path, lost: str) -> None:
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / "sample" / lost).unlink()
    with pytest.raises(UserError, match="sample: 1 of 2 shards are finished"):
        held_out_blanks(tmp_path / "data", 0)


def test_blanks_of_a_repository_that_was_not_collected_are_refused(data: Path) -> None:
    with pytest.raises(UserError, match="blanks of gone, but not the repository"):
        list(repositories(data, {"repo0", "gone"}))


def test_only_the_wanted_repositories_are_read(data: Path) -> None:
    assert {one.id for one in repositories(data, {"repo1", "repo2"})} == {"repo1", "repo2"}
