"""A SLURM of this machine alone: its daemons, run as root in a folder of their own, and what is asked of them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

SETTINGS = """\
ClusterName=repoformer
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2,batch_sched_delay=0,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=300
MinJobAge=3600
KillWait=5
JobRequeue=1
NodeName={names} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports} CPUs=2 RealMemory=500
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


class Cluster:
    """One or two nodes, both on this machine, from start to stop."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.port = 16800 + 10 * nodes  # one of each size may run at the same time
        self._environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._pids = [folder / "slurmctld.pid", *(folder / f"slurmd-{node}.pid" for node in self.nodes)]

    def __enter__(self) -> Cluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "state").mkdir()
        last = len(self.nodes)
        text = SETTINGS.format(
            folder=self.folder,
            host=socket.gethostname(),
            port=self.port,
            names=f"n[1-{last}]",
            ports=f"[{self.port + 1}-{self.port + last}]",
        )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        if not Path("/run/munge/munge.socket.2").exists():
            _start_munge()
            self._pids.append(Path("/run/munge/munged.pid"))
        try:
            self._run("slurmctld")
            for node in self.nodes:
                self._run("slurmd", "-N", node)
            self.until(lambda: self._run("sinfo", "-h", "-o", "%T").split() == ["idle"], "all nodes are idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for file in reversed(self._pids):
            if file.exists():
                pid = int(file.read_text())
                subprocess.run(["kill", str(pid)])
                self.until(lambda pid=pid: not _runs(pid), f"process {pid} has gone")

    def submit(self, *arguments: str | Path, cwd: Path, environment: Mapping[str, str]) -> int:
        """``sbatch`` with these arguments; the number of the job."""
        told = self._run("sbatch", "--parsable", *map(str, arguments), cwd=cwd, environment=environment)
        return int(told)

    def state(self, job: int) -> dict[str, str]:
        """What ``scontrol show job`` says, by name; of an array, the last task's."""
        told = self._run("scontrol", "show", "job", str(job))
        return dict(re.findall(r"(\w+)=(\S*)", told))

    def states(self, job: int) -> list[str]:
        """Of each task of an array, or of a job."""
        return re.findall(r"JobState=(\w+)", self._run("scontrol", "show", "job", str(job)))

    def ended(self, job: int, seconds: float = 400) -> list[str]:
        """Wait for the end of a job or of all tasks of an array; how they ended."""
        going_on = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED"}
        self.until(lambda: not going_on & set(self.states(job)), f"job {job} has ended", seconds)
        return self.states(job)

    def warn(self, job: int) -> None:
        """What SLURM does before the time limit: USR1 to the batch script."""
        self._run("scancel", "--signal=USR1", "--batch", str(job))

    def start_now(self, job: int) -> None:
        """A job that was queued again waits for two minutes; this one does not."""
        self.until(lambda: self.state(job)["JobState"] == "PENDING", f"job {job} is queued again")
        self._run("scontrol", "update", f"jobid={job}", "StartTime=now")

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        """Wait for ``condition``; fails after ``seconds``."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds:g} s: {what}")
            time.sleep(0.2)

    def _run(self, *command: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
        given = {**os.environ, **(environment or {}), **self._environment}
        done = subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.returncode}, {done.stdout}{done.stderr}")
        return done.stdout


def installed() -> bool:
    """Whether the daemons can be started here."""
    return os.geteuid() == 0 and all(shutil.which(name) for name in ("slurmctld", "slurmd", "munged"))


def _runs(pid: int) -> bool:
    """Whether the process is there, and no zombie that nobody waits for."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def _start_munge() -> None:
    Path("/run/munge").mkdir(exist_ok=True)
    shutil.chown("/run/munge", "munge", "munge")
    subprocess.run(["runuser", "-u", "munge", "--", shutil.which("munged") or "munged"], check=True, timeout=60)
