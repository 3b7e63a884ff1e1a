"""Archives are read in place; nothing in them, however made, reaches beyond them or takes more than was agreed."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

from repoformer.code.collect import Collected, collect
from repoformer.code.filters import Requirements
from repoformer.code.sources.archives import SUFFIXES, ArchiveCandidate, Guard, archive_candidates
from repoformer.errors import UserError

ANYTHING = Requirements(files=0, imports_per_file=0, local_imports_per_file=0)
FILES = {
    "pyproject.toml": b'[project]\nlicense = "MIT"\n',
    "pkg/a.py": b"x = 1\n",
    "pkg/b.py": b"y = 2\n",
    "data.bin": bytes(1000),
}


def collected(file: Path, guard: Guard = Guard(), requirements: Requirements = ANYTHING) -> Collected:  # noqa: B008
    (candidate,) = archive_candidates(file, guard=guard)
    return collect(candidate, ["MIT"], requirements)


def texts(found: Collected) -> dict[str, str]:
    assert found.repository is not None, found.refused
    return {file.path: file.text for file in found.repository.files}


def write_zip(file: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file


def tar_bytes(files: dict[str, bytes], *others: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in others:
            archive.addfile(entry)
    return buffer.getvalue()


def write_tar(file: Path, files: dict[str, bytes], *others: tarfile.TarInfo) -> Path:
    data = tar_bytes(files, *others)
    if file.name.endswith(".zst"):
        file.write_bytes(pyarrow.Codec("zstd").compress(data, asbytes=True))
    else:
        file.write_bytes(gzip.compress(data))
    return file


def write(file: Path, files: dict[str, bytes]) -> Path:
    return write_zip(file, files) if file.suffix in (".zip", ".whl") else write_tar(file, files)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_archive_is_read(tmp_path: Path, suffix: str) -> None:
    found = collected(write(tmp_path / f"a-1.0{suffix}", FILES))
    assert found.id == "a-1.0"
    assert texts(found) == {"pkg/a.py": "x = 1\n", "pkg/b.py": "y = 2\n"}
    assert found.repository is not None
    assert found.repository.licence == "MIT"


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_the_folder_around_a_repository_is_taken_off_unless_it_is_a_package(tmp_path: Path, suffix: str) -> None:
    around = {f"repository-main/{path}": data for path, data in FILES.items()}
    assert set(texts(collected(write(tmp_path / f"a{suffix}", around)))) == {"pkg/a.py", "pkg/b.py"}
    package = {f"pkg/{path}": data for path, data in {**FILES, "__init__.py": b"z = 3\n"}.items()}
    assert "no known licence" in collected(write(tmp_path / f"b{suffix}", package)).refused


def test_a_wheel_says_its_licence_beside_its_metadata(tmp_path: Path) -> None:
    files = {"a/b.py": b"x = 1\n", "a-1.0.dist-info/METADATA": b"Name: a\nLicense-Expression: MIT\n\nText"}
    assert texts(collected(write_zip(tmp_path / "a-1.0-py3-none-any.whl", files))) == {"a/b.py": "x = 1\n"}


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz", ".tar.zst"])
@pytest.mark.parametrize("path", ["../evil.py", "a/../../evil.py", "/etc/evil.py", "C:\\evil.py", "..\\evil.py"])
def test_a_path_out_of_the_archive_is_counted_and_the_rest_read(tmp_path: Path, suffix: str, path: str) -> None:
    found = collected(write(tmp_path / f"a{suffix}", FILES | {path: b"evil = 1\n"}))
    assert set(texts(found)) == {"pkg/a.py", "pkg/b.py"}
    assert found.dropped == {"path out of the archive": 1}
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_in_a_tar_is_not_followed(tmp_path: Path, kind: bytes) -> None:
    link = tarfile.TarInfo("pkg/link.py")
    link.type, link.linkname = kind, "../../etc/passwd"
    found = collected(write_tar(tmp_path / "a.tar.gz", FILES, link))
    assert set(texts(found)) == {"pkg/a.py", "pkg/b.py"}
    assert found.dropped == {"link": 1}


def test_a_link_in_a_zip_is_not_followed(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", FILES)
    with zipfile.ZipFile(file, "a") as archive:
        link = zipfile.ZipInfo("pkg/link.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert collected(file).dropped == {"link": 1}


def test_pipes_and_devices_are_no_files(tmp_path: Path) -> None:
    device, pipe = tarfile.TarInfo("pkg/zero.py"), tarfile.TarInfo("pkg/pipe.py")
    device.type, pipe.type = tarfile.CHRTYPE, tarfile.FIFOTYPE
    assert set(texts(collected(write_tar(tmp_path / "a.tar.gz", FILES, device, pipe)))) == {"pkg/a.py", "pkg/b.py"}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_archive_is_refused_in_a_line(tmp_path: Path, suffix: str, share: float) -> None:
    noise = bytes(range(256)) * 400
    file = write(tmp_path / f"a{suffix}", {**FILES, **{f"{n}.py": noise[n * 7 :] for n in range(20)}})
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    refused = collected(file).refused
    assert refused.startswith("archive cannot be read to its end")
    assert "\n" not in refused


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_archive_is_refused(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    file.write_bytes(b"<html>404</html>" * 100)
    assert collected(file).refused.startswith("archive cannot be read to its end")


def test_a_damaged_entry_refuses_a_zip(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    file.write_bytes(file.read_bytes().replace(b"x = 1\n", b"x = 7\n"))
    assert "CRC" in collected(file).refused


def a_bomb(suffix: str, tmp_path: Path) -> Path:
    """A hundred megabytes of nothing, as one large file that nobody wants and many that somebody may."""
    return write(tmp_path / f"bomb{suffix}", {**FILES, "zero.bin": bytes(50_000_000), "z.py": bytes(50_000_000)})


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst"])
def test_a_bomb_in_a_tar_is_refused_before_it_is_unpacked(tmp_path: Path, suffix: str) -> None:
    bomb = a_bomb(suffix, tmp_path)
    assert bomb.stat().st_size < 1_000_000
    assert collected(bomb, Guard(max_bytes=1_000_000)).refused == "unpacks to more than 1000000 bytes"


def test_of_a_bomb_in_a_zip_nothing_is_unpacked_but_what_is_small(tmp_path: Path) -> None:
    found = collected(a_bomb(".zip", tmp_path), Guard(max_bytes=1_000_000))
    assert set(texts(found)) == {"pkg/a.py", "pkg/b.py"}
    assert found.dropped == {"larger than 1000000 bytes": 1}


def test_many_small_files_are_a_bomb_too(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", FILES | {f"{n}.py": b"x = 1\n" * 10_000 for n in range(30)})
    assert collected(file, Guard(max_bytes=1_000_000)).refused == "unpacks to more than 1000000 bytes"


@pytest.mark.parametrize("writer", [write_zip, write_tar])
def test_too_many_entries_are_refused(tmp_path: Path, writer: Callable[..., Path]) -> None:
    file = writer(tmp_path / ("a.zip" if writer is write_zip else "a.tar.gz"), {f"{n}.txt": b"" for n in range(101)})
    assert collected(file, Guard(max_entries=100)).refused == "more than 100 entries in the archive"


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", FILES)
    data = bytearray(file.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(signature)
        while place >= 0:
            data[place + flags] |= 1
            place = data.find(signature, place + 1)
    file.write_bytes(bytes(data))
    assert "encrypted" in collected(file).refused


def test_files_that_cannot_be_used_are_counted_as_in_folders(tmp_path: Path) -> None:
    bad = {
        "latin.py": b"# \xe9\n",
        "utf16.py": "x = 1\n".encode("utf-16"),
        "nul.py": b"x = 1\n\0",
        "empty.py": b"",
        "large.py": b"x = 1\n" * 200_000,
        "line.py": b"x = '" + b"y" * 2000 + b"'\n",
        "lib/node_modules/a.py": b"x = 1\n",
        ".hidden/a.py": b"x = 1\n",
    }
    found = collected(write_tar(tmp_path / "a.tar.gz", FILES | bad))
    assert set(texts(found)) == {"pkg/a.py", "pkg/b.py"}
    assert found.dropped == {
        "not UTF-8": 1,
        "UTF-16, not UTF-8": 1,
        "holds NUL bytes": 1,
        "empty": 1,
        "larger than 1000000 bytes": 1,
        "a line of more than 1000 characters": 1,
    }


def test_a_folder_without_archives_and_a_place_that_is_not_there_are_the_users_to_hear(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no archive"):
        archive_candidates(tmp_path)
    with pytest.raises(UserError, match="no such"):
        archive_candidates(tmp_path / "nowhere.zip")


def test_an_archive_that_goes_away_is_refused(tmp_path: Path) -> None:
    gone = ArchiveCandidate("a", tmp_path / "gone.zip")
    assert "No such file" in collect(gone, ["MIT"], ANYTHING).refused
