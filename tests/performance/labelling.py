"""Labelling against the plain way: both completions of a blank, and whether its label stays the same.

    repoformer data run RECIPE --stage collect,split,sample,retrieve
    OMP_NUM_THREADS=1 python tests/performance/labelling.py --data OUT [--model pocket] [--blanks 96] [--batch 16]

The plain way pads every prompt so that prompt and completion fill the model's positions, and generates as many tokens
as the budgets allow, once for each arm, in batches as the blanks come; what is too much is cut off afterwards. Time is
the process's own. Exits with 1 where labelling is not 4 times as fast, or where a label differs although no two tokens
were nearly tied.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from repoformer.code.languages import LANGUAGES
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline.generators import LocalGenerator
from repoformer.data_pipeline.label import by_cost
from repoformer.data_pipeline.recipe import Label
from repoformer.data_pipeline.retrieve import BlankInContext
from repoformer.inference.stopping import TokenText
from repoformer.metrics.completion import postprocess
from repoformer.metrics.text import edit_similarity
from repoformer.models.loading import LoadedModel, load_model

WANTED = 4.0
NEAR_TIE = 1e-4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a data run of which `retrieve` is finished")
    parser.add_argument("--model", default="pocket")
    parser.add_argument("--blanks", type=int, default=96)
    parser.add_argument(
        "--plain", type=int, default=32, help="so many of them in the plain way: all take the same time"
    )
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--kind", choices=["chunk", "function"], help="only blanks of this kind")
    arguments = parser.parse_args()
    found = read_parquet(BlankInContext, arguments.data / "retrieve")
    if arguments.kind:
        found = [one for one in found if one.blank.kind == arguments.kind]
    some = random.Random(0).sample(found, min(arguments.blanks, len(found)))
    loaded = load_model(arguments.model)
    compared = some[: arguments.plain]
    fast, fast_seconds = label_fast(loaded, some, arguments.batch)
    plain, plain_seconds = label_plain(loaded, compared, arguments.batch)
    rate, plain_rate = len(some) / fast_seconds, len(compared) / plain_seconds
    differing = [one for one in compared if label(one, fast) != label(one, plain)]
    gaps = [narrowest_gap(loaded, one, fast[one.blank.id], plain[one.blank.id]) for one in differing]
    untied = [gap for gap in gaps if gap > NEAR_TIE]
    print(
        f"{len(some)} blanks: {rate:.2f} a second, plain {plain_rate:.2f}, ratio {rate / plain_rate:.1f}; "
        f"labels equal: {1 - len(differing) / len(compared):.2%} of {len(compared)}, "
        f"{len(untied)} of {len(differing)} differences without a near tie"
    )
    return 0 if rate >= WANTED * plain_rate and not untied else 1


Texts = dict[str, tuple[str, str]]


def label_fast(loaded: LoadedModel, some: Sequence[BlankInContext], batch: int) -> tuple[Texts, float]:
    """As the label stage does."""
    started = time.process_time()
    generator = LocalGenerator(loaded, Label(batch=batch))
    ordered = by_cost(some, generator)
    texts: Texts = {}
    for start in range(0, len(ordered), batch):
        for one in generator.complete(ordered[start : start + batch]):
            texts[one.id] = one.without, one.with_context
    return texts, time.process_time() - started


@torch.inference_mode()
def label_plain(loaded: LoadedModel, some: Sequence[BlankInContext], batch: int) -> tuple[Texts, float]:
    started = time.process_time()
    builder = loaded.builder("base")
    text = TokenText(builder)
    loaded.model.generation_config.eos_token_id = None  # on to the limit, and no token is forbidden
    texts: dict[str, list[str]] = {one.blank.id: [] for one in some}
    for with_context in (False, True):
        for start in range(0, len(some), batch):
            group = some[start : start + batch]
            prompts = [prompt(loaded, one, with_context) for one in group]
            limit = max(builder.budgets.generated(one.blank.kind) for one in group)
            width = (loaded.positions or builder.budgets.prompt + limit) - limit
            ids = torch.tensor([[0] * (width - len(each)) + each for each in prompts])
            mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
            output = loaded.model.generate(ids, attention_mask=mask, max_new_tokens=limit, do_sample=False)
            for one, row in zip(group, output[:, width:].tolist(), strict=True):
                ends = [place for place, token in enumerate(row) if token in text.ends]
                kept = row[: min([*ends, builder.budgets.generated(one.blank.kind)])]
                texts[one.blank.id].append(text.text(kept))
    return {id: (both[0], both[1]) for id, both in texts.items()}, time.process_time() - started


def prompt(loaded: LoadedModel, one: BlankInContext, with_context: bool) -> list[int]:
    builder, blank = loaded.builder("base"), one.blank
    chunks = [ranked.chunk for ranked in one.context.chunks] if with_context else []
    context = builder.cross_file(chunks, LANGUAGES[blank.language].comment)
    return builder.prompt(builder.in_file(blank.left, blank.right), context)


def label(one: BlankInContext, texts: Texts) -> bool:
    def similarity(text: str) -> float:
        return edit_similarity(postprocess(one.blank, text), one.blank.target)

    without, with_context = texts[one.blank.id]
    return similarity(with_context) - similarity(without) > 0


@torch.inference_mode()
def narrowest_gap(loaded: LoadedModel, one: BlankInContext, *ways: tuple[str, str]) -> float:
    """The smallest difference of the two best logits along the completions, by fresh passes over whole prompts."""
    builder = loaded.builder("base")
    narrowest = float("inf")
    for texts in ways:
        for with_context, text in zip((False, True), texts, strict=True):
            start = prompt(loaded, one, with_context)
            logits: Any = loaded.model(torch.tensor([start + builder.encode(text)]), use_cache=False).logits[0]
            best = logits[len(start) - 1 :].topk(2).values
            narrowest = min(narrowest, float((best[:, 0] - best[:, 1]).min()))
    return narrowest


if __name__ == "__main__":
    sys.exit(main())
