"""``repoformer eval execute RECIPE --allow-code-execution``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from repoformer.errors import UserError

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

    summary = runner.run(recipe, workers=max(1, arguments.workers))
    for line in _lines(summary):
        print(line)
    folder = Path(recipe.evaluation)
    print(f"verdicts: {folder / 'unit_tests.json'}")
    page = evaluation.report_again(folder)
    if page:
        print(f"report: {page}")
    return 0


def _lines(summary: dict[str, Any]) -> list[str]:
    lines = [f"note: {count} functions left out: {reason}" for reason, count in summary["left_out"].items()]
    lines.append(f"{summary['judged']} functions of {len(summary['repositories'])} repositories judged")
    for name, model in summary["models"].items():
        lines += [
            f"{name}: {policy} {100 * result['pass_rate']:.2f} % pass, retrieves {100 * result['retrieved']:.0f} %"
            for policy, result in model["policies"].items()
        ]
        changes = f"harms {model['harmed']}, helps {model['helped']}, changes nothing for {model['unchanged']}"
        lines.append(f"{name}: context {changes}")
    return lines
