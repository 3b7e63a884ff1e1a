"""A small StarCoder from nothing: corpus, tokenizer, token file, structured start, training, probes, export."""

from repoformer.models.pretraining.recipe import PretrainRecipe
from repoformer.models.pretraining.run import pretrain
from repoformer.models.pretraining.tokenizer import train_tokenizer

__all__ = ["PretrainRecipe", "pretrain", "train_tokenizer"]
