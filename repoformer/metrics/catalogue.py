"""Every metric and post-processing under the name by which benchmarks, recipes and reports refer to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from repoformer.code.records import Blank
from repoformer.metrics.chrf import chrf
from repoformer.metrics.completion import postprocess
from repoformer.metrics.identifiers import identifier_exact_match, identifier_f1
from repoformer.metrics.published import (
    crosscodeeval_edit_similarity,
    crosscodeeval_exact_match,
    repocoder_edit_similarity,
    repocoder_exact_match,
    repoformer_exact_match,
)
from repoformer.metrics.released import compared_function_bodies, compared_non_blank_lines
from repoformer.metrics.statements import compared_statement
from repoformer.metrics.text import edit_similarity, fuzz_ratio

Postprocessing = Callable[[Blank, str], tuple[str, str]]
"""From a blank and a model's output to the two texts that are compared: completion, target."""

Metric = Callable[[str, str, str], float]
"""From completion, target and the name of their language to a score in [0, 1], higher is better."""


def _as_inserted(blank: Blank, completion: str) -> tuple[str, str]:
    return postprocess(blank, completion), blank.target


def _unchanged(blank: Blank, completion: str) -> tuple[str, str]:
    return completion, blank.target


def _of_texts(metric: Callable[[str, str], float]) -> Metric:
    return lambda completion, target, _language: float(metric(completion, target))


def _of_code(metric: Callable[[str, str, str], float]) -> Metric:
    return lambda completion, target, language: float(metric(completion, target, language))


AS_INSERTED = "as-inserted"
"""The post-processing of everything that is no published benchmark, see ``completion.py``."""

POSTPROCESSING: Mapping[str, Postprocessing] = {
    AS_INSERTED: _as_inserted,
    "non-blank-lines": compared_non_blank_lines,
    "released-function-body": compared_function_bodies,
    "first-statement": compared_statement,
    "none": _unchanged,
}

METRICS: Mapping[str, Metric] = {
    "em_repocoder": _of_texts(repocoder_exact_match),
    "em_repoformer": _of_texts(repoformer_exact_match),
    "em_crosscodeeval": _of_texts(crosscodeeval_exact_match),
    "es_levenshtein": _of_texts(edit_similarity),
    "es_repocoder": _of_texts(repocoder_edit_similarity),
    "es_fuzz_ratio": _of_texts(fuzz_ratio),
    "es_crosscodeeval": _of_texts(crosscodeeval_edit_similarity),
    "identifier_em": _of_code(identifier_exact_match),
    "identifier_f1": _of_code(identifier_f1),
    "chrf": _of_texts(chrf),
}
