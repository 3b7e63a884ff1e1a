"""Blanks to look at: both completions side by side, what was retrieved, what the model decided, what the tests said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from repoformer.code.lines import lines_of
from repoformer.code.records import Prediction, RankedChunk
from repoformer.metrics.catalogue import POSTPROCESSING
from repoformer.report.instances import LEFT_LINES, RIGHT_LINES
from repoformer.seeding import stable_hash

from .retrieve import Prepared, Retrieved
from .summary import Evaluated

SHOWN = 5000
"""Blanks on the page at most, drawn by seed."""
CHUNKS = 3
"""Chunks shown of a context; the rest stands in the predictions."""


def examples(asked: Retrieved, evaluated: Sequence[Evaluated], seed: int) -> Iterator[dict[str, Any]]:
    """Items for the report's list of instances: every model's completions of the same blanks, a deciding model first.

    Completions are shown as they were scored, after post-processing; decisions are those at the model's own thresholds.
    """
    drawn = sorted(asked.prepared, key=lambda one: stable_hash(seed, "examples", one.blank.id))[:SHOWN]
    for model in sorted(evaluated, key=lambda model: not model.outcomes.decides):
        decisions = _decisions(model)
        for one in drawn:
            id = one.blank.id
            yield {
                **_blank(one, model.predictions[id]),
                **_completions(model, id, asked.source.postprocessing),
                "asked": decisions.get(id),
            }


def _decisions(model: Evaluated) -> dict[str, bool]:
    if "threshold" not in model.policies:
        return {}
    retrieves = model.policies["threshold"] == 1
    return dict(zip(model.outcomes.ids.tolist(), retrieves.tolist(), strict=True))


def _blank(one: Prepared, prediction: Prediction) -> dict[str, Any]:
    blank = one.blank
    return {
        "id": blank.id,
        "repository": blank.repository,
        "path": blank.path,
        "line": blank.start + 1,
        "kind": blank.kind,
        "left": "".join(f"{line}\n" for line in lines_of(blank.left)[-LEFT_LINES:]),
        "right": "\n".join(blank.right.split("\n")[: RIGHT_LINES + 1]),
        "target": blank.target,
        "query": prediction.context.query,
        "note": "The target stands verbatim in another file." if one.stands_elsewhere else "",
        "chunks": [_chunk(ranked) for ranked in prediction.context.chunks[:CHUNKS]],
    }


def _completions(model: Evaluated, id: str, postprocessing: str) -> dict[str, Any]:
    prediction, score, verdict = model.predictions[id], model.scores[id], model.verdicts.get(id)
    cut = POSTPROCESSING[postprocessing]
    return {
        "model": model.name,
        "text_without": cut(prediction.blank, prediction.text_without)[0],
        "text_with": cut(prediction.blank, prediction.text_with)[0],
        "es_without": score.es_without,
        "es_with": score.es_with,
        "p_retrieve": prediction.p_retrieve,
        "tests_without": verdict.verdict_without if verdict else None,
        "tests_with": verdict.verdict_with if verdict else None,
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
