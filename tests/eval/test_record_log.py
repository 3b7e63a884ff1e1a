"""A file of records that survives being killed, and is never mixed with records made otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repoformer.code.records import SourceFile
from repoformer.errors import UserError
from repoformer.eval.record_log import RecordLog

RECORDS = [SourceFile(f"{number}.py", "α = 'ß'\n" * number, "python") for number in range(4)]


@pytest.fixture
def log(tmp_path: Path) -> RecordLog[SourceFile]:
    return RecordLog(SourceFile, tmp_path / "made" / "files.jsonl")


def test_what_was_appended_is_there_for_the_next_run(log: RecordLog[SourceFile]) -> None:
    assert log.resume({"model": "a"}) == []
    log.append(RECORDS[:2])
    log.append(RECORDS[2:])
    assert log.resume({"model": "a"}) == log.read() == RECORDS


@pytest.mark.parametrize("lost", range(1, 40))
def test_a_broken_last_line_is_dropped_wherever_it_broke(log: RecordLog[SourceFile], lost: int) -> None:
    log.resume({})
    log.append(RECORDS)
    log.path.write_bytes(log.path.read_bytes()[:-lost])  # also in the middle of a character of two bytes
    assert log.resume({}) == RECORDS[:3]
    log.append(RECORDS[3:])
    assert log.read() == RECORDS


def test_a_broken_line_before_the_last_is_named_by_its_number(log: RecordLog[SourceFile]) -> None:
    log.resume({})
    log.append(RECORDS)
    lines = log.path.read_text().splitlines(keepends=True)
    log.path.write_text("".join([lines[0], "{\n", *lines[2:]]))
    with pytest.raises(UserError, match=r"files\.jsonl:2: "):
        log.resume({})


def test_records_made_otherwise_are_kept_beside_and_not_returned(
    log: RecordLog[SourceFile], capsys: pytest.CaptureFixture[str]
) -> None:
    log.resume({"model": "a", "contexts": "c"})
    log.append(RECORDS)
    assert log.resume({"model": "b", "contexts": "c"}) == []
    assert "files.jsonl: made with other model; kept as files.stale-" in capsys.readouterr().err
    (aside,) = log.path.parent.glob("files.stale-*.jsonl")
    assert len(aside.read_text().splitlines()) == len(RECORDS)
    log.append(RECORDS[:1])
    assert log.resume({"model": "b", "contexts": "c"}) == RECORDS[:1]


def test_records_of_unknown_origin_are_not_trusted(log: RecordLog[SourceFile]) -> None:
    log.resume({"model": "a"})
    log.append(RECORDS)
    log.meta_path.unlink()
    assert log.resume({"model": "a"}) == []


def test_facts_stay_until_the_records_are_others(log: RecordLog[SourceFile]) -> None:
    log.resume({"model": "a"})
    log.note({"batch": 4})
    log.append(RECORDS)
    log.resume({"model": "a"})
    assert log.facts() == {"batch": 4}
    log.resume({"model": "b"})
    assert log.facts() == {}


def test_meta_data_of_another_layout_is_refused(log: RecordLog[SourceFile]) -> None:
    log.resume({})
    log.meta_path.write_text(json.dumps({"schema": 99}))
    with pytest.raises(UserError, match=r"files\.meta\.json: not meta data of schema 1"):
        log.resume({})


def test_a_rewrite_leaves_exactly_the_given_records(log: RecordLog[SourceFile]) -> None:
    log.resume({})
    log.append(RECORDS)
    log.rewrite(RECORDS[1:2])
    assert log.read() == RECORDS[1:2]


def test_a_replacement_that_was_killed_halfway_is_not_taken_for_either(
    log: RecordLog[SourceFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    log.resume({"model": "a"})
    log.append(RECORDS)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for halfway in ("rewrite", "_write_meta"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(RecordLog, halfway, killed)
            log.replace({"model": "b"}, {}, RECORDS[:2])
        with pytest.raises(UserError):
            log.facts()
    log.replace({"schema": SourceFile.schema, "model": "b"}, {}, RECORDS[:2])
    assert log.resume({"model": "b"}) == RECORDS[:2]
