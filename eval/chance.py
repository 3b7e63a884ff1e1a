"""What a completion that knows nothing of its blank scores: the targets of other blanks in its place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from repoformer.code.records import Blank
from repoformer.metrics.text import edit_similarity
from repoformer.seeding import generator

from .outcomes import SCOPE_ALL

DRAWN = 20
"""Other targets drawn for each blank."""


def chance_level(blanks: Sequence[Blank], seed: int) -> dict[str, float | None]:
    """Expected edit similarity, by scope, of targets of other blanks of the same kind and language.

    They are cut to as many lines as the blank's own target has. None where no blank has another of its sort.
    """
    alike: dict[tuple[str, str], list[Blank]] = defaultdict(list)
    for blank in sorted(blanks, key=lambda blank: blank.id):
        alike[blank.kind, blank.language].append(blank)
    scores: dict[str, list[float]] = {SCOPE_ALL: [], **{kind: [] for kind in sorted({one.kind for one in blanks})}}
    for (kind, _), group in alike.items():
        for place, blank in enumerate(group):
            drawn = generator(seed, "chance", blank.id).sample(range(len(group)), min(DRAWN + 1, len(group)))
            others = [group[other] for other in drawn if other != place][:DRAWN]
            if others:
                score = float(np.mean([edit_similarity(_cut(one, blank), blank.target) for one in others]))
                scores[SCOPE_ALL].append(score)
                scores[kind].append(score)
    return {scope: float(np.mean(found)) if found else None for scope, found in scores.items()}


def _cut(other: Blank, blank: Blank) -> str:
    return "\n".join(other.target.split("\n")[: blank.target.count("\n") + 1])  # a last empty line counts
