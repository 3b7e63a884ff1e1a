"""``repoformer train RECIPE``, which under a launcher is ``accelerate launch -m repoformer.training.cli RECIPE``."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from repoformer.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``repoformer train`` takes."""
    parser.add_argument("recipe", type=Path, help="YAML file, see recipes/train/")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
    parser.add_argument(
        "--push-to-hub",
        metavar="OWNER/NAME",
        help="upload the finished model to the Hugging Face hub, as a private one",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train; 0 also for a run that was asked to stop and saved."""
    from repoformer.config import load_recipe
    from repoformer.training.recipe import TrainRecipe

    recipe = load_recipe(TrainRecipe, arguments.recipe, arguments.overrides)

    pushes_to = arguments.push_to_hub if os.environ.get("RANK", "0") == "0" else None
    if pushes_to:
        from repoformer.training.hub import check_can_push, push_to_hub

        check_can_push(pushes_to)

    from repoformer.training.loop import train

    result = train(recipe)
    if pushes_to and result.finished:
        print(f"pushed to {push_to_hub(result.out, pushes_to)}", file=sys.stderr)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The entry under a launcher. Returns 0, or 2 after a line on stderr for what a user can put right."""
    parser = argparse.ArgumentParser(prog="repoformer.training.cli")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except UserError as error:
        print(f"repoformer: {error}", file=sys.stderr)
        return 2


def leave(status: int) -> NoReturn:
    """End the process, after all that asked to be called at its end, but do not take the interpreter apart.

    DeepSpeed holds on to process groups that were destroyed, and with them to native threads that may still have a
    tensor to let go of. One that asks for the interpreter while that is taken apart aborts the process, and the
    launcher, and SLURM after it, count a run as failed that has finished.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    leave(main())
