"""The command line: ``repoformer quickstart | data | train | complete | eval``.

Only the standard library is imported until a command runs, so ``--help`` is instant. This file and ``quickstart.py``
are the only ones that may name ``data_pipeline`` and ``eval``, and do so lazily.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence

from repoformer.errors import UserError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, or 2 after one line on stderr for what a user can put right."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments) or 0)
    except UserError as error:
        print(f"repoformer: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("repoformer: interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away: nothing to say, and nobody to say it to
        return 141
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            print(f"repoformer: {error}; free some space or choose another folder and run again", file=sys.stderr)
            return 2
        raise


def _parser() -> argparse.ArgumentParser:
    from repoformer import quickstart
    from repoformer.data_pipeline import cli as data
    from repoformer.eval import cli as evaluation
    from repoformer.inference import cli as complete
    from repoformer.training import cli as train

    parser = argparse.ArgumentParser(
        prog="repoformer", description="Code completion that retrieves only when it helps."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module, summary in (
        ("quickstart", quickstart, "label, train and evaluate a small model on real code, then show the report"),
        ("data", data, "make training data from repositories"),
        ("train", train, "fine-tune a fill-in-the-middle model to decide when to retrieve"),
        ("complete", complete, "complete code at a place in a repository"),
        ("eval", evaluation, "evaluate retrieval policies"),
    ):
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser
