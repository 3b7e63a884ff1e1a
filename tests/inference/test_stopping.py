"""Decoding stops as soon as post-processing can no longer change, and not before."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from repoformer.code.lines import cut
from repoformer.code.records import Blank, Kind
from repoformer.inference.stopping import Stop, TokenText, statement_ends_body, stop_for
from repoformer.metrics.completion import postprocess
from repoformer.models.loading import LoadedModel
from repoformer.models.settings import ModelSettings
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import DIALECTS


@pytest.fixture(scope="module")
def builder(tiny_model: Any, tiny_tokenizer: Any) -> PromptBuilder:
    return LoadedModel(tiny_model, tiny_tokenizer, ModelSettings(style="selective", preset="pocket"), "tiny").builder()


@pytest.fixture(scope="module")
def text(builder: PromptBuilder) -> TokenText:
    return TokenText(builder)


def make_blank(source: str, start: int, end: int, kind: Kind) -> Blank:
    left, target, right = cut(source, start, end)
    return Blank("b", "r", "", "MIT", "a.py", "python", kind, start, end, left, right, target)


def feed(stop: Stop, tokens: list[int]) -> int:
    """How many tokens are taken until the completion is over."""
    for count, token in enumerate(tokens, 1):
        if not stop.take(token):
            return count
    return len(tokens)


def function_blanks(source: str) -> list[Blank]:
    """The body of every function whose ``def`` line is followed by a body on lines of its own."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno > node.lineno:
            first = node.body[0].lineno - 1
            above = source.split("\n")[first - 1].strip()
            if node.end_lineno is not None and above.endswith(":"):
                found.append(make_blank(source, first, node.end_lineno, "function"))
    return found


@given(st.lists(st.integers(min_value=0, max_value=769), max_size=60))
def test_newlines_of_single_tokens_add_up(text: TokenText, tokens: list[int]) -> None:
    assert sum(map(text.newlines, tokens)) == text.text(tokens).count("\n")


