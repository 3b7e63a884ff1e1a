"""A shard that is killed while it is labelled goes on where it stopped, and gives what one run gives."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from repoformer.data_pipeline.label_log import Completed, CompletedBatch, LabelLog, label_log, log_path, logged
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.stage import Shard
from repoformer.errors import UserError


@pytest.fixture
def shard(tmp_path: Path, recipe_for: Callable[..., DataRecipe]) -> Shard:
    return Shard(recipe_for(tmp_path), 1)


BATCHES = [
    CompletedBatch(1.5, (Completed("a", "x\ny", "é\u2028\n"), Completed("b", refused="no"))),
    CompletedBatch(0.5, (Completed("c", "", "z", -1.25, -0.5),)),
]


class Killed(BaseException):
    pass


def killed_after(shard: Shard, made_from: str, batches: list[CompletedBatch]) -> None:
    with pytest.raises(Killed), label_log(shard, made_from) as log:
        for batch in batches:
            log.append(batch)
        raise Killed


def held(shard: Shard, made_from: str) -> list[CompletedBatch]:
    found: list[LabelLog] = []
    with pytest.raises(Killed), label_log(shard, made_from) as log:
        found.append(log)
        raise Killed
    return found[0].batches


def test_what_was_appended_is_there_after_a_kill(shard: Shard) -> None:
    killed_after(shard, "input", BATCHES)
    assert held(shard, "input") == BATCHES
    assert logged(log_path(shard)) == (3, 2.0)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_is_forgotten_and_written_again(shard: Shard, cut: int) -> None:
    killed_after(shard, "input", BATCHES)
    with open(log_path(shard), "rb+") as handle:
        handle.truncate(handle.seek(0, 2) - cut)
    assert logged(log_path(shard)) == (2, 1.5)
    killed_after(shard, "input", BATCHES[1:])
    assert held(shard, "input") == BATCHES


def test_a_log_of_another_input_is_thrown_away(shard: Shard) -> None:
    killed_after(shard, "input", BATCHES)
    assert held(shard, "other") == []
    assert held(shard, "input") == []


def test_a_first_line_that_was_cut_is_no_log(shard: Shard) -> None:
    killed_after(shard, "input", [])
    with open(log_path(shard), "rb+") as handle:
        handle.truncate(5)
    assert held(shard, "input") == []
    assert logged(log_path(shard)) == (0, 0.0)


def test_a_full_disk_is_told_by_the_log_and_what_it_holds_is_kept(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        pytest.raises(OSError, match="No space left on device") as caught,
        monkeypatch.context() as patch,
        label_log(shard, "input") as log,
    ):
        log.append(BATCHES[0])
        patch.setattr(LabelLog, "_write", full)
        log.append(BATCHES[1])
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(log_path(shard)))
    assert held(shard, "input") == BATCHES[:1]


def test_the_log_goes_when_all_is_well(shard: Shard) -> None:
    with label_log(shard, "input") as log:
        log.append(BATCHES[0])
    assert not log_path(shard).exists()
    assert logged(log_path(shard)) == (0, 0.0)


def test_two_processes_do_not_label_one_shard(shard: Shard) -> None:
    with label_log(shard, "input"), pytest.raises(UserError, match="another process"), label_log(shard, "input"):
        pass
