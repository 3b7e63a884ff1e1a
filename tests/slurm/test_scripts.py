"""The batch scripts against stubs of SLURM's commands. ``make test-slurm`` submits them to a real one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from repoformer.cli import main

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "slurm").glob("*.sbatch"))
ARGUMENTS = {"train": ["recipe.yaml", "out dir"], "label": ["label", "recipe.yaml"], "eval": ["recipe.yaml"]}

STUBS = {
    # Drops its own options and runs the rest, as on the first of the nodes.
    "srun": 'while [[ $1 == --* ]]; do shift; done\nSLURM_NODEID=0 exec "$@"\n',
    "scontrol": 'if [[ $1 == show ]]; then printf "node1\\nnode2\\n"; else echo "$*" >> "$LOG/scontrol"; fi\n',
    "repoformer": 'printf "%s\\n" "$@" >> "$LOG/repoformer"\n[[ ! -e $LOG/slow ]] || sleep 1\nexit "${STATUS:-0}"\n',
    "accelerate": (
        'printf "%s\\n" "$@" >> "$LOG/accelerate"\n'
        "[[ ! -e $LOG/slow ]] || until [[ -e $OUT/stop ]]; do sleep 0.1; done\n"
        '[[ ! -e $LOG/finishes ]] || touch "$OUT/training.json"\n'
        'exit "${STATUS:-0}"\n'
    ),
}


class Bench:
    """A folder with stubs of all commands, in which scripts are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name, body in STUBS.items():
            (folder / "bin" / name).write_text("#!/usr/bin/env bash\n" + body)
            (folder / "bin" / name).chmod(0o755)
        (folder / "env.sh").write_text("export LAUNCH_CONFIG=ddp.yaml\n")

    def start(
        self, script: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        job = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "LOG": str(self.folder),
            "REPOFORMER_ENV": "env.sh",
            "SLURM_JOB_ID": "41234",
            "SLURM_JOB_NODELIST": "node[1-2]",
            "SLURM_NNODES": "2",
            "SLURM_GPUS_ON_NODE": "4",
        }
        return subprocess.Popen(
            ["bash", str(ROOT / "slurm" / f"{script}.sbatch"), *arguments],
            cwd=self.folder,
            env=job | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, script: str, *arguments: str, **environment: str) -> tuple[int, str]:
        job = self.start(script, *(arguments or ARGUMENTS[script]), environment=environment)
        told, _ = job.communicate(timeout=60)
        return job.returncode, told

    def called(self, command: str) -> list[str]:
        log = self.folder / command
        return log.read_text().splitlines() if log.exists() else []

    def interrupt(self, script: str, **environment: str) -> tuple[int, str]:
        """Send the warning of the time limit once the work has begun."""
        (self.folder / "slow").touch()
        job = self.start(script, *ARGUMENTS[script], environment=environment)
        command = "accelerate" if script == "train" else "repoformer"
        deadline = time.monotonic() + 30
        while not self.called(command) and time.monotonic() < deadline:
            time.sleep(0.05)
        job.send_signal(signal.SIGUSR1)
        told, _ = job.communicate(timeout=60)
        return job.returncode, told


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_short_and_strict(script: Path) -> None:
    text = script.read_text()
    assert len(text.splitlines()) < 50
    assert "\nset -euo pipefail\n" in text
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
    assert "scontrol show hostnames" not in text or "mapfile" in text, "a pipe into head can end in 141"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_names_no_site(script: Path) -> None:
    """Partition, account, modules and paths are a site's: they go to sbatch and to env.sh."""
    directives = re.findall(r"^#SBATCH --([a-z-]+)", script.read_text(), re.MULTILINE)
    assert not {"partition", "account", "qos", "constraint", "nodelist", "gres", "mail-user"} & set(directives)
    assert not re.search(r"module load|/home/|/scratch|conda", script.read_text())
    assert {"signal", "requeue", "open-mode", "time", "output"} <= set(directives)


def test_the_directives_stand_before_the_first_command() -> None:
    """SLURM reads none after it."""
    for script in SCRIPTS:
        lines = script.read_text().splitlines()
        first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
        assert not [line for line in lines[first:] if line.startswith("#SBATCH")]


def test_the_settings_that_come_along_are_all_that_scripts_read() -> None:
    offered = set(re.findall(r"export (\w+)=", (ROOT / "slurm" / "env.example.sh").read_text()))
    read = set(re.findall(r"\$\{?([A-Z_]+)", "".join(script.read_text() for script in SCRIPTS)))
    own = {"RECIPE", "OUT", "MAIN_PORT", "PROCESSES", "SHARDS", "REPOFORMER_ENV"}
    assert {name for name in read if not name.startswith("SLURM_")} - own <= offered


