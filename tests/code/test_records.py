"""Records survive every file they are written to, and a file of another kind or age is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code import records
from repoformer.code.records import (
    Blank,
    Chunk,
    Example,
    LabeledBlank,
    NamedMetric,
    Prediction,
    RankedChunk,
    Repository,
    RetrievedContext,
    Score,
    SourceFile,
    TokenUncertainty,
    from_row,
    to_row,
)
from repoformer.code.storage import append_jsonl, read_jsonl, read_parquet, stream_jsonl, write_parquet, written_aside
from repoformer.errors import UserError

# Everything that UTF-8 can hold: control characters, separators and quotes included, lone surrogates not.
text = st.text(st.characters(codec="utf-8"), max_size=30)
number = st.floats(allow_nan=False, width=64)
line = st.integers(0, 10_000)
ids = st.lists(st.integers(0, 50_000), max_size=8).map(tuple)

source_files = st.builds(SourceFile, text, text, text)
repositories = st.builds(Repository, text, text, text, st.lists(source_files, max_size=3).map(tuple))
chunks = st.builds(Chunk, text, line, line, text)
blanks = st.builds(
    Blank, text, text, text, text, text, text, st.sampled_from(["line", "chunk"]), line, line, text, text, text
)
contexts = st.builds(
    RetrievedContext,
    st.lists(st.builds(RankedChunk, chunks, number), max_size=3).map(tuple),
    text,
    st.booleans(),
    text,
    number,
)
labelled = st.builds(LabeledBlank, blanks, contexts, text, text, number, number, text, text)
examples = st.builds(Example, text, text, st.just("function"), number, ids, ids, ids, ids)
maybe = st.none() | number
numbers = st.lists(number, max_size=3).map(tuple)
uncertain = st.none() | st.builds(TokenUncertainty, numbers, numbers)
predictions = st.builds(
    Prediction,
    *(blanks, text, maybe, st.none() | st.booleans(), contexts, text, text),
    *(maybe, maybe, maybe, maybe, uncertain, uncertain),
)
named = st.lists(st.builds(NamedMetric, text, number, number), max_size=2).map(tuple)
scores = st.builds(Score, text, text, st.just("line"), number, number, number, number, named)
anything = st.one_of(repositories, blanks, contexts, labelled, examples, predictions, scores)


@given(anything)
def test_a_row_is_the_record_again(record: object) -> None:
    assert from_row(type(record), to_row(record)) == record


@given(st.lists(labelled, max_size=4))
def test_parquet_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[LabeledBlank]
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "part-00000-of-00001.parquet"
    assert write_parquet(path, rows) == len(rows)
    assert read_parquet(LabeledBlank, path) == rows


@given(st.lists(predictions, min_size=1, max_size=4))
def test_json_lines_give_back_what_was_appended(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Prediction]
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "predictions.jsonl"
    for row in rows:
        append_jsonl(path, row)
    assert read_jsonl(Prediction, path) == rows


def example() -> Example:
    return Example("a", "r", "chunk", 0.5, (1,), (2,), (), (3,))


def test_a_row_of_another_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="schema 99"):
        from_row(Example, to_row(example()) | {"schema": 99})


def test_a_row_that_lacks_a_field_says_where() -> None:
    row = to_row(example())
    del row["target"]
    with pytest.raises(UserError, match="here:7.*target"):
        from_row(Example, row, "here:7")


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append_jsonl(path, example())
    path.write_text(path.read_text() + "{broken\n" + path.read_text())
    with pytest.raises(UserError, match=r"x\.jsonl:2"):
        read_jsonl(Example, path)


def test_only_a_last_line_may_be_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append_jsonl(path, example())
    with open(path, "a") as handle:
        handle.write('{"schema": 1, "id": "b')
    assert read_jsonl(Example, path, last_may_break=True) == [example()]
    with pytest.raises(UserError, match=r"x\.jsonl:2"):
        read_jsonl(Example, path)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), written_aside(path) as aside:
        aside.write_text("new")
        _ = 1 / 0
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("x.txt", "old")]


def test_every_record_has_a_schema_version() -> None:
    classes = [value for value in vars(records).values() if isinstance(value, type) and hasattr(value, "__slots__")]
    assert classes
    assert all(isinstance(record.schema, int) for record in classes if record.__module__ == records.__name__)


def test_records_of_a_stream_come_before_the_rest_of_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append_jsonl(path, example())
    path.write_text(path.read_text() + "broken\n")
    records = stream_jsonl(Example, path)
    assert next(records) == example()
    with pytest.raises(UserError, match=r"x\.jsonl:2"):
        next(records)
    with pytest.raises(UserError, match="no such file"):
        next(stream_jsonl(Example, tmp_path / "y.jsonl"))
