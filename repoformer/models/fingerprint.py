"""Which model a stored completion comes from, told by its files and not by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from repoformer.code.storage import files_hash
from repoformer.config import config_hash

# Not repoformer.json: new thresholds change which stored completion a policy takes, never a completion.
_DECIDING = ("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges*", "*.model")


def model_hash(folder: Path) -> str:
    """A hash of what a model's completions depend on: weights, configuration and tokenizer."""
    return files_hash({path for pattern in _DECIDING for path in folder.glob(pattern) if path.is_file()})


def tokenizer_hash(tokenizer: Any) -> str:
    """A hash of how ordinary text becomes token ids; tokens that were added later, such as ``<cc>``, leave it alone."""
    described = json.loads(tokenizer.backend_tokenizer.to_str())
    return config_hash({part: described[part] for part in ("normalizer", "pre_tokenizer", "model")})
