"""An exported model on the Hugging Face hub: only when asked for, and private until its owner says otherwise."""

from __future__ import annotations

from pathlib import Path

import httpx
from huggingface_hub import CommitOperationAdd, HfApi, get_token
from huggingface_hub.constants import HF_HUB_OFFLINE
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from repoformer.errors import UserError

# What an export consists of. The run's own files beside it (checkpoints, metrics, run.json) stay where they are.
_EXPORTED = (
    "config.json",
    "generation_config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "repoformer.json",
    "README.md",
    "adapter/*",
)


def check_can_push(name: str) -> None:
    """Refuse before the first step what could not be pushed after the last one; asks nobody over the network."""
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise UserError(f"--push-to-hub {name}: {error}; write OWNER/NAME") from None
    if HF_HUB_OFFLINE:
        raise UserError(f"--push-to-hub {name}: HF_HUB_OFFLINE is set; unset it, or push later from the same folder")
    if get_token() is None:
        raise UserError(f"--push-to-hub {name}: not logged in; run `hf auth login` first")


def push_to_hub(out: Path, name: str) -> str:
    """Upload the model in ``out`` to the repository ``name``, a new one being private; returns its URL."""
    operations = [
        CommitOperationAdd(path_in_repo=path.relative_to(out).as_posix(), path_or_fileobj=path)
        for path in exported_files(out)
    ]
    api = HfApi()
    try:
        repository = api.create_repo(name, private=True, exist_ok=True)
        api.create_commit(repository.repo_id, operations, commit_message="Model trained by repoformer")
    except (httpx.HTTPError, OSError) as error:
        raise UserError(
            f"--push-to-hub {name}: {' '.join(str(error).split())}; the model is whole in {out}, "
            "and the same command pushes it without training again"
        ) from None
    return str(repository)


def exported_files(out: Path) -> list[Path]:
    """The files in ``out`` that make the model."""
    return sorted(path for pattern in _EXPORTED for path in out.glob(pattern) if path.is_file())
