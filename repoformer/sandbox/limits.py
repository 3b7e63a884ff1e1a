"""What one run may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
PATIENCE = 4
"""How much more wall clock than processor time a run gets."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one run, its children included. Sizes are bytes; what a run exceeds is named in its outcome."""

    seconds: float = 60.0
    """Processor time of all processes together: a verdict must not depend on how busy the machine is."""
    memory: int = 2048 * MIB
    """Resident private and shared memory of all processes and the files they wrote, looked at ten to fifty times a
    second: a run may exceed it for that moment. One process may *reserve* four times as much address space."""
    processes: int = 128
    """Processes and threads at a time."""
    disk: int = 512 * MIB
    """Everything that lies in the run's file system, the copy of the repository included."""
    file: int = 128 * MIB
    """One file."""
    open_files: int = 256
    """Per process."""
    output: int = 8 * MIB
    """Standard output and error together."""

    @property
    def wall_clock(self) -> float:
        """Seconds after which even a run that waits is cut: a machine of its own would need a fraction of them."""
        return PATIENCE * self.seconds

    @property
    def address_space(self) -> int:
        """Per process. Reserving is not using: interpreters and numeric libraries reserve far more than they touch."""
        return 4 * self.memory

    @property
    def files(self) -> int:
        """Names in the run's file system: an empty file costs memory too."""
        return max(4096, self.disk // 4096)
