"""What only a GPU can show, on one, in under eight minutes; prints one line for each measurement, exits 1 if any fails.

    python tests/gpu/one_gpu.py

- packed bfloat16 losses equal those of each sequence alone, to bfloat16's precision;
- a StarCoderBase-1B-shaped model with random weights trains: tokens a second, peak memory, and ``plan``'s estimate;
- the same loop under ``recipes/accelerate/zero3.yaml`` and ``fsdp.yaml`` with one process: trains, saves, exports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import yaml
from torch.nn.functional import cross_entropy

from repoformer.code.records import Example
from repoformer.code.storage import write_parquet
from repoformer.config import parse_recipe
from repoformer.planning.architectures import Architecture, architecture
from repoformer.planning.memory import GIB, STRATEGIES, Load, memory
from repoformer.training.losses import LossModel
from repoformer.training.micro_batch import pack
from repoformer.training.packed_attention import attending_packed
from repoformer.training.recipe import TrainRecipe
from repoformer.training.sequence import TrainingSequence
from repoformer.training.start import set_dropout
from repoformer.training.step import build_optimizer

CONFIGS = Path(__file__).resolve().parents[2] / "recipes" / "accelerate"
GPU = torch.device("cuda")


def main() -> int:
    """Run all checks; 1 if one fails."""
    if not torch.cuda.is_available():
        print("no GPU is visible here; nothing was checked", file=sys.stderr)
        return 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    failed = 0
    for check in (packed_bfloat16, one_b_trains_as_planned, zero3, fsdp):
        started = time.perf_counter()
        try:
            found = check()
        except Exception as error:
            failed += 1
            found = f"FAILED, {type(error).__name__}: {error}"
        print(f"{check.__name__}: {found} ({time.perf_counter() - started:.0f} s)", flush=True)
        torch.cuda.empty_cache()
    return min(failed, 1)


def packed_bfloat16() -> str:
    """Sequences in one row against each alone, in bfloat16."""
    torch.manual_seed(0)
    model = architecture("bigcode/starcoderbase-1b").build(4, torch.bfloat16, "cuda").eval()
    sequences = [sequence(length, target) for length, target in ((700, 60), (33, 5), (2048, 256), (512, 1))]
    with torch.no_grad():
        with attending_packed(model):
            packed = LossModel(model, 0)(pack(sequences).to(GPU)).generation
        alone = []
        for one in sequences:
            ids = torch.tensor([one.ids], device=GPU)
            logits = model(input_ids=ids, use_cache=False).logits[0].float()
            alone.append(cross_entropy(logits[one.target_start - 1 : -1], ids[0, one.target_start :], reduction="none"))
    difference = float((packed - torch.cat(alone)).abs().max())
    assert difference < 0.05, f"losses differ by {difference}"
    return f"losses differ by at most {difference:.4f}"


def one_b_trains_as_planned() -> str:
    """Steps of the paper's recipe on one GPU: throughput, and peak memory beside the plan's."""
    shape = architecture("bigcode/starcoderbase-1b")
    found = []
    for checkpointing in (True, False):
        recipe = paper_like(activation_checkpointing=checkpointing)
        tokens_per_second, peak = train_alone(shape, recipe)
        load = Load(recipe.micro_batch * 2048, recipe.micro_batch * 257)
        planned = memory(shape, recipe, STRATEGIES["ddp"], 1, load)
        estimate = planned.total - planned.reserved
        assert abs(estimate - peak) < 0.2 * peak, f"planned {estimate:.1f} GiB, measured {peak:.1f}"
        found.append(
            f"checkpointing {checkpointing}: {tokens_per_second:,.0f} tokens/s, peak {peak:.1f} GiB, "
            f"planned {estimate:.1f} GiB"
        )
        torch.cuda.empty_cache()
    return "; ".join(found)


def zero3() -> str:
    """One-rank ZeRO-3."""
    return launch("zero3")


def fsdp() -> str:
    """One-rank FSDP."""
    return launch("fsdp")


def sequence(length: int, target: int) -> TrainingSequence:
    """Random tokens, the last ``target`` of them generated."""
    ids = torch.randint(0, 49152, (length,)).tolist()
    return TrainingSequence("", tuple(ids), length - target - 1, length - target, False)


def paper_like(**values: Any) -> TrainRecipe:
    """The paper's values on one GPU, with two forward passes in a step."""
    needed = {"model": "bigcode/starcoderbase-1b", "data": "d", "out": "o", "batch": 8, "micro_batch": 4}
    return parse_recipe(TrainRecipe, needed | {"precision": "bfloat16", "dropout": 0.1} | values, "recipe")


