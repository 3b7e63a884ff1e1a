"""``repoformer data run | status``. Only the standard library is imported until a command runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    run_verb = verbs.add_parser("run", help="run all stages; what is done already is skipped")
    run_verb.add_argument("recipe", type=Path, metavar="RECIPE", help="for example recipes/data/quickstart.yaml")
    run_verb.add_argument("overrides", nargs="*", metavar="section.key=value", help="goes before the recipe's value")
    run_verb.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")
    run_verb.add_argument(
        "--stage",
        metavar="NAME[,NAME...]",
        help="only these of collect, split, sample, retrieve, label, assemble, card (default: all)",
    )
    run_verb.add_argument(
        "--shards",
        "--shard",
        type=shard_numbers,
        metavar="N[-M][,...]",
        help="only these shards, counted from 0, of the --stage; the tasks of a batch system's array",
    )
    run_verb.set_defaults(verb=_run)
    status_verb = verbs.add_parser("status", help="say what is done, what is missing, and how long that will take")
    status_verb.add_argument("out", type=Path, metavar="DIR", help="the recipe's out")
    status_verb.add_argument("--workers", type=int, default=1, metavar="N", help="processes that will work on the rest")
    form = status_verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--missing", metavar="STAGE", help="only the missing shards of a stage, as --array takes them")
    status_verb.set_defaults(verb=_status)


def run(arguments: argparse.Namespace) -> int:
    """Do what the verb says."""
    return int(arguments.verb(arguments) or 0)


def shard_numbers(text: str) -> list[int]:
    """The numbers that ``3`` or ``0-7`` or ``1,4-6`` names, as SLURM writes the tasks of an array."""
    numbers: list[int] = []
    for part in text.split(","):
        limits = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if limits is None:
            raise argparse.ArgumentTypeError(f"{text!r}: write 3, 0-7 or 1,4-6")
        numbers += range(int(limits[1]), int(limits[2] or limits[1]) + 1)
    return numbers


def _run(arguments: argparse.Namespace) -> None:
    """Make the data set, or a part of it, and say where it is."""
    from repoformer.config import load_recipe
    from repoformer.errors import UserError

    from .card import CARD
    from .recipe import DataRecipe
    from .runner import STEPS, run

    recipe = load_recipe(DataRecipe, arguments.recipe, arguments.overrides)
    if arguments.shards is not None and arguments.stage is None:
        raise UserError("--shards: name the --stage, too; without it all shards of all stages are run")
    steps = tuple(arguments.stage.split(",")) if arguments.stage else STEPS
    run(recipe, arguments.workers, steps=steps, shards=arguments.shards)
    if "card" in steps:
        print(f"{Path(recipe.out, CARD)}: what the data are made of, and what was left out")


def _status(arguments: argparse.Namespace) -> None:
    """Say how far a data set is."""
    from .status import status

    found = status(arguments.out)
    if arguments.missing:
        print(found.missing(arguments.missing))
    elif arguments.json:
        print(found.json())
    else:
        print("\n".join(found.lines(max(1, arguments.workers))))
