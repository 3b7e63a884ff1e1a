"""The untrained model."""

from __future__ import annotations

from typing import Any

import torch

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
