"""The release's own format: a repository per line, broken ones refused one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repoformer.code.collect import collect
from repoformer.code.filters import Requirements
from repoformer.code.sources.repository_lines import line_candidates
from repoformer.errors import UserError

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)
FILES = [
    {"filepath": "pkg/a.py", "content": "x = 1\n"},
    {"filepath": "owner/one/pkg/b.py", "content": "y = 2\n"},
    {"filepath": "bad.py", "content": "\ud800"},
    {"filepath": "none.py", "content": None},
    {"filepath": "README.md", "content": "text"},
]


def test_a_line_is_a_repository(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    rows = [{"repo_name": "owner/one", "files": FILES}, {"files": FILES, "license": "MIT", "repo_name": "two"}]
    file.write_text("\n\n".join(map(json.dumps, rows)))
    one, two = line_candidates(file, granted="LicenseRef-own")
    found = collect(one, [], ANYTHING)
    assert found.repository is not None
    assert [(each.path, each.text) for each in found.repository.files] == [
        ("pkg/a.py", "x = 1\n"),
        ("pkg/b.py", "y = 2\n"),
    ]
    assert found.dropped == {"not UTF-8": 1, "no text": 1}
    assert (one.id, two.id) == ("owner/one", "two")
    first, second = line_candidates(file)
    assert collect(first, ["MIT"], ANYTHING).refused == "no known licence"
    assert collect(second, ["MIT"], ANYTHING).repository is not None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"repo_name": "r", "files": [', "its line is no JSON"),
        ("[1, 2]", "its line is no JSON object but list"),
        ("null", "its line is no JSON object but NoneType"),
        ('{"files": []}', "its row has no repo_name or no files"),
        ('{"repo_name": "r"}', "its row has no repo_name or no files"),
        ('{"repo_name": "r", "files": {"a.py": "x"}, "license": "MIT"}', "its files are no list of objects"),
        ("[" * 200_000, "its line is no JSON"),
        ("\udcff", "its line is no JSON"),
    ],
)
def test_a_broken_line_is_refused_and_the_rest_read(tmp_path: Path, line: str, reason: str) -> None:
    good = json.dumps({"repo_name": "good", "license": "MIT", "files": FILES[:1]})
    (tmp_path / "a.jsonl").write_text(f"{line}\n{good}\n", errors="surrogateescape")
    bad, last = (collect(each, ["MIT"], ANYTHING) for each in line_candidates(tmp_path))
    assert bad.refused.startswith(reason)
    assert last.repository is not None


def test_a_truncated_file_loses_its_last_line_only(tmp_path: Path) -> None:
    line = json.dumps({"repo_name": "good", "license": "MIT", "files": FILES[:1]})
    (tmp_path / "a.jsonl").write_text(f"{line}\n{line[:-20]}")
    good, cut_off = (collect(each, ["MIT"], ANYTHING) for each in line_candidates(tmp_path))
    assert good.repository is not None
    assert cut_off.refused.startswith("its line is no JSON")


def test_a_place_without_lines_is_the_users_to_hear(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="one repository stands on each line"):
        line_candidates(tmp_path)
