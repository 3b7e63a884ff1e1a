"""Whatever is wrong with a row, the message names its line, and its field if there is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repoformer.benchmarks.rows import Row, read_rows, sha256
from repoformer.errors import UserError


def test_rows_are_numbered_by_newlines_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "x\u2028y\x85z"}\n\n{"a": "b"}\n', encoding="utf-8")
    assert [(row.where, row.text("a")) for row in read_rows(path)] == [
        (f"{path}:1", "x\u2028y\x85z"),
        (f"{path}:3", "b"),
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (b'{"a": "b', "rows.jsonl:2: not a JSON record .* truncated"),
        (b'{"a": "b\n{"a": 1}\n', "rows.jsonl:2: not a JSON record"),
        (b'{"a": "\xff"}\n', "rows.jsonl:2: not UTF-8"),
        (b"[1, 2]\n", "rows.jsonl:2: a row should be a JSON object, is list"),
        (b"[" * 100_000 + b"\n", "rows.jsonl:2: not a JSON record"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, broken: bytes, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": "b"}\n' + broken)
    with pytest.raises(UserError, match=message):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda row: row.text("missing"), "f:7: no field missing"),
        (lambda row: row.text("text", "below"), "f:7: no field text.below"),
        (lambda row: row.text("number"), "f:7: number should be text, is 3"),
        (lambda row: row.number("inner", "negative"), "f:7: inner.negative should be a whole number from 0 on, is -1"),
        (lambda row: row.number("truth"), "f:7: truth should be a whole number"),
        (lambda row: row.real("text"), "f:7: text should be a number"),
        (lambda row: row.texts("mixed"), "f:7: mixed should be a list of texts"),
        (lambda row: row.rows("mixed"), "f:7: mixed should be a list of objects"),
    ],
)
def test_a_field_of_another_type_is_named(ask: object, message: str) -> None:
    row = Row("f:7", {"text": "x", "number": 3, "truth": True, "inner": {"negative": -1}, "mixed": ["x", 1]})
    with pytest.raises(UserError, match=message):
        ask(row)  # type: ignore[operator]


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"a": 1}))
    before = sha256(path)
    path.write_text(json.dumps({"a": 2}))
    assert len(before) == 64
    assert sha256(path) != before
