"""Twenty kills at random moments of a data run, then the end result against that of a run that nobody killed.

    OMP_NUM_THREADS=1 python tests/performance/kills.py RECIPE [section.key=value ...] [--kills 20] [--workers 2]

The process group is sent SIGKILL, workers and all, in each stage in turn: a random time after the stage before it was
finished, within what the stage took when nobody disturbed it, or less where a kill came too late. Compared are the
bytes of every part and of the card, and that nothing else lies about. Exits with 1 where something differs.
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

        run(command(calm))
        print("undisturbed:", {stage: round(seconds_of(calm, stage), 1) for stage in STAGES}, flush=True)
        within = {stage: seconds_of(calm, stage) / arguments.workers for stage in STAGES}
        where: Counter[str] = Counter()
        while sum(where.values()) < arguments.kills:
            stage = STAGES[sum(where.values()) % len(STAGES)]
            if reached(killed, stage) > 0:  # it is behind it: from the start
                shutil.rmtree(killed)
            after = draw.uniform(0, within[stage])
            if kill(command(killed), killed, stage, after):
                where[stage] += 1
                print(f"kill {sum(where.values())}: in {stage}", flush=True)
            else:
                within[stage] = after
        run(command(killed))
        differing = compare(calm, killed)
    print(f"{arguments.kills} kills ({', '.join(f'{stage} {count}' for stage, count in where.items())}): ", end="")
    print(f"differing: {', '.join(differing)}" if differing else "the same end result")
    return 1 if differing else 0


def run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill(command: Sequence[str], out: Path, stage: str, after: float) -> bool:
    """Start a run and kill its processes so many seconds after it has reached a stage; False where it was over."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while reached(out, stage) < 0 and process.poll() is None:
        time.sleep(0.02)
    time.sleep(after)
    over = process.poll() is not None or reached(out, stage) > 0
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return not over


def reached(out: Path, stage: str) -> int:
    """-1 before a stage (before OUT is there, for the first), 0 in it, 1 behind it."""
    here = next((place for place, each in enumerate(STAGES) if not finished(out, each)), len(STAGES))
    wanted = STAGES.index(stage)
    return -1 if not out.is_dir() else (here > wanted) - (here < wanted)


def finished(out: Path, stage: str) -> bool:
    parts = sorted(Path(out, stage).glob("part-*.done.json"))
    return bool(parts) and len(parts) == int(parts[0].name.rpartition("-of-")[2].partition(".")[0])


def seconds_of(out: Path, stage: str) -> float:
    return sum(json.loads(path.read_text())["seconds"] for path in Path(out, stage).glob("part-*.done.json"))


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
