"""The recipe of unit-test execution: which repositories, how their tests are run, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import quote

from pydantic import Field, field_validator

from repoformer.config import Section
from repoformer.sandbox.limits import MIB, Limits


class RunLimits(Section):
    """What one run of a repository's tests may use, its children included."""

    seconds: float = Field(default=60.0, gt=0)
    """Processor time of all its processes together; four times that on the wall clock."""
    memory_mib: int = Field(default=2048, ge=64)
    """Of all processes together, files that they write included."""
    processes: int = Field(default=128, ge=4)
    """Threads count."""
    disk_mib: int = Field(default=512, ge=8)
    """The copy of the repository included."""
    file_mib: int = Field(default=128, ge=1)
    open_files: int = Field(default=256, ge=32)
    output_mib: int = Field(default=8, ge=1)

    def limits(self) -> Limits:
        """As the sandbox takes them."""
        return Limits(
            seconds=self.seconds,
            memory=self.memory_mib * MIB,
            processes=self.processes,
            disk=self.disk_mib * MIB,
            file=self.file_mib * MIB,
            open_files=self.open_files,
            output=self.output_mib * MIB,
        )


class UnderTest(Section):
    """One repository and its tests. Commands are lines of shell that start in the repository's root."""

    id: str
    """As the blanks name it."""
    source: str
    """Its folder: a checkout or an unpacked source distribution of the revision that the blanks come from."""
    install: tuple[str, ...] = ()
    """Run once, with network, in a virtual environment that all runs then share. Install the repository in development
    mode (``pip install -e .``), or tests will import a copy that no completion ever reaches. Without install commands
    the tests run under this very Python with the packages beside it."""
    test: str = "python -m pytest -q -p no:cacheprovider --junitxml={report} {tests}"
    """``{tests}`` becomes the tests, ``{report}`` the file for a JUnit report. Without ``{report}`` the exit code
    speaks for all tests at once."""
    tests: Annotated[tuple[str, ...], Field(min_length=1)] = ("tests",)
    """What is run for every file that ``related`` does not name."""
    related: Mapping[str, tuple[str, ...]] = {}
    """The tests of single files, by path: fewer tests, the same verdict, less time."""
    environment: Mapping[str, str] = {}

    @field_validator("test")
    @classmethod
    def _placeholders_are_known(cls, test: str) -> str:
        try:
            test.format(tests="", report="")
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(
                f"only {{tests}} and {{report}} stand for something; double other braces ({error})"
            ) from None
        return test

    @field_validator("related")
    @classmethod
    def _paths_lie_inside(cls, related: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for path in related:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise ValueError(f"{path} does not lie in the repository")
        return related

    @property
    def file_name(self) -> str:
        """The id as the name of a file or folder."""
        return quote(self.id, safe="")

    def tests_of(self, path: str) -> tuple[str, ...]:
        """The tests that judge a completion in this file."""
        return self.related.get(path, self.tests)


class Installation(Section):
    """How the environments are made."""

    seconds: float = Field(default=1800.0, gt=0)
    memory_mib: int = Field(default=8192, ge=256)
    readable: tuple[str, ...] = ()
    """Files and folders of this machine that installing needs beyond pip's configuration and the certificates, such as
    a folder of wheels."""


class ExecuteRecipe(Section):
    """``recipes/eval/execute.yaml``."""

    evaluation: str
    """The folder of an evaluation: ``predictions/`` in it is read, ``scores/`` gets the verdicts."""
    models: tuple[str, ...] = ()
    """Names of evaluated models; none means all that have predictions."""
    repositories: Annotated[tuple[UnderTest, ...], Field(min_length=1)]
    limit: int = Field(default=0, ge=0)
    """At most this many blanks; 0 takes all. Marks the result partial."""
    baseline_runs: int = Field(default=2, ge=1)
    """Runs with nothing replaced: a test counts if it passes in all of them."""
    limits: RunLimits = RunLimits()
    installation: Installation = Installation()
    resamples: int = Field(default=1000, ge=100)
    """Of the paired bootstrap over repositories."""
    seed: int = 0

    @field_validator("repositories")
    @classmethod
    def _ids_differ(cls, repositories: tuple[UnderTest, ...]) -> tuple[UnderTest, ...]:
        ids = [repository.id for repository in repositories]
        twice = sorted({id for id in ids if ids.count(id) > 1})
        if twice:
            raise ValueError(f"described twice: {', '.join(twice)}")
        return repositories
