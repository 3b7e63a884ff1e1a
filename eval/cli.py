"""``repoformer eval run | score RECIPE``."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``repoformer eval`` takes."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, summary in (
        ("run", "retrieve, generate, score and report; goes on where an earlier run stopped"),
        ("score", "score and report again from the predictions of an earlier run"),
    ):
        step = steps.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        step.add_argument("recipe", type=Path, help="YAML file, see recipes/eval/")
        step.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
        step.add_argument("--workers", type=int, default=1, help="processes for scoring (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and say where the report is."""
    from repoformer.config import load_recipe

    from .recipe import EvalRecipe

    recipe = load_recipe(EvalRecipe, arguments.recipe, arguments.overrides)

    from . import runner

    step = runner.run if arguments.step == "run" else runner.rescore
    summary = step(recipe, workers=arguments.workers)
    for remark in summary["remarks"]:
        print(f"note: {remark}")
    print(f"report: {Path(recipe.out) / 'report.html'}")
    return 0
