"""Training packed, with a head only where a loss is, against padding to the context length with full logits.

    OMP_NUM_THREADS=1 python tests/performance/training.py [--examples 4] [--shapes pocket starcoder]

Three ways to the same gradients take turns, example group by example group, in one process:

- ``packed``: what the trainer does;
- ``padded, lean head``: one row of the context length for each example, the head still only where a loss is;
- ``padded, full logits``: the same rows, and a logit for every place: what the paper's code does.

The second against the first is the gain of packing alone; its ideal is padded tokens / real tokens. Time is the
process's own, so that a busy machine blurs little; the update of the optimiser, the same in all three, is left out.
Memory is what the allocator hands out while the head and the loss run forward and backward, at its highest, without the
gradient of the head's weights, which does not depend on the number of tokens.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile
from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

from repoformer.training.losses import LossModel, LossWeights, loss_sums
from repoformer.training.micro_batch import MicroBatch, pack
from repoformer.training.objectives import OBJECTIVES
from repoformer.training.packed_attention import attending_packed
from repoformer.training.sequence import TrainingSequence

OBJECTIVE = OBJECTIVES["selective"]
PACKED, PADDED, FULL = "packed", "padded, lean head", "padded, full logits"


@dataclass(frozen=True)
class Shape:
    """A model, the lengths of its training examples in tokens, and what they would be padded to."""

    width: int
    layers: int
    heads: int
    vocabulary: int
    padded_to: int
    lengths: tuple[int, int]
    targets: tuple[int, int]
    group: int
    """Examples in one forward pass."""

    def model(self) -> Any:
        torch.manual_seed(0)
        config = GPTBigCodeConfig(
            vocab_size=self.vocabulary,
            n_positions=self.padded_to,
            n_embd=self.width,
            n_layer=self.layers,
            n_head=self.heads,
            n_inner=4 * self.width,
            multi_query=True,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
        return GPTBigCodeForCausalLM(config)


SHAPES = {
    "pocket": Shape(192, 5, 4, 2050, 1024, (350, 800), (20, 150), group=4),
    "pocket-2048": Shape(192, 5, 4, 2050, 2048, (350, 800), (20, 150), group=4),
    # Two of the 24 layers of StarCoderBase-1B. Section 4.1: targets of 3.5 lines, of functions 11.8 lines.
    "starcoder": Shape(2048, 2, 16, 49154, 2048, (1250, 1500), (40, 140), group=2),
}


def sequences_of(shape: Shape, number: int) -> list[TrainingSequence]:
    """Random tokens of these lengths, each with a decision before the target."""
    rng = random.Random(0)
    found = []
    for place in range(number):
        length = rng.randint(*shape.lengths)
        ids = tuple(rng.randrange(1, shape.vocabulary) for _ in range(length))
        start = length - rng.randint(*shape.targets)
        found.append(TrainingSequence(str(place), ids, start - rng.choice((1, 200)), start, bool(place % 2)))
    return found


def padded_rows(sequences: Sequence[TrainingSequence], padded_to: int) -> torch.Tensor:
    """[sequences, padded_to], token 0 behind each sequence: causal attention never looks there."""
    rows = torch.zeros(len(sequences), padded_to, dtype=torch.long)
    for row, sequence in zip(rows, sequences, strict=True):
        row[: len(sequence.ids)] = torch.tensor(sequence.ids)
    return rows


def labels_of(sequences: Sequence[TrainingSequence], padded_to: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets and decisions for every place, shifted to where they are predicted; -100 where there is none."""
    target, decision = (torch.full((len(sequences), padded_to), -100) for _ in range(2))
    for row, one in enumerate(sequences):
        target[row, one.target_start - 1 : len(one.ids) - 1] = torch.tensor(one.targets)
        decision[row, one.decision - 1] = one.ids[one.decision]
    return target, decision


def places_in_rows(sequences: Sequence[TrainingSequence], batch: MicroBatch, padded_to: int) -> torch.Tensor:
    """Where the predicting places of a packed row stand among the flattened places of padded rows."""
    shift, start = [], 0
    for row, one in enumerate(sequences):
        shift += [row * padded_to - start] * len(one.ids)
        start += len(one.ids)
    predicting = torch.cat([batch.decision_at, batch.target_at])
    return predicting + torch.tensor(shift)[predicting]


