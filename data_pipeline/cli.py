"""``repoformer data run RECIPE``. Only the standard library is imported until a command runs."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    run_verb = verbs.add_parser("run", help="run all stages; what is done already is skipped")
    run_verb.add_argument("recipe", type=Path, metavar="RECIPE", help="for example recipes/data/quickstart.yaml")
    run_verb.add_argument("overrides", nargs="*", metavar="section.key=value", help="goes before the recipe's value")
    run_verb.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Make the data set and say where it is."""
    from repoformer.config import load_recipe

    from .card import CARD
    from .recipe import DataRecipe
    from .runner import run as run_recipe

    recipe = load_recipe(DataRecipe, arguments.recipe, arguments.overrides)
    run_recipe(recipe, arguments.workers)
    print(f"{Path(recipe.out, CARD)}: what the data are made of, and what was left out")
    return 0
