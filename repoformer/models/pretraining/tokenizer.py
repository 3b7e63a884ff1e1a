"""A byte-level BPE with StarCoder's control tokens, trained on the corpus itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CONTROL_TOKENS = (
    "<|endoftext|>",
    "<fim_prefix>",
    "<fim_middle>",
    "<fim_suffix>",
    "<fim_pad>",
    "<filename>",
    "<gh_stars>",
    "<issue_start>",
    "<issue_comment>",
    "<issue_closed>",
    "<jupyter_start>",
    "<jupyter_text>",
    "<jupyter_code>",
    "<jupyter_output>",
    "<empty_output>",
    "<commit_before>",
    "<commit_msg>",
    "<commit_after>",
    "<reponame>",
)
"""StarCoder's, in its order: ids 0 to 18."""


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Any:
    """A ``PreTrainedTokenizerFast``: every byte has a token, each digit stands alone, nothing is normalised."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(CONTROL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    end = CONTROL_TOKENS[0]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=end,
        eos_token=end,
        pad_token="<fim_pad>",
        extra_special_tokens=list(CONTROL_TOKENS[1:]),
        clean_up_tokenization_spaces=False,
    )
