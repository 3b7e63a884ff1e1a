"""The retrieval threshold of each kind of blank, chosen on validation examples (section 3.2, footnote 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from repoformer.code.records import Kind
from repoformer.metrics.decisions import choose_threshold, sweep

ENOUGH = 20
"""A kind with fewer validation examples than this takes the threshold that is best on all kinds together."""


def choose_thresholds(kinds: Sequence[Kind], p_retrieve: Sequence[float], gains: Sequence[float]) -> dict[Kind, float]:
    """For every kind of blank the T for which the gains of its examples with P(<cc>) > T sum highest.

    ``gains``, in whatever measure the data have, are those that the labels were made from. They were measured with the
    labelling model, so T is as good as that model's gains are near those of the one being trained.
    """
    thresholds: dict[Kind, float] = {}
    for kind in get_args(Kind):
        of_kind = [place for place, one in enumerate(kinds) if one == kind]
        places = of_kind if len(of_kind) >= ENOUGH else range(len(kinds))
        points = sweep([p_retrieve[one] for one in places], [0.0] * len(places), [gains[one] for one in places])
        if (chosen := choose_threshold(points)) is not None:
            thresholds[kind] = chosen.threshold
    return thresholds
