"""Reading examples, setting aside those that cannot be trained on, and telling data sets apart."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from repoformer.code.records import Example
from repoformer.code.storage import read_json, read_parquet
from repoformer.errors import UserError
from repoformer.seeding import generator
from repoformer.training.sequence import Verbaliser


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples of one split that are trained on or validated with, and why others are not."""

    examples: list[Example]
    set_aside: dict[str, int]
    """Number of examples left out, by reason."""

    def __str__(self) -> str:
        aside = "".join(f", {count} set aside: {reason}" for reason, count in sorted(self.set_aside.items()))
        return f"{len(self.examples)} examples{aside}"


def read_examples(folder: Path, verbalise: Verbaliser, vocabulary: int, positions: int | None) -> ExampleSet:
    """The examples in ``folder/part-*.parquet`` that fit a model of this vocabulary size and number of positions."""
    examples, set_aside = [], Counter[str]()
    for example in tqdm(read_parquet(Example, folder), desc=f"read {folder.name}", unit="example", delay=2):
        reason = _unfit(example, verbalise, vocabulary, positions)
        if reason is None:
            examples.append(example)
        else:
            set_aside[reason] += 1
    return ExampleSet(examples, dict(set_aside))


def _unfit(example: Example, verbalise: Verbaliser, vocabulary: int, positions: int | None) -> str | None:
    if not example.target:
        return "empty target"
    if not math.isfinite(example.gain):
        return "gain is not a number"
    ids = verbalise(example).ids
    if min(ids) < 0 or max(ids) >= vocabulary:
        return "token ids of another tokenizer"
    if positions is not None and len(ids) > positions:
        return f"longer than the model's {positions} positions"
    return None


def check_threshold(threshold: float, data: Path) -> None:
    """Refuse a threshold that no gain of these data can pass; data that do not say hold gains in edit similarity."""
    by = label_recipe(data).get("label", {}).get("by", "edit_similarity")
    if by == "edit_similarity" and abs(threshold) > 1:
        raise UserError(
            f"label_threshold {threshold:g}: gains in {data} are in edit similarity, from -1 to 1; choose one between, "
            "or assemble the data with label.by=likelihood"
        )


def without_right_context(example: Example, share: float, seed: int) -> Example:
    """``example``, or with this probability the same as an editor sends it from a file's end: without right context."""
    if share and generator(seed, "without right context", example.id).random() < share:
        return replace(example, right=())
    return example


def fingerprint(data: Path) -> str:
    """A short hash of the bytes of all training and validation examples: what a run was trained on."""
    digest = hashlib.sha256()
    for split in ("train", "validation"):
        parts = sorted((data / split).glob("part-*.parquet"))
        if not parts:
            raise UserError(
                f"{data / split}: no part-*.parquet here; assemble the data first, or name its folder as data=DIR"
            )
        for part in parts:
            digest.update(f"{split}/{part.name}".encode())
            with open(part, "rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()[:16]


def label_recipe(data: Path) -> dict[str, Any]:
    """How the labels were made, from the card beside the assembled data; empty for data without one."""
    card = data.parent / "data-card.json"
    recipe = read_json(card)["recipe"] if card.exists() else {}
    sections = {section: dict(recipe[section]) for section in ("retrieve", "label") if section in recipe}
    labelled_by = sections.get("label", {}).get("model")
    if labelled_by and Path(labelled_by).is_absolute():  # where it lay is nobody's business who gets the model
        sections["label"]["model"] = Path(labelled_by).name
    return sections
