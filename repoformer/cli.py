"""The command line: ``repoformer quickstart | data | plan | train | complete | eval``.

Only the standard library is imported until a command runs, so ``--help`` is instant. This file and ``quickstart.py``
are the only ones that may name ``data_pipeline`` and ``eval``, and do so lazily.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from pathlib import Path

from repoformer.errors import UserError
from repoformer.inference.cli import printable


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, or 2 after one line on stderr for what a user can put right."""
    arguments = _parse(argv)
    try:
        return arguments.run(arguments) or 0
    except UserError as error:
        print(printable(f"repoformer: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("repoformer: interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away: nothing to say, and nobody to say it to
        return 141
    except OSError as error:
        if error.errno not in _ADVICE:
            raise
        print(printable(f"repoformer: {error}; {_ADVICE[error.errno]}"), file=sys.stderr)
        return 2


_ANOTHER_FOLDER = "choose another folder and run again"
_ADVICE = {
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some space and run again",
    errno.EACCES: _ANOTHER_FOLDER,
    errno.EPERM: _ANOTHER_FOLDER,
    errno.EROFS: _ANOTHER_FOLDER,
    errno.EEXIST: _ANOTHER_FOLDER,
    errno.ENOTDIR: _ANOTHER_FOLDER,
    errno.EISDIR: _ANOTHER_FOLDER,
    errno.ENAMETOOLONG: _ANOTHER_FOLDER,
}
"""What a person can do about an operating system's error; others are ours, and show their traceback."""


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    # argparse takes no positional after an option once a list of them has begun: overrides may stand anywhere.
    if rest and (not hasattr(arguments, "overrides") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.overrides = [*arguments.overrides, *rest]
    return arguments


def _parser() -> argparse.ArgumentParser:
    from repoformer.data_pipeline import cli as data
    from repoformer.eval import cli as evaluation
    from repoformer.inference import cli as complete
    from repoformer.planning import cli as plan
    from repoformer.training import cli as train

    parser = argparse.ArgumentParser(
        prog="repoformer", description="Code completion that retrieves only when it helps."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, add_arguments, run, summary in (
        ("quickstart", _quickstart_arguments, _quickstart, "label, train and evaluate a small model on real code"),
        ("data", data.add_arguments, data.run, "make training data from repositories"),
        ("plan", plan.add_arguments, plan.run, "tell what a training run needs, and whether it fits, before a launch"),
        ("train", train.add_arguments, train.run, "fine-tune a fill-in-the-middle model to decide when to retrieve"),
        ("complete", complete.add_arguments, complete.run, "complete code at a place in a repository"),
        ("eval", evaluation.add_arguments, evaluation.run, "compare retrieval policies on held-out repositories"),
    ):
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        add_arguments(command)
        command.set_defaults(run=run)
    return parser


def _quickstart_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path, nargs="?", default=Path("recipes/quickstart.yaml"))
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="for example data.sample.chunks_per_repository=40"
    )


def _quickstart(arguments: argparse.Namespace) -> None:
    from repoformer.quickstart import quickstart

    quickstart(arguments.recipe, arguments.overrides)
