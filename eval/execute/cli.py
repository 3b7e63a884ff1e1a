"""``repoformer eval execute RECIPE --allow-code-execution``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from repoformer.errors import UserError

_NO_REPORT = "note: pass rates of policies that decide come with the evaluation's report, which is not written yet"
SUMMARY = "judge function completions by their repositories' own tests, in a sandbox"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``repoformer eval execute`` takes."""
    parser.add_argument("recipe", type=Path, help="YAML file, see recipes/eval/execute.yaml")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
    parser.add_argument("--workers", type=int, default=1, help="runs at the same time (default: 1)")
    parser.add_argument(
        "--allow-code-execution",
        action="store_true",
        help="run what models wrote and what repositories bring along; nothing runs without this",
    )


def run(arguments: argparse.Namespace) -> int:
    """Judge and print the pass rates."""
    if not arguments.allow_code_execution:
        raise UserError(
            "eval execute runs code that models wrote and the tests and installers of the repositories in the recipe; "
            "it does so in a sandbox, and only with --allow-code-execution"
        )
    from repoformer.config import load_recipe

    from .recipe import ExecuteRecipe

    recipe = load_recipe(ExecuteRecipe, arguments.recipe, arguments.overrides)

    from .. import runner as evaluation
    from . import runner

    folder = Path(recipe.evaluation)
    evaluated = evaluation.reported(folder)  # one that cannot be read is found before anything runs
    found = runner.run(recipe, workers=max(1, arguments.workers))
    if evaluated:
        # Who decides, and at which threshold, is the evaluation's to know.
        found["models"] |= evaluation.report_again(evaluated)["unit_tests"]["models"]
    for line in _lines(found):
        print(line)
    print(f"verdicts: {folder / 'unit_tests.json'}")
    print(f"report: {folder / 'report.html'}" if evaluated else _NO_REPORT)
    return 0


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"note: {count} functions left out: {reason}" for reason, count in found["left_out"].items()]
    lines.append(f"{found['judged']} functions of {len(found['repositories'])} repositories judged")
    for name, model in found["models"].items():
        for policy, rates in model["policies"].items():
            shares = f"{100 * rates['pass_rate']:.2f} % pass, {100 * rates['share_with_context']:.0f} % with context"
            lines.append(f"{name}: {policy} {shares}")
        changes = f"harms {model['harmed']}, helps {model['helped']}, changes nothing for {model['unchanged']}"
        lines.append(f"{name}: context {changes}")
    return lines
