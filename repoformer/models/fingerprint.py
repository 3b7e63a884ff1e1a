"""Which model a stored completion comes from, told by its files and not by its name."""

from __future__ import annotations

from pathlib import Path

from repoformer.code.storage import files_hash

# Not repoformer.json: new thresholds change which stored completion a policy takes, never a completion.
_DECIDING = ("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges*", "*.model")


def model_hash(folder: Path) -> str:
    """A hash of what a model's completions depend on: weights, configuration and tokenizer."""
    return files_hash({path for pattern in _DECIDING for path in folder.glob(pattern) if path.is_file()})