@pytest.mark.parametrize("script", ARGUMENTS)
def test_a_missing_env_sh_is_named(script: str, bench: Bench) -> None:
    (bench.folder / "env.sh").unlink()
    status, told = bench.run(script)
    assert status == 2
    assert "env.sh: not there; copy slurm/env.example.sh to slurm/env.sh and edit it" in told
    assert not bench.called("repoformer") + bench.called("accelerate")


@pytest.mark.parametrize("script", ARGUMENTS)
def test_too_few_arguments_are_told_how(script: str, bench: Bench) -> None:
    job = bench.start(script)
    told, _ = job.communicate(timeout=30)
    assert job.returncode != 0
    assert "usage: sbatch" in told


@pytest.mark.parametrize("script", ARGUMENTS)
def test_a_failure_stays_one_and_is_not_queued_again(script: str, bench: Bench) -> None:
    status, _ = bench.run(script, STATUS="3")
    assert status == 3
    assert not bench.called("scontrol")


def test_training_is_launched_on_all_nodes_with_all_their_gpus(bench: Bench) -> None:
    status, _ = bench.run("train", "recipe.yaml", "out dir", "lambda=0.5", "model=a b")
    assert status == 0
    assert bench.called("accelerate") == [
        *("launch", "--config_file", "ddp.yaml", "--num_machines", "2", "--num_processes", "8", "--machine_rank", "0"),
        *("--main_process_ip", "node1", "--main_process_port", str(20000 + 41234 % 20000)),
        *("-m", "repoformer.training.cli", "recipe.yaml", "out=out dir", "lambda=0.5", "model=a b"),
    ]
    assert not bench.called("scontrol"), "through, so it is not queued again"


def test_processes_per_node_go_before_gpus(bench: Bench) -> None:
    bench.run("train", PROCESSES_PER_NODE="1")
    launched = bench.called("accelerate")
    assert launched[launched.index("--num_processes") + 1] == "2"


def test_training_saves_at_the_time_limit_and_is_queued_again(bench: Bench) -> None:
    status, told = bench.interrupt("train")
    assert status == 0, told
    assert bench.called("scontrol") == ["requeue 41234"]
    assert not (bench.folder / "out dir" / "stop").exists()


def test_training_that_was_through_anyway_is_not_queued_again(bench: Bench) -> None:
    (bench.folder / "finishes").touch()
    status, _ = bench.interrupt("train")
    assert status == 0
    assert not bench.called("scontrol")


def test_training_that_fails_while_it_stops_is_not_queued_again(bench: Bench) -> None:
    status, _ = bench.interrupt("train", STATUS="3")
    assert status == 3
    assert not bench.called("scontrol")


def test_a_task_of_an_array_labels_its_shard(bench: Bench) -> None:
    bench.run("label", "label", "recipe.yaml", "label.device=cuda", SLURM_ARRAY_TASK_ID="7")
    assert bench.called("repoformer") == [
        *("data", "run", "recipe.yaml", "--stage", "label", "--shard", "7", "label.device=cuda"),
    ]


def test_a_stage_over_all_shards_needs_no_array(bench: Bench) -> None:
    bench.run("label", "split", "recipe.yaml")
    assert bench.called("repoformer") == ["data", "run", "recipe.yaml", "--stage", "split"]


def test_evaluation_runs_whole_or_generates_its_share(bench: Bench) -> None:
    bench.run("eval", "recipe.yaml", "out=there")
    assert bench.called("repoformer") == ["eval", "run", "recipe.yaml", "out=there"]
    (bench.folder / "repoformer").unlink()
    bench.run("eval", SLURM_ARRAY_TASK_ID="3", SHARDS="8")
    assert bench.called("repoformer") == ["eval", "generate", "recipe.yaml", "--shard", "3/8"]
    status, told = bench.run("eval", SLURM_ARRAY_TASK_ID="3")
    assert status != 0
    assert "an array needs --export=ALL,SHARDS=N" in told


@pytest.mark.parametrize("script", ["label", "eval"])
def test_work_that_goes_on_by_itself_is_queued_again_at_the_time_limit(script: str, bench: Bench) -> None:
    bench.interrupt(script)
    assert bench.called("scontrol") == ["requeue 41234"]


def test_the_commands_that_scripts_start_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for words, option in (
        (["data", "run"], "--shard"),
        (["data", "run"], "--stage"),
        (["eval", "generate"], "--shard"),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        assert option in capsys.readouterr().out
