"""Metrics of stored completions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from repoformer.code.records import Blank, Kind, Prediction, RetrievedContext, Score
from repoformer.code.storage import read_jsonl
from repoformer.eval.score import score, score_all

CONTEXT = RetrievedContext((), "", False, "none", 0.0)


def prediction(target: str, without: str, with_context: str, kind: Kind = "chunk", left: str = "") -> Prediction:
    blank = Blank(f"{kind}:{target}", "r", "", "MIT", "a.py", "python", kind, 1, 2, left, "\n", target)
    return Prediction(blank, "m", None, None, CONTEXT, without, with_context, None, None, None, None)


def test_as_many_lines_count_as_the_target_has() -> None:
    found = score(prediction("x = 1", "x = 1\ny = 2\n", "x = 2"))
    assert (found.em_without, found.es_without) == (1, 1)
    assert (found.em_with, found.es_with) == (0, pytest.approx(0.8))


def test_of_a_function_the_body_counts() -> None:
    written = "    return 1\n\n\ndef other():\n    return 2\n"
    found = score(prediction("    return 1", written, "    return 3", "function", "def one():\n"))
    assert (found.em_without, found.es_without) == (1, 1)
    assert found.es_with == pytest.approx(1 - 1 / 8)


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("metrics", [(), ("em_repocoder", "es_fuzz_ratio", "identifier_f1")])
def test_processes_write_the_same_bytes(
    tmp_path: Path, start: Literal["spawn", "fork"], metrics: tuple[str, ...]
) -> None:
    made = [prediction(f"x{number} = {number}", f"x = {number}", "pass") for number in range(150)]
    alone = score_all(tmp_path / "one.jsonl", made, 1, metrics=metrics)
    together = score_all(tmp_path / "two.jsonl", made[::-1], 2, metrics=metrics, start=start)
    assert alone == together == read_jsonl(Score, tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_named_metrics_are_those_of_the_catalogue_after_the_same_cut() -> None:
    found = score(prediction("x = 1", "\nx = 1\ny = 2", "x = 2"), "non-blank-lines", ("em_repocoder", "es_fuzz_ratio"))
    assert [one.name for one in found.named] == ["em_repocoder", "es_fuzz_ratio"]
    assert (found.named[0].without, found.named[0].with_context) == (1, 0)
    assert found.named[1].with_context == pytest.approx(0.8)
