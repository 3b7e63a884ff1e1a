"""Rows that are files, in whatever order, are grouped into repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from repoformer.code.collect import Collected, collect
from repoformer.code.filters import Requirements
from repoformer.code.sources.file_rows import row_candidates
from repoformer.errors import UserError

datasets = pytest.importorskip("datasets")

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)
STACK_V1 = ("max_stars_repo_name", "max_stars_repo_path", "content", "max_stars_repo_licenses")
STACK_V2 = ("repo_name", "path", "content", "detected_licenses")
ROWS: list[tuple[str | None, str, str | None, list[str]]] = [
    ("b/two", "x.py", "x = 1\n", ["MIT"]),
    ("a/one", "pkg/b.py", "b = 1\r\n", ["MIT"]),
    ("b/two", "y.py", "y = 1\n", ["MIT", "GPL-3.0-only"]),
    ("a/one", "pkg/a.py", "a = 1\n", ["MIT"]),
    ("a/one", "pkg/a.py", "again = 1\n", ["MIT"]),
    ("a/one", "README.md", "text", ["MIT"]),
    ("a/one", "nul.py", "x = 1\0\n", ["MIT"]),
    ("a/one", "line.py", "x" * 2_000_000, ["MIT"]),
    ("a/one", "none.py", None, ["MIT"]),
    ("c/three", "z.py", "z = 1\n", []),
    (None, "lost.py", "lost = 1\n", ["MIT"]),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def table(names: tuple[str, ...]) -> Any:
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(names)}
    revision = {"max_stars_repo_head_hexsha" if names == STACK_V1 else "revision_id": ["abc"] * len(ROWS)}
    return datasets.Dataset.from_dict(columns | revision)


def collected(**arguments: Any) -> dict[str, Collected]:
    return {each.id: collect(each, ["MIT"], ANYTHING) for each in row_candidates(**arguments)}


@pytest.mark.parametrize("names", [STACK_V1, STACK_V2])
@pytest.mark.parametrize("form", ["parquet", "jsonl", "saved"])
def test_rows_become_repositories(tmp_path: Path, names: tuple[str, ...], form: str) -> None:
    place = tmp_path / "data"
    place.mkdir()
    if form == "parquet":
        table(names).to_parquet(place / "train-00000.parquet")
    elif form == "jsonl":
        table(names).to_json(place / "train.jsonl")
    else:
        table(names).save_to_disk(place)
    found = collected(name=str(place))
    one = found.pop("a/one")
    assert one.repository is not None
    assert one.repository.revision == "abc"
    assert {file.path: file.text for file in one.repository.files} == {"pkg/a.py": "a = 1\n", "pkg/b.py": "b = 1\n"}
    assert one.dropped == {
        "path stands twice": 1,
        "holds NUL bytes": 1,
        "larger than 1000000 bytes": 1,
        "no text": 1,
    }
    assert {name: each.refused for name, each in found.items()} == {
        "b/two": "licence MIT AND GPL-3.0-only is not allowed",
        "c/three": "no known licence",
    }


def test_columns_of_ones_own_are_named(tmp_path: Path) -> None:
    rows = {"repo": ["r"], "file": ["a.py"], "code": ["x = 1\n"], "licence": ["MIT"]}
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(UserError, match="name them in columns"):
        row_candidates(str(tmp_path / "rows.parquet"))
    columns = {"repository": "repo", "path": "file", "text": "code", "licences": "licence"}
    found = collected(name=str(tmp_path / "rows.parquet"), columns=columns)
    assert found["r"].repository is not None
    with pytest.raises(UserError, match="no column 'path'"):
        row_candidates(str(tmp_path / "rows.parquet"), columns={"repository": "repo", "path": "path", "text": "code"})


def test_ids_without_contents_are_explained(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"repo_name": ["r"], "path": ["a.py"], "blob_id": ["0"]}).to_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(UserError, match=r"no column 'content'.*ids only"):
        row_candidates(str(tmp_path))


def test_nothing_is_fetched_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="download: true"):
        row_candidates("owner/no-such-data-set")
    with pytest.raises(UserError, match=r"no .parquet or .jsonl file"):
        row_candidates(str(tmp_path))


def test_a_broken_file_is_the_users_to_hear(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(UserError, match="not readable as a data set"):
        row_candidates(str(tmp_path))
