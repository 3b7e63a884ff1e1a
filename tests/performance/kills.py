"""Twenty kills at random moments of a data run, then the end result against that of a run that nobody killed.

    OMP_NUM_THREADS=1 python tests/performance/kills.py RECIPE [section.key=value ...] [--kills 20] [--workers 2]

The process group is sent SIGKILL, workers and all. Moments are drawn over the time that the undisturbed run took, start
of Python included, and a run that ends before its kill counts too; so that every stage is hit, OUT is emptied whenever
a run has come to its end. Compared are the bytes of every part and of the card. Exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

STAGES = ("collect", "sample", "retrieve", "label", "assemble")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        calm, killed = Path(folder, "calm"), Path(folder, "killed")

        def command(out: Path) -> list[str]:
            line = [sys.executable, "-P", "-m", "repoformer", "data", "run", arguments.recipe, *arguments.overrides]
            return [*line, f"out={out}", "--workers", str(arguments.workers)]

        seconds = run(command(calm))
        print(f"undisturbed: {seconds:.1f} s", flush=True)
        where: Counter[str] = Counter()
        while sum(where.values()) < arguments.kills:
            if Path(killed, "data-card.json").is_file():
                shutil.rmtree(killed)
            if kill(command(killed), draw.uniform(0.1, 0.6) * seconds):
                where[stage_of(killed)] += 1
                print(f"kill {sum(where.values())}: in {stage_of(killed)}", flush=True)
        run(command(killed))
        differing = compare(calm, killed)
    print(f"{arguments.kills} kills ({', '.join(f'{stage} {count}' for stage, count in where.items())}): ", end="")
    print(f"differing: {', '.join(differing)}" if differing else "the same end result")
    return 1 if differing else 0


def run(command: Sequence[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def kill(command: Sequence[str], after: float) -> bool:
    """Start a run and kill its processes after so many seconds; False where it had ended by itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def stage_of(out: Path) -> str:
    """The first stage that is not finished: where the kill hit."""
    for stage in STAGES:
        parts = sorted(Path(out, stage).glob("*.done.json"))
        if not parts or len(parts) < int(parts[0].name.rpartition("-of-")[2].partition(".")[0]):
            return stage
    return "card"


def compare(calm: Path, killed: Path) -> list[str]:
    """Files that are not alike, and what a kill left lying about."""
    names = {str(path.relative_to(calm)) for path in calm.rglob("*") if path.is_file()}
    others = {str(path.relative_to(killed)) for path in killed.rglob("*") if path.is_file()}
    same = {name for name in names & others if contents(calm / name) == contents(killed / name)}
    return sorted((names | others) - same)


def contents(path: Path) -> object:
    """What must be the same: not how long a shard took, nor when and where a run was started."""
    if path.name == "run.json":
        return None
    if path.name.endswith(".done.json"):
        return {**json.loads(path.read_text()), "seconds": None}
    return path.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
