"""The container's file system.

    /usr /bin /lib ...   the system's programs            read-only
    the folders given    at their own paths               read-only
    /workspace           a copy of the repository         }
    /home /tmp /dev/shm                                   } one memory file system of limited size
    /report              where the tests' report goes     }
    /environment         a folder that stays              writable where a job says so

Everything else of the host is out of sight, not only out of reach.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from .syscalls import (
    MOUNT_ATTR_NODEV,
    MOUNT_ATTR_NOSUID,
    MOUNT_ATTR_RDONLY,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    detach,
    mount,
    pivot_root,
    restrict_mount,
)

WORKSPACE = "/workspace"
REPORT = "/report"
HOME = "/home"
WRITABLE = {WORKSPACE: "workspace", REPORT: "report", HOME: "home", "/tmp": "tmp", "/dev/shm": "shm"}
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("null", "zero", "full", "random", "urandom")
_OLD, _NEW = "/old", "/new"
# Owner and group as the container's passwd names them.
_PASSWD = "root:x:0:0::/:/bin/sh\nsandbox:x:1000:1000::/home:/bin/sh\n"
_ETC = {
    "passwd": _PASSWD,
    "group": "root:x:0:\nsandbox:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def build(
    *, readable: dict[str, str], writable: dict[str, str], repository: str | None, size: int, names: int, owner: int
) -> None:
    """Put the file system together and make it the root; the host's is out of sight afterwards.

    ``readable`` and ``writable`` map paths in the container to paths of the host, ``repository`` is copied to
    ``/workspace``, and ``owner`` is the user, as seen from here, to whom all that may be written belongs.
    """
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.mkdir(f"/tmp{_OLD}")
    os.mkdir(f"/tmp{_NEW}")
    pivot_root("/tmp", f"/tmp{_OLD}")
    os.chdir("/")
    mount("tmpfs", _NEW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m,nr_inodes=4096")
    _memory_file_system(size, names, owner)  # first: a folder below /tmp may be among those that are shown
    _system(readable)
    _devices()
    _proc()
    for target, source in writable.items():
        _bind(source, target)
        os.chown(f"{_NEW}{target}", owner, owner)
    if repository is not None:
        copy_tree(Path(f"{_OLD}{repository}"), Path(f"{_NEW}{WORKSPACE}"), owner)
    detach(_OLD)
    os.chdir(_NEW)
    pivot_root(".", ".")
    detach(".")
    os.chdir("/")
    _read_only_root()


def copy_tree(source: Path, target: Path, owner: int) -> None:
    """Copy folders, regular files and links (as links) below ``source``; sockets, pipes and devices stay behind."""
    os.chown(target, owner, owner)
    for entry in os.scandir(source):
        goal = target / entry.name
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), goal)
            os.chown(goal, owner, owner, follow_symlinks=False)
        elif entry.is_dir():
            goal.mkdir()
            copy_tree(Path(entry.path), goal, owner)
        elif stat.S_ISREG(entry.stat().st_mode):
            shutil.copyfile(entry.path, goal)
            goal.chmod(0o755 if entry.stat().st_mode & 0o100 else 0o644)
            os.chown(goal, owner, owner)


def _system(readable: dict[str, str]) -> None:
    os.mkdir(f"{_NEW}/etc")
    for name, text in _ETC.items():
        Path(f"{_NEW}/etc/{name}").write_text(text, encoding="utf-8")
    for path in SYSTEM:
        if os.path.islink(f"{_OLD}{path}"):  # /bin -> usr/bin
            os.symlink(os.readlink(f"{_OLD}{path}"), f"{_NEW}{path}")
        elif os.path.exists(f"{_OLD}{path}"):
            _show(path, path)
    for path, source in readable.items():
        if not path.startswith("/usr/") or path != source:  # else it is there already
            _show(source, path)


def _show(source: str, target: str) -> None:
    _bind(source, target)
    restrict_mount(f"{_NEW}{target}", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)


def _devices() -> None:
    for name in DEVICES:
        _bind(f"/dev/{name}", f"/dev/{name}")
    for name, target in {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        os.symlink(target, f"{_NEW}/dev/{name}")


def _proc() -> None:
    os.mkdir(f"{_NEW}/proc")
    mount("proc", f"{_NEW}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _memory_file_system(size: int, names: int, owner: int) -> None:
    whole = f"{_NEW}/.writable"
    os.mkdir(whole)
    mount("tmpfs", whole, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=700,size={size},nr_inodes={names}")
    for target, name in WRITABLE.items():
        os.mkdir(f"{whole}/{name}")
        os.chown(f"{whole}/{name}", owner, owner)
        os.makedirs(f"{_NEW}{target}", exist_ok=True)
        mount(f"{whole}/{name}", f"{_NEW}{target}", flags=MS_BIND)


def _bind(source: str, target: str) -> None:
    """Show the host's ``source``, with all that is mounted in it, at ``target``."""
    goal = f"{_NEW}{target}"
    if os.path.isdir(f"{_OLD}{source}"):
        os.makedirs(goal, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(goal), exist_ok=True)
        Path(goal).touch()
    mount(f"{_OLD}{source}", goal, flags=MS_BIND | MS_REC)


def _read_only_root() -> None:
    """The mount points themselves: what is mounted on them keeps its own attributes."""
    mount("none", "/", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
