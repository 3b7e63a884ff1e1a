"""User text is encoded in one place only: anywhere else, a control token in somebody's code would become one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENCODER = ROOT / "repoformer" / "prompt" / "builder.py"
MODULES = sorted(path for room in ("repoformer", "data_pipeline", "eval") for path in (ROOT / room).rglob("*.py"))
METHODS = {"encode", "encode_plus", "encode_batch", "batch_encode_plus", "tokenize", "__call__", "apply_chat_template"}


def encodings(source: str) -> list[ast.Call]:
    """Calls of a tokenizer, or of a tokenizer's method that encodes: ``tokenizer(x)``, ``a.tokenizer.encode(x)``."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call for call in calls if _is_tokenizer(call.func) or _is_method(call.func)]


def _is_tokenizer(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_") in {"tokenizer", "tok", "backend_tokenizer"}


def _is_method(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in METHODS and _is_tokenizer(node.value)


@pytest.mark.parametrize("path", [path for path in MODULES if path != ENCODER], ids=lambda p: str(p.relative_to(ROOT)))
def test_no_other_module_encodes(path: Path) -> None:
    assert [call.lineno for call in encodings(path.read_text(encoding="utf-8"))] == []


def test_the_encoder_splits_control_tokens() -> None:
    [call] = encodings(ENCODER.read_text(encoding="utf-8"))
    keywords = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert keywords["split_special_tokens"] is True
    assert keywords["add_special_tokens"] is False


@pytest.mark.parametrize(
    "line", ["tokenizer(text)", "loaded.tokenizer(text)", "self._tokenizer.encode(text)", "tok(x)"]
)
def test_the_search_finds_what_it_looks_for(line: str) -> None:
    assert len(encodings(line)) == 1


@pytest.mark.parametrize(
    "line", ["tokenizer.decode(ids)", "text.encode()", "tokenizer.save_pretrained(path)", "Tokenizer(model)"]
)
def test_and_nothing_else(line: str) -> None:
    assert encodings(line) == []