def train_alone(shape: Architecture, recipe: TrainRecipe) -> tuple[float, float]:
    """Tokens a second, and the peak in GiB, of four steps after one to warm up."""
    torch.manual_seed(0)
    model = shape.build(shape.layers, torch.float32, "cuda").train()
    set_dropout(model, recipe.dropout)
    if recipe.activation_checkpointing:
        model.activation_checkpointing_enable()
    loss_model = LossModel(model, 0).train()
    optimizer = build_optimizer(loss_model, recipe)
    batch = pack([sequence(2048, 256) for _ in range(recipe.micro_batch)]).to(GPU)
    torch.cuda.reset_peak_memory_stats()
    passes = recipe.accumulation(1)
    with attending_packed(model):
        for step in range(5):
            if step == 1:
                torch.cuda.synchronize()
                started = time.perf_counter()
            for _ in range(passes):
                with torch.autocast("cuda", torch.bfloat16):
                    loss = loss_model(batch).generation.mean()
                loss.backward()
            torch.nn.utils.clip_grad_norm_(loss_model.parameters(), recipe.clip_norm)
            optimizer.step()
            optimizer.zero_grad()
    torch.cuda.synchronize()
    tokens = 4 * passes * recipe.micro_batch * 2048
    return tokens / (time.perf_counter() - started), torch.cuda.max_memory_allocated() / GIB


def launch(name: str) -> str:
    """The trainer's own entry, in one process under a launcher, on a small model with real files."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        recipe = Path(folder) / "recipe.yaml"
        values = {"model": str(small_model(Path(folder))), "data": str(small_data(Path(folder))), "out": str(out)}
        steps = {"batch": 4, "micro_batch": 2, "epochs": 2, "warmup_steps": 2, "learning_rate": 1e-3, "save_every": 2}
        recipe.write_text(yaml.safe_dump({**values, **steps, "precision": "bfloat16"}))
        command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(CONFIGS / f"{name}.yaml")]
        done = subprocess.run(
            [*command, "--num_processes", "1", "-m", "repoformer.training.cli", str(recipe)],
            cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        losses = [json.loads(line).get("loss") for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert (out / "model.safetensors").exists()
        return f"losses {', '.join(f'{loss:.3f}' for loss in losses if loss is not None)}; exported"


def small_model(folder: Path) -> Path:
    """A StarCoder of 4 layers with random weights and a byte-level tokenizer that has its control tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM, PreTrainedTokenizerFast

    controls = ["<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"]
    vocabulary = [*controls, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(vocabulary)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=controls[0], bos_token=controls[0])
    fast.add_special_tokens({"extra_special_tokens": controls[1:]})
    config = GPTBigCodeConfig(
        vocab_size=len(fast), n_positions=1024, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
    )
    GPTBigCodeForCausalLM(config).save_pretrained(folder / "model")
    fast.save_pretrained(folder / "model")
    return folder / "model"


def small_data(folder: Path) -> Path:
    """Eight examples to train on, four to validate with."""
    for split, number in (("train", 8), ("validation", 4)):
        rows = [
            Example(f"{split}{n}", "r", "line", 0.5 - n % 2, (40 + n,) * 100, (50,) * 30, (60 + n,) * 40, (70 + n,) * 9)
            for n in range(number)
        ]
        write_parquet(folder / "data" / split / "part-00000-of-00001.parquet", rows)
    return folder / "data"


if __name__ == "__main__":
    sys.exit(main())
