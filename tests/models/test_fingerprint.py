"""What a tokenizer is told apart by: the ids of ordinary text."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tokenizers import pre_tokenizers
from transformers import AutoTokenizer

from repoformer.models.fingerprint import tokenizer_hash


def test_added_tokens_and_a_way_through_files_change_nothing(
    base_tokenizer: Any, tiny_tokenizer: Any, tmp_path: Path
) -> None:
    tiny_tokenizer.save_pretrained(tmp_path)
    read = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer_hash(base_tokenizer) == tokenizer_hash(tiny_tokenizer) == tokenizer_hash(read)


def test_the_same_vocabulary_split_otherwise_is_another_tokenizer(base_tokenizer: Any) -> None:
    other = copy.deepcopy(base_tokenizer)
    other.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert other.get_vocab() == base_tokenizer.get_vocab()
    assert tokenizer_hash(other) != tokenizer_hash(base_tokenizer)
