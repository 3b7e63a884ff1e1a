"""The Linux calls that the standard library lacks (:func:`os.unshare` came with Python 3.12)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MOUNT_ATTR_RDONLY: Final = 1
MOUNT_ATTR_NOSUID: Final = 2
MOUNT_ATTR_NODEV: Final = 4

_MNT_DETACH = 2
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_SETATTR = 442  # the same on every architecture, as all calls after 424
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 24, 22, 38
_SECCOMP_MODE_FILTER = 2
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces in ``flags`` for new ones."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount ``source`` at ``target``."""
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _checked(result, f"mount {target}")


def restrict_mount(target: str, attributes: int) -> None:
    """Add attributes to the mount at ``target`` and to every mount below it (Linux 5.12)."""
    attr = struct.pack("QQQQ", attributes, 0, 0, 0)
    path = ctypes.c_char_p(target.encode())
    result = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, _AT_RECURSIVE, attr, ctypes.c_size_t(len(attr)))
    _checked(result, f"mount_setattr {target}")


def pivot_root(new: str, old: str) -> None:
    """Make the mount at ``new`` the root, and let the former root appear at ``old``."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"no system call numbers for {platform.machine()}")
    _checked(_libc.syscall(number, ctypes.c_char_p(new.encode()), ctypes.c_char_p(old.encode())), f"pivot_root {new}")


def detach(target: str) -> None:
    """Take the mount at ``target``, and all below it, out of sight."""
    _checked(_libc.umount2(target.encode(), _MNT_DETACH), f"umount {target}")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, 9)


def forgo_privileges() -> None:
    """No program that is started from here on gains rights, whatever its bits and capabilities say."""
    for capability in range(64):
        # The kernel answers EINVAL to the first number that it does not know.
        if _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0):
            break
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def filter_calls(program: bytes) -> None:
    """Install a seccomp filter: ``program`` is an array of BPF instructions of eight bytes each."""

    class _Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    prepared = _Program(len(program) // 8, program)
    _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(prepared), 0, 0), "seccomp")


def loopback_up() -> None:
    """Bring up ``lo``, which is down in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))


def _prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
