"""The model before its first step."""

from __future__ import annotations

from typing import Any

import torch

from repoformer.errors import UserError
from repoformer.models.loading import load_model
from repoformer.models.pretraining.recipe import Architecture
from repoformer.models.pretraining.structured_start import structured_start


def new_model(architecture: Architecture, tokenizer: Any, seed: int) -> Any:
    """A freshly initialised multi-query ``GPTBigCodeForCausalLM`` without dropout; the same seed, the same weights."""
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(
        vocab_size=architecture.vocabulary,
        n_positions=architecture.positions,
        n_embd=architecture.width,
        n_layer=architecture.layers,
        n_head=architecture.heads,
        multi_query=True,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPTBigCodeForCausalLM(config)
    if architecture.structured_start:
        structured_start(model, seed)
    return model


def take_weights(model: Any, tokenizer: Any, name: str) -> None:
    """Give ``model`` the weights of another one; a shape or a vocabulary that differs is refused."""
    source = load_model(name)
    if source.tokenizer.get_vocab() != tokenizer.get_vocab():
        raise UserError(f"start_from {name!r}: its tokenizer is another one; prepare the corpus that it was trained on")
    try:
        model.load_state_dict(source.model.state_dict())
    except RuntimeError:
        raise UserError(f"start_from {name!r}: its shape is another one; set model to what it has") from None
