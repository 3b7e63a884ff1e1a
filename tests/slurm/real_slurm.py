"""The batch scripts on a real SLURM, started here: ``make test-slurm``. Needs root, slurm-wlm and munge."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from repoformer.cli import main
from repoformer.code.records import Example
from repoformer.code.storage import write_parquet
from repoformer.models.loading import POCKET
from repoformer.models.settings import ModelSettings, save_settings

HERE = Path(__file__).resolve().parent
SLURM = HERE.parents[1] / "slurm"
CPU = HERE.parents[1] / "recipes" / "accelerate" / "cpu.yaml"
MANY = 10**6


def sibling(name: str) -> Any:
    """A module beside this one, which pytest does not put on the path."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cluster = sibling("cluster")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an ``env.sh`` for this machine: no GPU, one process on each node."""
    folder = tmp_path_factory.mktemp("work")
    settings = {
        "PATH": f"{Path(sys.executable).parent}:$PATH",
        "LAUNCH_CONFIG": str(CPU),
        "PROCESSES_PER_NODE": "1",
        "ACCELERATE_USE_CPU": "true",
        "MAIN_ADDRESS": "127.0.0.1",
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    (folder / "env.sh").write_text("".join(f'export {name}="{value}"\n' for name, value in settings.items()))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, tiny_tokenizer: Any) -> str:
    """The pocket model where it is installed, else a tiny one with random weights."""
    if any(POCKET.glob("*.safetensors")):
        return "pocket"
    folder = tmp_path_factory.mktemp("model")
    tiny_model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    save_settings(folder, ModelSettings(preset="pocket"))
    return str(folder)


@pytest.fixture(scope="module")
def one_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with cluster.Cluster(tmp_path_factory.mktemp("one-node"), 1) as started:
        yield started


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with cluster.Cluster(tmp_path_factory.mktemp("two-nodes"), 2) as started:
        yield started


def submit(started: Any, work: Path, script: str, *arguments: str, options: tuple[str, ...] = ()) -> int:
    environment = {"REPOFORMER_ENV": str(work / "env.sh")}
    return int(started.submit(*options, SLURM / f"{script}.sbatch", *arguments, cwd=work, environment=environment))


def log(work: Path, pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted(work.glob(pattern)))


def test_labelling_in_an_array_then_evaluation(one_node: Any, work: Path, model: str) -> None:
    """Two shards in two tasks, then what is made of all shards; then the evaluation of what was held out."""
    repositories = sibling("repositories")
    repositories.write(work / "repositories")
    recipe = work / "data.yaml"
    recipe.write_text(
        yaml.safe_dump(
            {
                "out": str(work / "data"),
                "shards": 2,
                "sources": [{"kind": "folder", "path": str(work / "repositories")}],
                "licences": ["MIT"],
                "split": {"validation": 0.2, "test": 0.2},
                "sample": {"chunks_per_repository": 3, "functions_per_repository": 1},
                "label": {"model": model, "batch": 8},
            }
        )
    )
    assert main(["data", "run", str(recipe), "--stage", "collect,split,sample,retrieve"]) == 0
    labelling = submit(one_node, work, "label", "label", str(recipe), options=("--array=0-1",))
    assert one_node.ended(labelling) == ["COMPLETED"] * 2, log(work, "repoformer-label-*.log")
    assert len(list((work / "data" / "label").rglob("*.done.json"))) == 2
    rest = submit(one_node, work, "label", "assemble,card", str(recipe))
    assert one_node.ended(rest) == ["COMPLETED"], log(work, f"repoformer-label-{rest}.log")
    assert (work / "data" / "data-card.json").exists()

    evaluation = work / "eval.yaml"
    models = [{"name": "base", "path": model}]
    evaluation.write_text(
        yaml.safe_dump(
            {"data": str(work / "data"), "out": str(work / "eval"), "models": models, "limit": 4, "latency_blanks": 0}
        )
    )
    job = submit(one_node, work, "eval", str(evaluation))
    assert one_node.ended(job) == ["COMPLETED"], log(work, f"repoformer-eval-{job}.log")
    assert (work / "eval" / "summary.json").exists()


