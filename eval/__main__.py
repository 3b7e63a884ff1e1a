"""``accelerate launch -m repoformer.eval generate RECIPE``: the same commands as ``repoformer eval``."""

from __future__ import annotations

import argparse
import sys

from repoformer.errors import UserError

from .cli import add_arguments, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="repoformer.eval")
    add_arguments(parser)
    try:
        sys.exit(run(parser.parse_args()))
    except UserError as error:
        print(f"repoformer: {error}", file=sys.stderr)
        sys.exit(2)
