"""The unit tests of real repositories, run on true, broken and hanging function bodies. By hand, with network:

    OMP_NUM_THREADS=1 python tests/performance/unit_tests.py WORK_DIR [--functions 6] [--workers 2]

Source distributions are fetched from the package index, their requirements are installed in the sandbox, and function
blanks are drawn from them. Three "models" then complete each blank: one with the true body, one with a body that
returns something of no use, one that never ends. Exits with 1 unless every true body passes, hardly any broken one
does, and every hanging one is cut. A second run of the command finds everything done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from repoformer.code.function_blanks import function_blanks
from repoformer.code.reading import read_folder
from repoformer.code.records import Blank, Prediction, Repository, RetrievedContext
from repoformer.code.storage import write_json, write_jsonl
from repoformer.config import parse_recipe
from repoformer.eval.execute import runner
from repoformer.eval.execute.recipe import ExecuteRecipe
from repoformer.eval.generate import predictions_log
from repoformer.models.settings import ModelSettings

# What each needs for its tests, and which folder of it holds the code.
REPOSITORIES = {
    "redframes==1.4.1": ("redframes", ["python -m pip install -q -e . pytest matplotlib scikit-learn"], ["tests"]),
    "itsdangerous==2.2.0": ("src", ["python -m pip install -q -e . pytest freezegun"], ["tests"]),
    "h11==0.16.0": ("h11", ["python -m pip install -q -e . pytest"], ["h11/tests"]),
    "mistune==3.4.0": ("src", ["python -m pip install -q -e . pytest"], ["tests"]),
}
NO_CONTEXT = RetrievedContext((), "", False, "none", 0.0)


def indented(blank: Blank, line: str) -> str:
    """One line as the first of the true body is indented."""
    first = next(line for line in blank.target.split("\n") if line.strip())
    return first[: len(first) - len(first.lstrip())] + line


MODELS: dict[str, Callable[[Blank], str]] = {
    "true": lambda blank: blank.target,
    "broken": lambda blank: indented(blank, "return object()"),
    "hangs": lambda blank: indented(blank, "while True: pass"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--functions", type=int, default=6, help="of each repository")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of processor time, for one run of a repository's tests"
    )
    parser.add_argument("--repositories", nargs="*", default=list(REPOSITORIES), choices=list(REPOSITORIES))
    parser.add_argument("--baseline-runs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--readable", nargs="*", default=[], help="folders that pip needs on this machine")
    arguments = parser.parse_args()
    blanks, described = [], []
    for requirement in arguments.repositories:
        code, install, tests = REPOSITORIES[requirement]
        folder = source_of(requirement, arguments.work / "sources")
        drawn = blanks_of(requirement, folder, code, arguments.functions)
        print(f"{requirement}: {len(drawn)} functions of {folder}", flush=True)
        blanks += drawn
        described.append({"id": requirement, "source": str(folder), "install": install, "tests": tests})
    values = {
        "evaluation": str(arguments.work / "evaluation"),
        "repositories": described,
        "limits": {"seconds": arguments.seconds},
        "baseline_runs": arguments.baseline_runs,
        "installation": {"readable": arguments.readable},
    }
    recipe = parse_recipe(ExecuteRecipe, values, "recipe")
    write_predictions(Path(recipe.evaluation), blanks)
    started = time.monotonic()
    summary = runner.run(recipe, arguments.workers)
    print(json.dumps({key: summary[key] for key in ("judged", "left_out", "repositories")}, indent=2))
    verdicts = {name: model["verdicts"]["without"] for name, model in summary["models"].items()}
    print(f"{time.monotonic() - started:.0f} s: {verdicts}")
    judged = summary["judged"]
    good = (
        judged > 0
        and verdicts["true"] == {"passed": judged}
        and verdicts["hangs"] == {"timeout": judged}
        and verdicts["broken"].get("passed", 0) <= judged // 10
    )
    return 0 if good else 1


def source_of(requirement: str, folder: Path) -> Path:
    """The unpacked source distribution."""
    name = requirement.replace("==", "-")
    if not (folder / name).exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            ":all:",
            "-d",
            str(folder),
        ]
        subprocess.run([*command, requirement], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / name


def blanks_of(requirement: str, folder: Path, code: str, most: int) -> list[Blank]:
    """Function blanks of the repository's own code, tests apart."""
    reading = read_folder(folder)
    files = tuple(file for file in reading.files if file.path.startswith(f"{code}/") and "test" not in file.path)
    repository = Repository(requirement, requirement.partition("==")[2], "", files)
    return list(function_blanks(repository, seed=0, most=most).blanks)


def write_predictions(out: Path, blanks: list[Blank]) -> None:
    """What the three models made of the blanks, as an evaluation leaves it."""
    settings = ModelSettings().model_dump(mode="json")
    for name, body in MODELS.items():
        log = predictions_log(out, name)
        texts = [(blank, body(blank)) for blank in blanks]
        write_jsonl(
            log.path,
            [
                Prediction(blank, name, None, None, NO_CONTEXT, text, text, None, None, None, None)
                for blank, text in texts
            ],
        )
        write_json(log.meta_path, {"schema": 1, "made_with": {}, "facts": {"settings": settings}})


if __name__ == "__main__":
    sys.exit(main())
