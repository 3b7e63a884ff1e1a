"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from repoformer.code.storage import write_text, written_aside


def test_a_full_disk_names_the_file_and_leaves_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    (tmp_path / f".a.txt.{os.getpid()}.tmp").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_text(path, "after")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"


def test_an_error_inside_leaves_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(KeyError), written_aside(path) as aside:
        aside.write_text("after")
        raise KeyError
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"
