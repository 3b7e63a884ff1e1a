"""Step three: metrics of every stored completion. No model is needed, so scoring again costs nothing.

out/scores/MODEL.jsonl    one `Score` a line, in the order of the blanks' ids
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from repoformer.code.records import NamedMetric, Prediction, Score
from repoformer.code.storage import read_jsonl, write_jsonl
from repoformer.errors import UserError
from repoformer.metrics.catalogue import AS_INSERTED, METRICS, POSTPROCESSING
from repoformer.metrics.text import edit_similarity, exact_match

StartMethod = Literal["spawn", "fork"]


def scores_path(out: Path, model: str) -> Path:
    """Where a model's scores are kept."""
    return out / "scores" / f"{model}.jsonl"


def score(prediction: Prediction, postprocessing: str = AS_INSERTED, metrics: Sequence[str] = ()) -> Score:
    """Exact match, edit similarity and the named ``metrics`` of both completions, after the same post-processing.

    Some post-processings cut the target too, each time in the same way.
    """
    blank = prediction.blank
    texts = (prediction.text_without, prediction.text_with)
    without, with_context = (POSTPROCESSING[postprocessing](blank, text) for text in texts)
    return Score(
        id=blank.id,
        repository=blank.repository,
        kind=blank.kind,
        em_without=float(exact_match(*without)),
        em_with=float(exact_match(*with_context)),
        es_without=edit_similarity(*without),
        es_with=edit_similarity(*with_context),
        named=tuple(
            NamedMetric(name, METRICS[name](*without, blank.language), METRICS[name](*with_context, blank.language))
            for name in metrics
        ),
    )


def score_all(
    path: Path,
    predictions: Sequence[Prediction],
    workers: int = 1,
    postprocessing: str = AS_INSERTED,
    metrics: Sequence[str] = (),
    start: StartMethod = "spawn",
) -> list[Score]:
    """Score predictions and write them to ``path``; the bytes do not depend on the number of workers.

    ``start``: how these processes begin. A fork of a process whose torch runs threads may hang.
    """
    ordered = sorted(predictions, key=lambda prediction: prediction.blank.id)
    scoring = partial(score, postprocessing=postprocessing, metrics=tuple(metrics))
    scores = list(
        tqdm(_mapped(scoring, ordered, workers, start), total=len(ordered), desc=f"score {path.stem}", unit="blank")
    )
    write_jsonl(path, scores)
    return scores


def read_scores(path: Path, wanted: set[str]) -> dict[str, Score]:
    """The scores of all ``wanted`` blanks, by id."""
    scores = {score.id: score for score in read_jsonl(Score, path) if score.id in wanted}
    if len(scores) < len(wanted):
        raise UserError(f"{path}: {len(wanted) - len(scores)} of {len(wanted)} blanks have no score; score them first")
    return scores


def _mapped(
    scoring: partial[Score], predictions: Sequence[Prediction], workers: int, start: StartMethod
) -> Iterator[Score]:
    if workers <= 1:
        yield from map(scoring, predictions)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context(start)) as pool:
        yield from pool.map(scoring, predictions, chunksize=64)
