"""A loaded tiny model, blanks of real code, and what the model was fed, for the tests of this room."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from repoformer.code.lines import cut
from repoformer.code.records import Blank, Chunk
from repoformer.models.loading import LoadedModel
from repoformer.models.settings import ModelSettings


@pytest.fixture(scope="session")
def loaded(tiny_model: Any, tiny_tokenizer: Any) -> LoadedModel:
    """The tiny model as a selective model with pocket budgets."""
    return LoadedModel(tiny_model, tiny_tokenizer, ModelSettings(style="selective", preset="pocket"), "tiny")


@pytest.fixture(scope="session")
def blanks(python_sources: list[str]) -> list[tuple[Blank, tuple[Chunk, ...]]]:
    """Chunk blanks at random places of real files, short and long, each with a chunk of another file."""
    draw = random.Random(0)
    found = []
    for number in range(50):
        source, other = draw.sample(python_sources, 2)
        lines = source.split("\n")[: draw.choice((20, 60, 200))]
        start = draw.randrange(1, len(lines) - 6)
        left, target, right = cut("\n".join(lines), start, start + draw.randint(1, 3))
        end = start + target.count("\n") + 1
        blank = Blank(f"b{number}", "r", "", "MIT", "a.py", "python", "chunk", start, end, left, right, target)
        first = draw.randrange(100)
        context = Chunk("other/b.py", first, first + 20, "\n".join(other.split("\n")[first : first + 20]))
        found.append((blank, (context,)))
    return found


@pytest.fixture(scope="session", params=["llama", "qwen2"])
def rotary_model(request: pytest.FixtureRequest) -> Any:
    """Other families: rotary positions, grouped keys and values."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 800,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
    }
    if request.param == "llama":
        return LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    return Qwen2ForCausalLM(Qwen2Config(**sizes)).eval()


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """``with fed(model) as segments``: the token ids of every forward pass of the model, [rows, columns] each."""

    @contextmanager
    def record(model: Any) -> Iterator[list[list[list[int]]]]:
        segments: list[list[list[int]]] = []
        forward = model.forward

        def spy(*arguments: Any, **keywords: Any) -> Any:
            segments.append(keywords["input_ids"].tolist())
            return forward(*arguments, **keywords)

        with monkeypatch.context() as patch:
            patch.setattr(model, "forward", spy)
            yield segments

    return record