def test_a_missing_env_sh_fails_the_job(one_node: Any, work: Path) -> None:
    job = one_node.submit(
        SLURM / "train.sbatch", "recipe.yaml", "out", cwd=work, environment={"REPOFORMER_ENV": "nowhere.sh"}
    )
    assert one_node.ended(job) == ["FAILED"]
    assert one_node.state(job)["ExitCode"] == "2:0"
    assert "nowhere.sh: not there" in log(work, f"repoformer-train-{job}.log")


def training(work: Path, model: str, **changes: Any) -> str:
    """A recipe of 300 steps that saves only when it is asked to stop, and at its end."""
    for split, number in (("train", 12), ("validation", 4)):
        rows = [
            Example(f"{split}{n}", "r", "line", 0.5 - n % 2, (40 + n,) * 30, (50,) * 9, (60 + n,) * 8, (70 + n, 71))
            for n in range(number)
        ]
        write_parquet(work / "examples" / split / "part-00000-of-00001.parquet", rows)
    values = {
        "model": model,
        "data": str(work / "examples"),
        "out": "replaced",
        "epochs": 100,
        "batch": 4,
        "micro_batch": 1,
        "learning_rate": 1e-3,
        "dropout": 0.1,
        "evaluate_every": MANY,
        "save_every": MANY,
        **changes,
    }
    recipe = work / "train.yaml"
    recipe.write_text(yaml.safe_dump(values))
    return str(recipe)


def steps(out: Path) -> int:
    if not (out / "metrics.jsonl").exists():
        return 0
    return sum("gradient_norm" in line for line in (out / "metrics.jsonl").read_text().splitlines())


def test_training_on_two_nodes_stopped_and_queued_again_ends_like_one_undisturbed(
    two_nodes: Any, work: Path, model: str
) -> None:
    recipe = training(work, model)
    straight, stopped = work / "straight", work / "stopped"
    job = submit(two_nodes, work, "train", recipe, str(straight), options=("--nodes=2",))
    assert two_nodes.ended(job) == ["COMPLETED"], log(work, f"repoformer-train-{job}.log")
    assert two_nodes.state(job)["Restarts"] == "0"

    job = submit(two_nodes, work, "train", recipe, str(stopped), options=("--nodes=2",))
    two_nodes.until(lambda: steps(stopped) > 5, "the run has begun", 300)
    two_nodes.warn(job)
    two_nodes.until(lambda: two_nodes.state(job)["Restarts"] == "1", "it is queued again", 300)
    saved = steps(stopped)
    assert 5 < saved < 300, "or it was not stopped in the middle"
    assert not (stopped / "training.json").exists()
    two_nodes.start_now(job)
    assert two_nodes.ended(job) == ["COMPLETED"], log(work, f"repoformer-train-{job}.log")
    assert two_nodes.state(job)["Restarts"] == "1"
    told = log(work, f"repoformer-train-{job}.log")
    print(f"stopped at step {saved}\n{told}")
    assert f"going on from step {saved}" in told

    assert json.loads((stopped / "training.json").read_text())["step"] == 300
    one, other = (load_file(out / "model.safetensors") for out in (straight, stopped))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_batch_that_does_not_divide_fails_the_job_and_is_not_queued_again(
    two_nodes: Any, work: Path, model: str
) -> None:
    job = submit(two_nodes, work, "train", training(work, model, batch=3), str(work / "odd"), options=("--nodes=2",))
    assert two_nodes.ended(job) == ["FAILED"]
    assert two_nodes.state(job)["Restarts"] == "0"
    assert "batch=3 is not a multiple of 2 processes" in log(work, f"repoformer-train-{job}.log")