def test_a_space_that_begins_the_text_is_kept_where_a_decoder_would_drop_it() -> None:
    pieces = ["<unk>", "<s>", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>", "▁", "x"]
    inner = Tokenizer(models.BPE({piece: place for place, piece in enumerate(pieces)}, [], unk_token="<unk>"))
    inner.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    inner.add_special_tokens(pieces[:6])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>", bos_token="<s>")
    assert tokenizer.decode([6, 6, 7]) == " x"
    code_llama = PromptBuilder(tokenizer, DIALECTS["codellama"], COMPLETION["pocket"], "base")
    assert TokenText(code_llama).text([6, 6, 7]) == "  x"


@given(st.text(alphabet=st.sampled_from("ab \n\té\U0001f600"), max_size=80), st.integers(min_value=1, max_value=5))
@settings(max_examples=200)
def test_a_completion_of_n_lines_is_the_text_before_its_nth_newline(
    builder: PromptBuilder, text: TokenText, written: str, lines: int
) -> None:
    stop = Stop(text, 1000, lines=lines)
    feed(stop, builder.encode(written))
    assert stop.text == "\n".join(written.split("\n")[:lines])
    assert stop.reason == ("lines" if written.count("\n") >= lines else None)


def test_it_stops_in_a_token_of_several_newlines(builder: PromptBuilder, text: TokenText) -> None:
    several = max(range(len(builder.tokenizer)), key=text.newlines)
    assert text.newlines(several) > 1
    stop = Stop(text, 10, lines=text.newlines(several))
    assert not stop.take(several)
    assert stop.text == "\n".join(text.text([several]).split("\n")[:-1])


@pytest.mark.parametrize("token", ["<|endoftext|>", "<fim_middle>", "<cc>", "<eof>", "<fim_prefix>", "<filename>"])
def test_a_control_token_ends_the_completion_and_is_no_text(
    builder: PromptBuilder, text: TokenText, token: str
) -> None:
    stop = Stop(text, 10)
    assert feed(stop, [*builder.encode("x = 1"), builder.tokenizer.convert_tokens_to_ids(token), 40]) < 10
    assert (stop.text, stop.reason) == ("x = 1", "end")


def test_control_tokens_spelled_out_do_not_end_it(builder: PromptBuilder, text: TokenText) -> None:
    written = "a <|endoftext|> <cc> <fim_middle> b"
    stop = Stop(text, 100)
    feed(stop, builder.encode(written))
    assert (stop.text, stop.reason) == (written, None)


def test_the_limit_counts_tokens(text: TokenText) -> None:
    stop = Stop(text, 3)
    assert [stop.take(40) for _ in range(3)] == [True, True, False]
    assert (stop.tokens, stop.reason) == ([40, 40, 40], "limit")


@pytest.mark.parametrize("kind", ["line", "api", "chunk"])
def test_stopping_never_changes_what_counts_of_lines(
    builder: PromptBuilder, text: TokenText, python_sources: list[str], kind: Kind
) -> None:
    draw = random.Random(kind)
    for source in python_sources:
        start = draw.randrange(source.count("\n") - 20)
        blank = make_blank(source, start, start + (draw.randint(1, 5) if kind == "chunk" else 1), kind)
        tokens = builder.encode(blank.target + blank.right[:500])
        stop = stop_for(builder, text, blank)
        feed(stop, tokens)
        assert stop.text == postprocess(blank, text.text(tokens)) == blank.target


def test_stopping_never_changes_what_counts_of_a_function(
    builder: PromptBuilder, text: TokenText, python_sources: list[str]
) -> None:
    """What follows the body is what follows it in the file, cut anywhere; the body is followed by it or by itself."""
    draw = random.Random(0)
    stopped = 0
    for source in python_sources:
        for blank in draw.sample(blanks := function_blanks(source), min(15, len(blanks))):
            written = blank.target + blank.right[: draw.randrange(400)]
            tokens = builder.encode(written)
            stop = Stop(text, 10_000, body=blank)
            taken = feed(stop, tokens)
            assert postprocess(blank, stop.text) == postprocess(blank, written)
            assert taken == len(tokens) or stop.reason == "body"
            stopped += stop.reason == "body"
    assert stopped > 50


def test_a_body_is_over_within_the_first_statement_behind_it(builder: PromptBuilder, text: TokenText) -> None:
    blank = make_blank("class A:\n    def f(self):\n        return 1\n", 2, 3, "function")
    stop = Stop(text, 100, body=blank)
    behind = builder.encode("        x = (\n1)\n        return x\n\n    # more\n") + builder.encode(
        "    def g(self): pass\n"
    )
    assert feed(stop, behind) <= len(behind) - 5
    assert (stop.text, stop.reason) == ("        x = (\n1)\n        return x", "body")


@pytest.mark.parametrize(
    "body",
    [
        '    x = """\nnot code\n    """\n    return x',
        "    x = [\n1,\n2,\n]\n    return x",
        "    if x:\n        pass\n# a comment at the margin\n    return x",
        "    x = 1 + \\\n2\n    return x",
        "    a = 1\n\n\n    return a",
    ],
)
def test_what_stands_left_of_the_body_inside_it_does_not_end_it(
    builder: PromptBuilder, text: TokenText, body: str
) -> None:
    blank = make_blank(f"def f(x):\n{body}\n", 1, 2 + body.count("\n"), "function")
    stop = Stop(text, 500, body=blank)
    tokens = builder.encode(body)
    assert feed(stop, tokens) == len(tokens)
    assert stop.reason is None
    assert stop.text == body


def test_a_body_with_a_syntax_error_is_never_over() -> None:
    blank = make_blank("def f():\n    return 1\n", 1, 2, "function")
    assert statement_ends_body(blank, "    return 1\n", "")
    assert not statement_ends_body(blank, "    return (1\n", "")
    assert not statement_ends_body(blank, "    return 1\n", "    ")
