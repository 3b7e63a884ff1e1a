"""Git repositories are read at a revision, from the object store: no checkout, no link, no fetch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from repoformer.code.collect import collect, fingerprint
from repoformer.code.filters import Requirements
from repoformer.code.sources.git import GitCandidate, git_candidates
from repoformer.errors import UserError

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)


def git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Two commits, the second tagged, and a file that is not committed."""
    place = tmp_path / "clones" / "owner.repository"
    (place / "pkg").mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    (place / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
    (place / "pkg" / "a.py").write_text("x = 1\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    (place / "pkg" / "é b.py").write_text("y = 2\n")
    (place / "pkg" / "link.py").symlink_to("/etc/passwd")
    (place / "pkg" / "large.py").write_text("z = 3\n" * 200_000)
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "two")
    git(place, "tag", "v2")
    (place / "pkg" / "new.py").write_text("w = 4\n")
    return place


def texts(candidate: GitCandidate) -> dict[str, str]:
    found = collect(candidate, ["MIT"], ANYTHING)
    assert found.repository is not None, found.refused
    return {file.path: file.text for file in found.repository.files}


def test_what_is_committed_is_read_and_nothing_else(clone: Path) -> None:
    (candidate,) = git_candidates(clone.parent)
    found = collect(candidate, ["MIT"], ANYTHING)
    assert texts(candidate) == {"pkg/a.py": "x = 1\n", "pkg/é b.py": "y = 2\n"}
    assert found.dropped == {"link": 1, "larger than 1000000 bytes": 1}
    assert found.repository is not None
    assert (found.id, found.repository.revision) == ("owner.repository", git(clone, "rev-parse", "HEAD"))


def test_any_revision_can_be_read(clone: Path) -> None:
    (candidate,) = git_candidates(clone, each=False, revision="v2~1")
    assert texts(candidate) == {"pkg/a.py": "x = 1\n"}
    assert candidate.revision == git(clone, "rev-parse", "v2~1")


def test_a_bare_repository_is_read_too(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(clone), str(tmp_path / "bare" / "one.git"))
    (candidate,) = git_candidates(tmp_path / "bare")
    assert candidate.id == "one"
    assert set(texts(candidate)) == {"pkg/a.py", "pkg/é b.py"}


@pytest.mark.parametrize("revision", ["no-such-tag", "--upload-pack=touch", "HEAD^{tree}", ""])
def test_a_revision_that_is_not_there_is_refused_in_a_line(clone: Path, revision: str) -> None:
    (candidate,) = git_candidates(clone, each=False, revision=revision)
    refused = collect(candidate, ["MIT"], ANYTHING).refused
    assert refused.startswith("no revision")
    assert "\n" not in refused


def test_an_empty_repository_and_one_with_lost_objects_are_refused(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "empty"))
    (empty,) = git_candidates(tmp_path / "empty", each=False)
    assert collect(empty, ["MIT"], ANYTHING).refused.startswith("no revision HEAD")
    lost = git(clone, "rev-parse", "HEAD:pkg/a.py")
    (clone / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    (candidate,) = git_candidates(clone, each=False)
    assert collect(candidate, ["MIT"], ANYTHING).refused.startswith("git: ")


def test_the_fingerprint_is_that_of_the_commit(clone: Path) -> None:
    (candidate,) = git_candidates(clone, each=False)
    before = fingerprint(candidate)
    (clone / "pkg" / "a.py").write_text("changed = 1\n")
    assert fingerprint(candidate) == before
    git(clone, "commit", "-q", "-a", "-m", "three")
    assert fingerprint(candidate) != before


def test_a_folder_without_repositories_is_the_users_to_hear(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no git repository"):
        git_candidates(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        git_candidates(tmp_path / "nowhere")
