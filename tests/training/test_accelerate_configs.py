"""``recipes/accelerate/*.yaml`` by accelerate's own parser: what it launches, and what it tells the processes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

from repoformer.planning.memory import STRATEGIES

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "accelerate"
CONFIGS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def launch(name: str, *options: str) -> Namespace:
    """What ``accelerate launch`` makes of its configuration file and of options beside it."""
    words = ["--config_file", str(FOLDER / f"{name}.yaml"), *options, "-m", "repoformer.training.cli", "RECIPE"]
    arguments, _, _ = _validate_launch_command(launch_command_parser().parse_args(words))
    return arguments


def environment(name: str) -> dict[str, str]:
    arguments = launch(name)
    arguments.deepspeed_fields_from_accelerate_config = ""  # as its own entry does for a file without them
    return prepare_deepspeed_cmd_env(arguments)[1] if arguments.use_deepspeed else prepare_multi_gpu_env(arguments)


def test_each_strategy_of_the_plan_can_be_launched() -> None:
    assert set(CONFIGS) == {*STRATEGIES, "cpu"}


@pytest.mark.parametrize("name", CONFIGS)
def test_it_launches_the_trainer_as_a_module_in_as_many_processes_as_it_says(name: str) -> None:
    arguments = launch(name)
    assert (arguments.training_script, arguments.training_script_args) == ("repoformer.training.cli", ["RECIPE"])
    assert arguments.module
    assert arguments.num_processes == (2 if name == "cpu" else 8)
    assert not arguments.cpu, "which is one process, whatever their number"


@pytest.mark.parametrize("name", CONFIGS)
def test_the_command_line_goes_before_it_as_batch_scripts_need(name: str) -> None:
    options = ("--num_processes", "16", "--num_machines", "2", "--machine_rank", "1")
    arguments = launch(name, *options, "--main_process_ip", "node1", "--main_process_port", "29501")
    assert (arguments.num_processes, arguments.num_machines, arguments.machine_rank) == (16, 2, 1)
    assert (arguments.main_process_ip, int(arguments.main_process_port)) == ("node1", 29501)


@pytest.mark.parametrize("name", CONFIGS)
def test_precision_and_accumulation_are_left_to_the_recipe(name: str) -> None:
    told = environment(name)
    assert told["ACCELERATE_MIXED_PRECISION"] == "no"
    assert told.get("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "1") == "1"


@pytest.mark.parametrize(("name", "stage"), [("zero2", "2"), ("zero3", "3")])
def test_zero(name: str, stage: str) -> None:
    told = environment(name)
    assert told["ACCELERATE_USE_DEEPSPEED"] == "true"
    assert told["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == stage
    if stage == "3":
        assert told["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"] == "true", "or the export could not gather weights"
    assert launch(name).deepspeed_multinode_launcher == "standard"


def test_fsdp() -> None:
    told = environment("fsdp")
    assert told["ACCELERATE_USE_FSDP"] == "true"
    assert told["FSDP_VERSION"] == "2"
    assert told["FSDP_AUTO_WRAP_POLICY"] == "TRANSFORMER_BASED_WRAP"
    assert told["FSDP_STATE_DICT_TYPE"] == "FULL_STATE_DICT"


def test_ddp_and_cpu_ask_for_nothing_else() -> None:
    for name in ("ddp", "cpu"):
        told = environment(name)
        assert not {"ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"} & {key for key in told if told[key] == "true"}
