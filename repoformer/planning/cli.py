"""``repoformer plan RECIPE``. Only the standard library is imported until the command runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("recipe", type=Path, help="a training recipe, see recipes/train/")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
    parser.add_argument("--gpus", type=int, metavar="N", help="over all nodes (default: the recipe's processes)")
    parser.add_argument("--gpu-memory", type=float, metavar="GIB", help="of each, to be told whether it fits")
    parser.add_argument("--examples", type=int, metavar="N", help="training examples, where there are no data yet")
    parser.add_argument("--json", action="store_true", help="print all figures, for programs")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; 0 where the run can be launched as it is, 1 where something has to change first."""
    from repoformer.config import load_recipe
    from repoformer.planning.plan import check_numbers, describe, plan
    from repoformer.training.recipe import TrainRecipe

    check_numbers(arguments.gpus, arguments.gpu_memory, arguments.examples)
    recipe = load_recipe(TrainRecipe, arguments.recipe, arguments.overrides)
    made = plan(recipe, arguments.gpus, arguments.gpu_memory, arguments.examples)
    print(json.dumps(made.to_dict(), indent=2) if arguments.json else describe(made))
    return 0 if made.ready else 1
