"""The paper's objective and its four ablations (section 4.4, table 5), trained on the same data from the same model.

    OMP_NUM_THREADS=1 python tests/performance/ablations.py MODEL DATA OUT [KEY=VALUE ...]

The recipes are those of ``recipes/train``, ``KEY=VALUE`` replaces values in all five. For each: both losses on the
validation examples, how well P(<cc>) tells those that want context from those that do not, its mean for either, and
what the chosen thresholds retrieve. A run that was stopped goes on when this is run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from repoformer.config import load_recipe
from repoformer.training.loop import train
from repoformer.training.recipe import TrainRecipe
from repoformer.training.validation import Validation, saved_validation

RECIPES = Path(__file__).resolve().parents[2] / "recipes" / "train"
COLUMNS = ("recipe", "L_gen", "L_eval", "AUROC", "AP", "P | wants", "P | does not", "P > 0.5", "P > T")


def recipes() -> list[Path]:
    """The paper's objective first, then the ablations."""
    return [RECIPES / "quickstart.yaml", *sorted((RECIPES / "ablations").glob("*.yaml"))]


def row(name: str, validation: Validation) -> list[str]:
    """The figures of one objective; a dash where it makes no decisions."""
    decisions = validation.decisions
    wants = [one.p_retrieve for one in decisions if one.wants_context]
    does_not = [one.p_retrieve for one in decisions if not one.wants_context]
    sure = [one.p_retrieve > 0.5 for one in decisions]
    retrieves = [one.p_retrieve > validation.thresholds[one.kind] for one in decisions]
    figures = [validation.L_gen, validation.L_eval, validation.auroc, validation.average_precision]
    shown = ["-" if figure is None else f"{figure:.4f}" for figure in figures]
    return [name, *shown, *(mean(one) for one in (wants, does_not, sure, retrieves))]


def mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    arguments = parser.parse_args()
    rows = [list(COLUMNS)]
    for path in recipes():
        places = [f"model={arguments.model}", f"data={arguments.data}", f"out={arguments.out / path.stem}"]
        recipe = load_recipe(TrainRecipe, path, [*places, *arguments.overrides])
        result = train(recipe)
        validation = saved_validation(recipe.out, result.step)
        if not result.finished or validation is None:
            print(f"{recipe.out}: not finished, or not validated", file=sys.stderr)
            return 1
        rows.append(row(path.stem, validation))
        print(" ".join(rows[-1]), file=sys.stderr)
    widths = [max(len(one[column]) for one in rows) for column in range(len(COLUMNS))]
    print(f"{validation.examples} validation examples, {validation.positives or 0:.1%} want context")
    for one in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(one, widths, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
