"""Blanks to look at: both completions side by side, what was retrieved, and what the model decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repoformer.code.lines import lines_of
from repoformer.code.records import Prediction, RankedChunk, Score
from repoformer.metrics.catalogue import POSTPROCESSING
from repoformer.report.instances import LEFT_LINES, RIGHT_LINES
from repoformer.seeding import stable_hash

EACH = 20
"""Examples of each sort: most helped, most harmed, drawn by seed."""
CHUNKS = 3
"""Chunks kept of an example's context; the rest stands in the predictions."""


def chosen_examples(scores: Mapping[str, Score], seed: int) -> list[str]:
    """Ids of the blanks that context helped most, harmed most, and of some drawn without looking."""
    by_gain = sorted(scores, key=lambda id: (scores[id].es_with - scores[id].es_without, id))
    drawn = sorted(scores, key=lambda id: stable_hash(seed, "examples", id))
    return list(dict.fromkeys([*by_gain[::-1][:EACH], *by_gain[:EACH], *drawn[:EACH]]))


def examples(
    predictions: Mapping[str, Prediction],
    scores: Mapping[str, Score],
    asked: Mapping[str, bool] | None,
    stands_elsewhere: Mapping[str, bool | None],
    seed: int,
    postprocessing: str,
) -> list[dict[str, Any]]:
    """Items for the report's list of instances; ``asked`` by the policy shown, None for a model that takes no decision.

    Completions are shown as they were scored, after post-processing.
    """
    return [
        _example(predictions[id], scores[id], asked[id] if asked else None, stands_elsewhere[id], postprocessing)
        for id in chosen_examples(scores, seed)
    ]


def _example(
    prediction: Prediction, score: Score, asked: bool | None, stands_elsewhere: bool | None, postprocessing: str
) -> dict[str, Any]:
    blank = prediction.blank
    cut = POSTPROCESSING[postprocessing]
    return {
        "id": blank.id,
        "repository": blank.repository,
        "path": blank.path,
        "line": blank.start + 1,
        "kind": blank.kind,
        "left": "".join(f"{line}\n" for line in lines_of(blank.left)[-LEFT_LINES:]),
        "right": "\n".join(blank.right.split("\n")[: RIGHT_LINES + 1]),
        "target": blank.target,
        "text_without": cut(blank, prediction.text_without)[0],
        "text_with": cut(blank, prediction.text_with)[0],
        "es_without": score.es_without,
        "es_with": score.es_with,
        "p_retrieve": prediction.p_retrieve,
        "asked": asked,
        "query": prediction.context.query,
        "note": "The target stands verbatim in another file." if stands_elsewhere else "",
        "chunks": [_chunk(ranked) for ranked in prediction.context.chunks[:CHUNKS]],
    }


def _chunk(ranked: RankedChunk) -> dict[str, Any]:
    chunk = ranked.chunk
    return {
        "path": chunk.path,
        "start": chunk.start + 1,
        "end": chunk.end,
        "text": chunk.text,
        "score": round(ranked.score, 4),
    }