class Ways:
    """The three ways from a group of sequences to the sums of both losses."""

    def __init__(self, model: Any, padded_to: int) -> None:
        self.model = model
        self.padded_to = padded_to

    def packed(self, sequences: Sequence[TrainingSequence]) -> tuple[torch.Tensor, torch.Tensor]:
        batch = pack(sequences)
        with attending_packed(self.model):
            return loss_sums(LossModel(self.model, 1)(batch), batch)

    def padded(self, sequences: Sequence[TrainingSequence]) -> tuple[torch.Tensor, torch.Tensor]:
        batch = pack(sequences)
        rows = padded_rows(sequences, self.padded_to)
        hidden = self.model.base_model(input_ids=rows, use_cache=False).last_hidden_state.flatten(0, 1)
        logits = self.model.lm_head(hidden[places_in_rows(sequences, batch, self.padded_to)]).float()
        losses = cross_entropy(logits, torch.cat([batch.decision, batch.target]), reduction="none")
        return losses[len(batch.decision) :].sum(), losses[: len(batch.decision)].sum()

    def full(self, sequences: Sequence[TrainingSequence]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = padded_rows(sequences, self.padded_to)
        target, decision = labels_of(sequences, self.padded_to)
        logits = self.model(input_ids=rows, use_cache=False).logits.float().flatten(0, 1)
        generation = cross_entropy(logits, target.flatten(), ignore_index=-100, reduction="sum")
        return generation, cross_entropy(logits, decision.flatten(), ignore_index=-100, reduction="sum")


def peak_of_head(model: Any, places: int, predicting: int, spread: bool) -> int:
    """Bytes at their highest while head and losses run forward and backward on ``places`` hidden states.

    ``spread``: full logits, ``predicting`` of which carry a loss, and two losses over them, as in the paper's code.
    """
    head = model.lm_head
    head.weight.requires_grad_(False)
    hidden = torch.randn(places, head.weight.shape[1], requires_grad=True)
    label = torch.full((places,), -100) if spread else torch.ones(places, dtype=torch.long)
    label[-predicting:] = 1
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        logits = head(hidden).float()
        loss = cross_entropy(logits, label, reduction="sum")
        if spread:
            decision = torch.full((places,), -100)
            decision[0] = 1
            loss = loss + cross_entropy(logits, decision, reduction="sum")
        loss.backward()
    head.weight.requires_grad_(True)
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        highest = max(highest, held)
    return highest


def measure(name: str, shape: Shape, number: int) -> dict[str, Any]:
    """Times, losses and memory of the three ways on ``number`` examples."""
    model = shape.model()
    ways = Ways(model, shape.padded_to)
    sequences = sequences_of(shape, number)
    weights = LossWeights.of(OBJECTIVE, sequences, 1.0, 1.0)
    seconds = dict.fromkeys((PACKED, PADDED, FULL), 0.0)
    sums = {way: torch.zeros(2, dtype=torch.float64) for way in seconds}
    passes: dict[str, Callable[..., tuple[torch.Tensor, torch.Tensor]]] = {
        PACKED: ways.packed,
        PADDED: ways.padded,
        FULL: ways.full,
    }
    ways.packed(sequences[:1])  # first allocations are nobody's
    for start in range(0, number, shape.group):
        group = sequences[start : start + shape.group]
        for way, forward in passes.items():
            model.zero_grad()
            began = time.process_time()
            generation, decision = forward(group)
            weights.loss(generation, decision).backward()
            seconds[way] += time.process_time() - began
            sums[way] += torch.stack([generation, decision]).detach().double()
            print(f"{name}: {start + len(group)}/{number} {way} {seconds[way]:.1f} s", file=sys.stderr)

    group = sequences[: shape.group]
    predicting = sum(len(one.targets) + 1 for one in group)
    lean = peak_of_head(model, predicting, predicting, spread=False)
    full = peak_of_head(model, shape.group * shape.padded_to, predicting, spread=True)
    lengths = [len(one.ids) for one in sequences]
    losses = {way: weights.means(*sums[way].tolist()).loss for way in sums}
    ideal = shape.padded_to * number / sum(lengths)
    return {
        "shape": name,
        "examples": number,
        "lengths": f"{min(lengths)}-{max(lengths)}, mean {sum(lengths) / number:.0f}, padded to {shape.padded_to}",
        "tokens with a loss": round(sum(len(one.targets) + 1 for one in sequences) / sum(lengths), 4),
        "ideal gain of packing": round(ideal, 3),
        "gain of packing": round(seconds[PADDED] / seconds[PACKED], 3),
        "share of the ideal": round(seconds[PADDED] / seconds[PACKED] / ideal, 3),
        "head and logits, MiB": {"lean": round(lean / 2**20, 1), "full": round(full / 2**20, 1)},
        "share of full logits' memory": round(lean / full, 4),
        "examples per second": {way: round(number / taken, 4) for way, taken in seconds.items()},
        "times as fast as padded with full logits": round(seconds[FULL] / seconds[PACKED], 2),
        "loss": losses,
        "largest difference of losses": max(losses.values()) - min(losses.values()),
    }


def missed(found: dict[str, Any]) -> list[str]:
    """What the figures fall short of."""
    checks = {
        "packing gains less than 90 % of the ideal": found["share of the ideal"] < 0.9,
        "head and logits take more than 10 % of full logits": found["share of full logits' memory"] > 0.1,
        "losses differ by more than 1e-5": found["largest difference of losses"] > 1e-5,
        "slower than padding": found["times as fast as padded with full logits"] < 1,
    }
    return [f"{found['shape']}: {what}" for what, holds in checks.items() if holds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=4)
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    arguments = parser.parse_args()
    failures = []
    for name in arguments.shapes:
        found = measure(name, SHAPES[name], arguments.examples)
        print(json.dumps(found, indent=2), flush=True)
        failures += missed(found)
    print("\n".join(failures) or "all targets met")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
