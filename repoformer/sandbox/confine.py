"""What the code loses before it starts: identity, capabilities, resources, and system calls it has no need of."""

from __future__ import annotations

import os
import platform
import resource
import struct
from pathlib import Path

from .limits import Limits
from .syscalls import CLONE_NEWUSER, filter_calls, forgo_privileges, unshare

USER = 1000
"""The code's user and group, as it sees itself."""

# Calls that reach beyond the container's accounting (memory that belongs to no process and no file system, kernel
# rings, keys) or that only serve to build containers and look into other processes. Numbers: x86-64, arm64.
_CALLS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 38  # ENOSYS: programs take the way they take on older kernels
_OTHER_INTERFACE = 0x40000000  # x32 calls on x86-64 have this bit; arm64 has no such calls


def enter_user_namespace() -> None:
    """A user namespace of its own, where a limit on processes counts its processes only, and which can have no child.

    The caller's parent has to write the maps before :func:`confine` is called.
    """
    unshare(CLONE_NEWUSER)
    Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")


def confine(limits: Limits, *, drop_groups: bool) -> None:
    """Become the unprivileged user, within the limits, for good. ``drop_groups``: whether the maps allow it."""
    os.nice(5)
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")  # the first to go when memory runs out
    _limit(limits)
    if drop_groups:
        os.setgroups([])
    os.setresgid(USER, USER, USER)
    forgo_privileges()
    os.setresuid(USER, USER, USER)
    filter_calls(call_filter(platform.machine()))


def call_filter(machine: str) -> bytes:
    """A BPF program that answers ENOSYS to the calls above and to every call of another interface of the kernel."""
    if machine not in _ARCHITECTURES:
        raise OSError(f"no system call numbers for {machine}")
    column, architecture = _ARCHITECTURES[machine]
    numbers = sorted({numbers[column] for numbers in _CALLS.values()})
    refuse = len(numbers) + 1  # instructions from the first comparison of a number to the refusal
    program = [
        (_LOAD, 0, 0, 4),  # the architecture of the call
        (_EQUAL, 0, refuse + 2, architecture),
        (_LOAD, 0, 0, 0),  # its number
        (_AT_LEAST, refuse, 0, _OTHER_INTERFACE),
        *((_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NO_SUCH_CALL),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _limit(limits: Limits) -> None:
    for what, value in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_AS, limits.address_space),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CPU, int(limits.seconds) + 2),  # the container's first process looks at all together
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 1 << 20),
    ):
        _, hard = resource.getrlimit(what)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (bound, bound))
