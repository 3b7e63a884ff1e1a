"""The model that a run starts from, made ready to be trained as the recipe says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from repoformer.models.loading import LoadedModel, load_model
from repoformer.models.selection_tokens import SELECTION_TOKENS, add_selection_tokens
from repoformer.prompt.builder import PromptBuilder
from repoformer.seeding import stable_hash
from repoformer.training.lora import add_adapters
from repoformer.training.losses import LossModel, check_model
from repoformer.training.objectives import OBJECTIVES, Objective
from repoformer.training.recipe import TrainRecipe
from repoformer.training.sequence import Verbaliser

# How the families call the dropout of attention weights, which is no module of its own.
_ATTENTION_DROPOUT = ("attn_dropout", "attention_dropout")
_CONFIGURED = ("attn_pdrop", "resid_pdrop", "embd_pdrop", "attention_dropout", "residual_dropout", "embedding_dropout")


@dataclass(frozen=True, slots=True)
class Start:
    """What is trained and how its examples are put to it."""

    loaded: LoadedModel
    objective: Objective
    builder: PromptBuilder
    verbalise: Verbaliser
    vocabulary: int
    """Number of token ids that the model has a row for."""
    adapted: Any = None
    """peft's view of the model, where adapters are trained."""

    @property
    def model(self) -> Any:
        """The causal language model."""
        return self.loaded.model

    def loss_model(self) -> LossModel:
        """The model as one that returns losses."""
        return LossModel(self.model, self.builder.retrieve_id)


def start_from(recipe: TrainRecipe) -> Start:
    """Load the model, give it the tokens its objective needs, and set what holds during training only."""
    objective = OBJECTIVES[recipe.objective]
    loaded = load_model(recipe.model)
    if objective.decides:
        add_selection_tokens(loaded.model, loaded.tokenizer, recipe.seed)
    check_model(loaded.model)
    set_dropout(loaded.model, recipe.dropout)
    if recipe.activation_checkpointing:
        loaded.model.activation_checkpointing_enable()
    builder = loaded.builder(objective.style)
    verbalise = Verbaliser(objective, builder, recipe.label_threshold, recipe.train_end_token)
    vocabulary = int(loaded.model.get_input_embeddings().weight.shape[0])
    adapted = None
    if recipe.lora is not None:
        new = loaded.tokenizer.convert_tokens_to_ids(list(SELECTION_TOKENS)) if objective.decides else []
        torch.manual_seed(stable_hash(recipe.seed, "adapters") % 2**63)
        adapted = add_adapters(loaded.model, recipe.lora, new)
    return Start(loaded, objective, builder, verbalise, vocabulary, adapted)


def set_dropout(model: nn.Module, probability: float) -> None:
    """One dropout probability for embeddings, attention weights and residual branches, in modules and configuration."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        for name in _ATTENTION_DROPOUT:
            if isinstance(getattr(module, name, None), float | int):
                setattr(module, name, probability)
    config: Any = model.config
    for name in _CONFIGURED:
        if hasattr(config, name):
            setattr(config, name, probability)
