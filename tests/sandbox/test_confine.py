"""The filter of system calls, run by an interpreter of its few instructions."""

from __future__ import annotations

import struct

import pytest

from repoformer.sandbox.confine import _ARCHITECTURES, _CALLS, call_filter

ALLOW, NO_SUCH_CALL = 0x7FFF0000, 0x00050026


def answer(program: bytes, architecture: int, number: int) -> int:
    """What the kernel would answer to the call."""
    instructions = list(struct.iter_unpack("HBBI", program))
    data = {0: number, 4: architecture}
    place, held = 0, 0
    while True:
        code, if_true, if_false, value = instructions[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            held = data[value]
        elif code == 0x15:
            place += if_true if held == value else if_false
        elif code == 0x35:
            place += if_true if held >= value else if_false
        else:
            raise AssertionError(f"unknown instruction {code:#x}")


@pytest.mark.parametrize("machine", _ARCHITECTURES)
def test_the_listed_calls_do_not_exist_and_all_others_do(machine: str) -> None:
    column, architecture = _ARCHITECTURES[machine]
    program = call_filter(machine)
    listed = {numbers[column] for numbers in _CALLS.values()}
    for number in range(500):
        assert answer(program, architecture, number) == (NO_SUCH_CALL if number in listed else ALLOW)


@pytest.mark.parametrize("machine", _ARCHITECTURES)
def test_calls_of_another_interface_do_not_exist(machine: str) -> None:
    program = call_filter(machine)
    _, architecture = _ARCHITECTURES[machine]
    assert answer(program, 0x40000003, 1) == NO_SUCH_CALL  # 32-bit x86
    assert answer(program, architecture, 0x40000001) == NO_SUCH_CALL  # x32


def test_a_machine_without_numbers_is_refused() -> None:
    with pytest.raises(OSError, match="no system call numbers for riscv64"):
        call_filter("riscv64")
