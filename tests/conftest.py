"""What several rooms' tests share: a tiny tokenizer with StarCoder's control tokens and a tiny model. Never changed in
place: a test that adds tokens or trains takes a ``copy.deepcopy``."""

from __future__ import annotations

import copy
import sysconfig
from pathlib import Path
from typing import Any

import pytest

STARCODER_TOKENS = (
    "<|endoftext|>",
    *("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<filename>", "<gh_stars>"),
    *("<issue_start>", "<issue_comment>", "<issue_closed>", "<jupyter_start>", "<jupyter_text>", "<jupyter_code>"),
    *("<jupyter_output>", "<empty_output>", "<commit_before>", "<commit_msg>", "<commit_after>", "<reponame>"),
)


@pytest.fixture(scope="session")
def python_sources() -> list[str]:
    """Real Python files of the standard library, the same ones on every run."""
    names = (
        "argparse",
        "ast",
        "calendar",
        "configparser",
        "csv",
        "dataclasses",
        "difflib",
        "heapq",
        "textwrap",
        "zipfile",
    )
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = [path for name in names if (path := library / f"{name}.py").is_file()]
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.fixture(scope="session")
def base_tokenizer(python_sources: list[str]) -> Any:
    """A byte-level BPE of 768 entries with StarCoder's special tokens; without ``<cc>`` and ``<eof>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=768,
        special_tokens=list(STARCODER_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(python_sources, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        unk_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
    )


@pytest.fixture(scope="session")
def tiny_tokenizer(base_tokenizer: Any) -> Any:
    """``base_tokenizer`` with ``<cc>`` and ``<eof>``."""
    tokenizer = copy.deepcopy(base_tokenizer)
    tokenizer.add_tokens(["<cc>", "<eof>"], special_tokens=True)
    return tokenizer


@pytest.fixture(scope="session")
def tiny_model(tiny_tokenizer: Any) -> Any:
    """GPTBigCode, 2 layers x 32, random weights that are large enough for arg-maxima not to be near ties."""
    import torch
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    torch.manual_seed(0)
    config = GPTBigCodeConfig(
        vocab_size=len(tiny_tokenizer),
        n_positions=1024,
        n_embd=32,
        n_layer=2,
        n_head=2,
        multi_query=True,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPTBigCodeForCausalLM(config).eval()


@pytest.fixture(scope="session")
def contained() -> None:
    """Skips where the machine cannot contain code; tests/sandbox/test_probe.py says where it has to."""
    from repoformer.errors import UserError
    from repoformer.sandbox.probe import require_containment

    try:
        require_containment()
    except UserError as error:
        pytest.skip(str(error))
