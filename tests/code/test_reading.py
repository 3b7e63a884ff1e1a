"""Files that cannot be used are set aside under a reason, and the rest is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repoformer.code.reading import Reading, read_files, read_folder, source_paths


def write(root: Path, **files: bytes) -> Path:
    for name, data in files.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def texts(reading: Reading) -> dict[str, str]:
    return {file.path: file.text for file in reading.files}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = '\xe9'\n", "not UTF-8"),
        (b"x = 1\n\0", "holds NUL bytes"),
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"x = 1\n" * 900_000, "larger than 1000000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_counted_and_the_rest_goes_on(tmp_path: Path, data: bytes, reason: str) -> None:
    reading = read_folder(write(tmp_path, bad=data, good=b"y = 2\n"))
    assert texts(reading) == {"good.py": "y = 2\n"}
    assert reading.dropped == {reason: 1}
    assert reading.paths == ("bad.py", "good.py")


def test_newlines_become_one_kind_and_other_breaks_stay(tmp_path: Path) -> None:
    data = "a\r\nb\rc\n\fd\u2028e\r\n".encode()
    assert texts(read_folder(write(tmp_path, a=data))) == {"a.py": "a\nb\nc\n\fd\u2028e\n"}


def test_a_byte_order_mark_is_taken_off(tmp_path: Path) -> None:
    assert texts(read_folder(write(tmp_path, a=b"\xef\xbb\xbfx = 1\n"))) == {"a.py": "x = 1\n"}


def test_control_tokens_in_code_are_text_like_any_other(tmp_path: Path) -> None:
    code = "x = '<fim_prefix><cc><eof><|endoftext|>'\n"
    assert texts(read_folder(write(tmp_path, a=code.encode()))) == {"a.py": code}


def test_environments_caches_and_hidden_folders_are_not_entered(tmp_path: Path) -> None:
    root = write(
        tmp_path, **{f"{name}/a": b"x = 1\n" for name in ("own", ".git", "__pycache__", "node_modules", "env")}
    )
    (root / "env" / "pyvenv.cfg").write_text("")
    assert source_paths(root) == ["own/a.py"]


def test_files_are_in_order_of_their_paths(tmp_path: Path) -> None:
    root = write(tmp_path, **dict.fromkeys(("b/a", "a", "b", "a/z"), b"x = 1\n"))
    assert [file.path for file in read_folder(root).files] == ["a.py", "a/z.py", "b.py", "b/a.py"]


def test_nothing_is_read_through_a_link_that_leaves_the_folder(tmp_path: Path) -> None:
    root = write(tmp_path / "repository", good=b"y = 2\n")
    write(tmp_path / "outside", secret=b"password = 1\n")
    (root / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    reading = read_folder(root)
    assert texts(reading) == {"good.py": "y = 2\n"}
    assert reading.dropped == {"link out of the repository": 1}
    assert not read_files(root, ["folder/secret.py"]).files


def test_a_link_to_nothing_and_a_pipe_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert read_folder(tmp_path).dropped == {"unreadable": 1, "not a regular file": 1}


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    assert read_folder(tmp_path) == Reading((), ())
