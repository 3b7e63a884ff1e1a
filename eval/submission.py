"""Handing in: the contexts that were retrieved for a competition's points, as the file that it takes."""

from __future__ import annotations

from pathlib import Path

from repoformer.benchmarks.ase2025 import SubmittedPoint, submitted_context, write_submission
from repoformer.errors import UserError

from .recipe import EvalRecipe
from .retrieve import prepared_for
from .sources import Source, asked_of_problems, problems_of


def submit(recipe: EvalRecipe, to: Path) -> int:
    """Retrieve for every point, answered or not, and write the submission; returns the number of points."""
    named = recipe.benchmark
    if named is None or not named.name.startswith("ase2025"):
        raise UserError("only the points of ase2025-* can be submitted; name one under benchmark.name")
    read = problems_of(named)
    asked = asked_of_problems(named, Source(named.name, named.data), read.problems, recipe.seed)
    points = {
        one.blank.id: SubmittedPoint(submitted_context(ranked.chunk for ranked in one.context.chunks))
        for group in prepared_for(asked, asked.blanks, recipe.retrieve)
        for one in group
    }
    write_submission(to, read.problems, points)
    return len(points)
