"""What ``repoformer eval ls`` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from repoformer.benchmarks.benchmark import BENCHMARKS, benchmark
from repoformer.errors import UserError
from repoformer.eval.listing import listing


def test_every_benchmark_has_a_line_and_your_own_is_not_forgotten() -> None:
    lines = listing(None, None)
    assert all(f"{name} " in lines for name in BENCHMARKS.names())
    assert "eval build --repos" in lines


@pytest.mark.parametrize("name", BENCHMARKS.names())
def test_one_benchmark_names_source_licence_and_every_file(name: str) -> None:
    said, described = listing(name, None), benchmark(name)
    assert all(part in said for part in (described.source, described.licence, *described.files.values()))


def test_a_file_that_is_there_is_found_and_a_missing_one_is_named(tmp_path: Path) -> None:
    there, missing, *_ = benchmark("repoeval-line").files.values()
    (tmp_path / there).write_text("")
    said = listing("repoeval-line", tmp_path).splitlines()
    assert any(line.endswith(f"{there}  found at {tmp_path / there}") for line in said)
    assert any(line.endswith(f"{missing}  missing under {tmp_path}") for line in said)


def test_an_unknown_benchmark_suggests_the_closest() -> None:
    with pytest.raises(UserError, match="repoeval-line"):
        listing("repoeval-lines", None)
