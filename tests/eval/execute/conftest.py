"""A small repository with tests, and evaluations whose predictions are what a test writes into them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.blanks import blank_at
from repoformer.code.records import Blank, Prediction, Repository, RetrievedContext, SourceFile
from repoformer.code.storage import write_json, write_jsonl
from repoformer.eval.execute.recipe import ExecuteRecipe
from repoformer.eval.generate import predictions_log
from repoformer.models.settings import ModelSettings

MODULE = textwrap.dedent(
    '''\
    def double(number):
        """Twice the number."""
        return 2 * number


    def halve(number):
        half = number / 2
        return half


    def unused(number):
        return number
    '''
)
TESTS = textwrap.dedent(
    """\
    from package.numbers import double, halve


    def test_double():
        assert [double(number) for number in (0, 1, 21)] == [0, 2, 42]


    def test_halve():
        assert halve(4) == 2


    def test_broken_from_the_start():
        assert halve(4) == 3
    """
)
# A test runner that starts in a fraction of the time that pytest takes, and writes the same kind of report.
RUN_TESTS = textwrap.dedent(
    """\
    import sys
    sys.path.insert(0, "/workspace")
    from tests import test_numbers

    cases, failures = [], 0
    for name, test in vars(test_numbers).items():
        if name.startswith("test_"):
            try:
                test()
                cases.append(f"<testcase classname='tests' name='{name}'/>")
            except Exception:
                failures += 1
                cases.append(f"<testcase classname='tests' name='{name}'><failure/></testcase>")
    with open(sys.argv[1], "w") as report:
        report.write(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    sys.exit(failures)
    """
)
COMMAND = "python -I -S run_tests.py {report}"
LIMITS = {"seconds": 20, "memory_mib": 256, "processes": 24, "disk_mib": 64, "file_mib": 16, "output_mib": 1}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository on disk, with things in it that are no plain files."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "package").mkdir()
    (folder / "package/__init__.py").write_text("")
    (folder / "package/numbers.py").write_text(MODULE)
    (folder / "tests").mkdir()
    (folder / "tests/__init__.py").write_text("")
    (folder / "tests/test_numbers.py").write_text(TESTS)
    (folder / "run_tests.py").write_text(RUN_TESTS)
    (folder / "link").symlink_to("/etc")
    return folder


def blank_of(name: str) -> Blank:
    """The hole in place of the body of function ``name``."""
    lines = MODULE.split("\n")
    start = lines.index(f"def {name}(number):") + 1
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    file = SourceFile("package/numbers.py", MODULE, "python")
    return blank_at(Repository("owner/numbers", "1.0", "MIT", (file,)), file, "function", start, end)


@pytest.fixture(scope="session")
def blanks() -> dict[str, Blank]:
    """Holes by the name of their function."""
    return {name: blank_of(name) for name in ("double", "halve", "unused")}


Evaluation = Callable[..., ExecuteRecipe]


@pytest.fixture(scope="session")
def evaluations(contained: None, checkout: Path) -> Callable[[Path], Evaluation]:
    """For a folder, what writes predictions of a model there and returns the recipe that judges them."""

    def into(folder: Path) -> Evaluation:
        def make(
            made: Sequence[tuple[Blank, str, str]],
            p: Mapping[str, float] | None = None,
            model: str = "model",
            **changes: Any,
        ) -> ExecuteRecipe:
            log = predictions_log(folder, model)
            write_jsonl(log.path, [_prediction(*one, p[one[0].id] if p else None) for one in made])
            settings = ModelSettings(style="selective", thresholds={"function": 0.3}).model_dump(mode="json")
            write_json(log.meta_path, {"schema": 1, "made_with": {}, "facts": {"settings": settings}})
            described = {"id": "owner/numbers", "source": str(checkout), "test": COMMAND}
            values = {"evaluation": str(folder), "limits": LIMITS, "baseline_runs": 1}
            repositories = [described | changes.pop("repository", {})]
            return ExecuteRecipe.model_validate(values | {"repositories": repositories} | changes)

        return make

    return into


@pytest.fixture
def evaluation(tmp_path: Path, evaluations: Callable[[Path], Evaluation]) -> Evaluation:
    """The same for a folder of the test's own."""
    return evaluations(tmp_path / "evaluation")


def _prediction(blank: Blank, without: str, with_context: str, p: float | None) -> Prediction:
    context = RetrievedContext((), "", False, "none", 0.0)
    greedy = None if p is None else p > 0.5
    return Prediction(blank, "model", p, greedy, context, without, with_context, None, None, None, None)
