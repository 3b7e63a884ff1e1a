"""Step three: metrics of every stored completion. No model is needed, so scoring again costs nothing.

out/scores/MODEL.jsonl    one `Score` a line, in the order of the blanks' ids
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from repoformer.code.records import Prediction, Score
from repoformer.code.storage import write_jsonl
from repoformer.metrics.completion import postprocess
from repoformer.metrics.text import edit_similarity, exact_match


def scores_path(out: Path, model: str) -> Path:
    """Where a model's scores are kept."""
    return out / "scores" / f"{model}.jsonl"


def score(prediction: Prediction) -> Score:
    """Exact match and edit similarity of both completions, after the same post-processing."""
    blank = prediction.blank
    without = postprocess(blank, prediction.text_without)
    with_context = postprocess(blank, prediction.text_with)
    return Score(
        id=blank.id,
        repository=blank.repository,
        kind=blank.kind,
        em_without=float(exact_match(without, blank.target)),
        em_with=float(exact_match(with_context, blank.target)),
        es_without=edit_similarity(without, blank.target),
        es_with=edit_similarity(with_context, blank.target),
    )


def score_all(path: Path, predictions: Sequence[Prediction], workers: int = 1) -> list[Score]:
    """Score predictions and write them to ``path``; the bytes do not depend on the number of workers."""
    ordered = sorted(predictions, key=lambda prediction: prediction.blank.id)
    scores = list(tqdm(_scored(ordered, workers), total=len(ordered), desc=f"score {path.stem}", unit="blank"))
    write_jsonl(path, scores)
    return scores


def _scored(predictions: Sequence[Prediction], workers: int) -> Iterator[Score]:
    if workers <= 1:
        yield from map(score, predictions)
        return
    # A fork of a process whose torch runs threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(score, predictions, chunksize=64)
