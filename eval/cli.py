"""``repoformer eval``: its three steps, ``ls``, ``build``, ``submit``, ``execute`` and ``compare``."""

from __future__ import annotations

import argparse
from pathlib import Path

from .execute import cli as execute

_STEPS = {
    "run": "generate, score and report; goes on where an earlier run stopped",
    "generate": "step one: retrieve contexts and generate completions, all of them or a shard",
    "score": "step two: merge shards and score stored completions; needs no model",
    "report": "step three: summary and page from stored scores; needs no model",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``repoformer eval`` takes."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, summary in _STEPS.items():
        step = _command(steps, name, summary)
        step.add_argument("recipe", type=Path, help="YAML file, see recipes/eval/")
        step.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
        if name in ("run", "score"):
            step.add_argument("--workers", type=int, default=1, help="processes for scoring (default: 1)")
        if name == "generate":
            step.add_argument(
                "--shard", metavar="K/N", help="the K-th of N shares, K from 0; a launcher sets it itself"
            )
    listing = _command(
        steps, "ls", "list the benchmarks, the files that each expects, where to get them, their licence"
    )
    listing.add_argument("name", nargs="?", help="only this one, in full")
    listing.add_argument("--data", type=Path, help="also say which files are there, under this folder")
    build = _command(steps, "build", "make a leak-free chunk, function and line benchmark from your own repositories")
    build.add_argument("--repos", type=Path, required=True, metavar="DIR", help="every folder in it is a repository")
    build.add_argument("--out", type=Path, required=True, metavar="DIR", help="a recipe names it under data")
    build.add_argument("--each", type=int, default=20, help="blanks of each kind and repository at most (default: 20)")
    build.add_argument("--seed", type=int, default=0)
    build.add_argument(
        "--against", type=Path, action="append", default=[], metavar="DIR",
        help="a data run whose repositories a model was trained on: copies of their files are left out",
    )  # fmt: skip
    submit = _command(steps, "submit", "write the contexts of a competition's points as its submission")
    submit.add_argument("recipe", type=Path, help="YAML file with a benchmark of the competition")
    submit.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="replaces a value of the recipe")
    submit.add_argument("--to", type=Path, required=True, metavar="FILE", help="JSON Lines file to write")
    execute.add_arguments(_command(steps, "execute", execute.SUMMARY))
    comparison = _command(steps, "compare", "compare two finished evaluations, paired over the blanks of both")
    comparison.add_argument("a", type=Path, metavar="A", help="folder of an evaluation")
    comparison.add_argument("b", type=Path, metavar="B", help="folder of another")
    comparison.add_argument("--out", type=Path, metavar="DIR", help="where the report goes (default: B/comparison)")
    comparison.add_argument(
        "--models", action="append", default=[], metavar="IN_A=IN_B",
        help="models that belong together (default: those of the same name)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Do it and say where the result is."""
    if arguments.step == "ls":
        return _ls(arguments)
    if arguments.step == "build":
        return _build(arguments)
    if arguments.step == "execute":
        return execute.run(arguments)
    if arguments.step == "compare":
        return _compare(arguments)

    from repoformer.config import load_recipe

    from .recipe import EvalRecipe

    recipe = load_recipe(EvalRecipe, arguments.recipe, arguments.overrides)
    out = Path(recipe.out)

    from . import runner
    from .shards import Shard

    if arguments.step == "submit":
        from .submission import submit

        print(f"submission: {arguments.to}, {submit(recipe, arguments.to)} points")
    elif arguments.step == "generate":
        shard = Shard.parse(arguments.shard) if arguments.shard else Shard.of_launcher()
        runner.generate(recipe, shard)
        print(f"predictions: {shard.folder(out) / 'predictions'}")
    elif arguments.step == "score":
        runner.score(recipe, arguments.workers)
        print(f"scores: {out / 'scores'}")
    else:
        summary = runner.run(recipe, arguments.workers) if arguments.step == "run" else runner.report(recipe)
        for remark in summary["remarks"]:
            print(f"note: {remark}")
        print(f"report: {out / 'report.html'}")
    return 0


def _ls(arguments: argparse.Namespace) -> int:
    from .listing import listing

    print(listing(arguments.name, arguments.data))
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from .build import build

    built = build(arguments.repos, arguments.out, arguments.each, arguments.seed, arguments.against)
    for line in built.lines():
        print(line)
    print(f"benchmark: {arguments.out}; evaluate on it with data={arguments.out}")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from . import compare

    pairs = dict(pair.partition("=")[::2] for pair in arguments.models)
    comparison = compare.compare(arguments.a, arguments.b, pairs)
    out = arguments.out or arguments.b / "comparison"
    compare.write(comparison, out)
    for remark in comparison["remarks"]:
        print(f"note: {remark}")
    print(f"comparison: {out / 'comparison.html'}")
    return 0


def _command(
    steps: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    return steps.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
