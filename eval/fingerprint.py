"""What files hold, in a few characters: how a step knows that its input is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

# Not repoformer.json: new thresholds change which stored completion a policy takes, never a completion.
_DECIDING = ("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges*", "*.model")


def files_hash(paths: Iterable[Path]) -> str:
    """A hash of the names and contents of files, the same wherever they lie."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        with open(path, "rb") as handle:
            digest.update(path.name.encode() + b"\0" + hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()[:16]


def model_hash(folder: Path) -> str:
    """A hash of what a model's completions depend on: weights, configuration and tokenizer."""
    return files_hash({path for pattern in _DECIDING for path in folder.glob(pattern) if path.is_file()})
