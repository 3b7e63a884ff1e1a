"""What a repository's tests need, installed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from repoformer.errors import UserError
from repoformer.eval.execute.environments import prepare
from repoformer.eval.execute.recipe import Installation, UnderTest
from repoformer.sandbox.sandbox import Job, Outcome, Sandbox


def described(source: Path, *install: str) -> UnderTest:
    return UnderTest(id="owner/name", source=str(source), install=install)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "module.py").write_text("")
    return folder


@pytest.mark.usefixtures("contained")
def test_what_installing_leaves_is_what_every_run_starts_from(source: Path, tmp_path: Path) -> None:
    lines = ["echo built > built.txt", "mkdir /environment/more", "python -c 'import sys; print(sys.prefix)' > prefix"]
    environment = prepare(described(source, *lines), Installation(), tmp_path / "out")
    job = Job(
        ["sh", "-c", "cat built.txt prefix; ls /environment; touch /environment/x"],
        repository=environment.repository,
        readable=environment.readable,
        environment={"PATH": environment.path},
    )
    outcome = Sandbox().run(job)
    assert outcome.output.split()[:5] == ["built", "/environment/venv", "more", "venv", "workspace"]
    assert "Read-only" in outcome.output
    assert [path.name for path in source.iterdir()] == ["module.py"]


class Recorded:
    """Stands in for the sandbox."""

    jobs: list[Job] = []
    outcome = Outcome("ended", 0, 0.1, 0.1, 0, "", None)

    def __init__(self, limits: object) -> None:
        pass

    def run(self, job: Job) -> Outcome:
        self.jobs.append(job)
        return self.outcome


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    monkeypatch.setattr("repoformer.eval.execute.environments.Sandbox", Recorded)
    monkeypatch.setattr(Recorded, "jobs", [])
    return Recorded


def test_it_is_made_once(recorded: type[Recorded], source: Path, tmp_path: Path) -> None:
    for install in ("true", "true", "false"):
        prepare(described(source, install), Installation(), tmp_path / "out")
    assert len(recorded.jobs) == 2
    (source / "module.py").write_text("changed = 1\n")
    prepare(described(source, "false"), Installation(), tmp_path / "out")
    assert len(recorded.jobs) == 3


def test_secrets_of_the_caller_are_not_passed_on(
    recorded: type[Recorded], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    prepare(described(source, "true"), Installation(), tmp_path / "out")
    assert "API_TOKEN" not in recorded.jobs[0].environment
    assert recorded.jobs[0].environment["PIP_INDEX_URL"] == "https://index.example/simple"


def test_a_failed_installation_is_the_users_to_hear_about(
    recorded: type[Recorded], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorded, "outcome", Outcome("ended", 1, 0.1, 0.1, 0, "no matching\ndistribution", None))
    with pytest.raises(
        UserError, match="owner/name: its install commands ended with ended, 1: no matching distribution"
    ):
        prepare(described(source, "true"), Installation(), tmp_path / "out")


def test_a_link_where_the_repository_should_be_is_refused(
    recorded: type[Recorded], source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out/environments/owner%2Fname"
    prepare(described(source, "true"), Installation(), tmp_path / "out")
    (folder / "workspace").symlink_to("/etc")
    with pytest.raises(UserError, match="a link where the installed repository should be"):
        prepare(described(source, "true"), Installation(), tmp_path / "out")


def test_a_missing_source_is_the_users_to_hear_about(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        prepare(described(tmp_path / "missing"), Installation(), tmp_path / "out")
