"""Prompts from token ids: user text stays text, both arms see the same file, the branches are not swapped."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repoformer.code.records import Chunk
from repoformer.errors import UserError
from repoformer.prompt.budgets import COMPLETION, Budgets
from repoformer.prompt.builder import PromptBuilder, Style
from repoformer.prompt.cross_file import cross_file_text
from repoformer.prompt.dialects import DIALECTS, Dialect, dialect_named, token_id

STARCODER = dialect_named("starcoder")
CONTROLS = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>", "<cc>", "<eof>", "<filename>"]
SMALL = Budgets(left=12, right=6, cross_file=10, new_tokens=5, new_tokens_function=5)

shared_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
# Code with control tokens in it, whole, cut short, glued to words and to each other.
hostile = st.lists(
    st.one_of(st.sampled_from([*CONTROLS, "<fim_", "cc>", "\n", "    ", "\r\n", "\t"]), st.text(max_size=6)),
    max_size=12,
).map(lambda parts: "".join(parts).encode("utf-8", "ignore").decode())
spaced = st.lists(
    st.one_of(
        st.sampled_from(["x = 1", "):", "foo", "é", "#", "<cc>", " ", "\n", "\n\n", "\n    ", "\t"]),
        st.integers(1, 90).map(lambda n: "\n" * n),
        st.integers(1, 90).map(lambda n: " " * n),
    ),
    max_size=60,
).map("".join)


@pytest.fixture(params=["selective", "base", "after_middle"])
def style(request: pytest.FixtureRequest) -> Style:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def ordinary_tokenizer(base_tokenizer: Any) -> Any:
    """Its <cc> and <eof> are added tokens, but not registered as special: splitting special tokens is not enough."""
    tokenizer = copy.deepcopy(base_tokenizer)
    tokenizer.add_tokens(["<cc>", "<eof>"], special_tokens=False)
    return tokenizer


def builder(tokenizer: Any, style: Style = "selective", budgets: Budgets = SMALL) -> PromptBuilder:
    return PromptBuilder(tokenizer, STARCODER, budgets, style)


# -- user text ---------------------------------------------------------------------------------------------------------


@shared_fixtures
@given(text=hostile)
def test_control_tokens_in_user_text_are_text(tiny_tokenizer: Any, text: str) -> None:
    ids = builder(tiny_tokenizer).encode(text)
    assert not set(ids) & set(tiny_tokenizer.get_added_vocab().values())
    assert tiny_tokenizer.decode(ids) == text


@shared_fixtures
@given(text=hostile)
def test_also_where_they_are_not_registered_as_special(ordinary_tokenizer: Any, text: str) -> None:
    ids = builder(ordinary_tokenizer).encode(text)
    assert not set(ids) & set(ordinary_tokenizer.get_added_vocab().values())
    assert ordinary_tokenizer.decode(ids) == text


def test_the_tokenizer_alone_would_make_them_control_tokens(tiny_tokenizer: Any) -> None:
    assert set(tiny_tokenizer("<cc>")["input_ids"]) & set(tiny_tokenizer.get_added_vocab().values())


@shared_fixtures
@given(left=hostile, right=hostile, code=hostile)
def test_a_prompt_holds_only_its_own_control_tokens(
    tiny_tokenizer: Any, style: Style, left: str, right: str, code: str
) -> None:
    build = builder(tiny_tokenizer, style)
    context = build.cross_file([Chunk("a.py", 0, 1, code)], "#")
    prompt = build.prompt(build.in_file(left, right), context)
    controls = [token for token in prompt if token in set(tiny_tokenizer.get_added_vocab().values())]
    retrieve, eof = build.retrieve_id, build.eof_id
    assert (
        controls
        == {
            "base": [build.prefix_id, build.suffix_id, build.middle_id],
            "selective": [build.prefix_id, build.suffix_id, eof, retrieve, build.middle_id],
            "after_middle": [build.prefix_id, build.suffix_id, build.middle_id, retrieve, eof],
        }[style]
    )


# -- budgets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, 1, 5, 40, 384, 1024])
def test_cutting_equals_cutting_the_whole_encoding(tiny_tokenizer: Any, python_sources: list[str], budget: int) -> None:
    build = builder(tiny_tokenizer)
    for source in python_sources[:4]:
        for place in (0, 1, len(source) // 3, len(source) - 700, len(source)):
            left, right = source[:place], source[place:]
            whole_left, whole_right = build.encode(left), build.encode(right)
            cut = build.in_file(left, right, (budget, budget))
            assert list(cut.left) == whole_left[max(len(whole_left) - budget, 0) :]
            assert list(cut.right) == whole_right[:budget]


@shared_fixtures
@given(text=spaced, budget=st.integers(0, 30))
def test_cutting_equals_it_in_long_runs_of_white_space_too(tiny_tokenizer: Any, text: str, budget: int) -> None:
    build = builder(tiny_tokenizer)
    whole = build.encode(text)
    cut = build.in_file(text, text, (budget, budget))
    assert list(cut.left) == whole[max(len(whole) - budget, 0) :]
    assert list(cut.right) == whole[:budget]


def test_both_arms_see_the_same_file(tiny_tokenizer: Any, python_sources: list[str], style: Style) -> None:
    build = builder(tiny_tokenizer, style, COMPLETION["pocket"])
    in_file = build.in_file(python_sources[0], python_sources[1])
    context = build.cross_file([Chunk("a.py", 0, 1, python_sources[2])], "#")
    shared = build.in_file_part(in_file)
    assert build.prompt(in_file, None)[: len(shared)] == build.prompt(in_file, context)[: len(shared)] == shared


def test_a_full_prompt_fits_its_budgets(tiny_tokenizer: Any, python_sources: list[str], style: Style) -> None:
    build = builder(tiny_tokenizer, style, COMPLETION["pocket"])
    in_file = build.in_file(python_sources[0], python_sources[1])
    context = build.cross_file([Chunk("a.py", 0, 1, python_sources[2])], "#")
    assert (len(in_file.left), len(in_file.right), len(context)) == (384, 128, 256)
    assert len(build.prompt(in_file, context)) <= build.budgets.prompt


# -- branches ----------------------------------------------------------------------------------------------------------


def test_selective_prompts_are_laid_out_as_in_the_paper(tiny_tokenizer: Any) -> None:
    build = builder(tiny_tokenizer, "selective")
    in_file = build.in_file("a\n", "\nb")
    left, right = list(in_file.left), list(in_file.right)
    shared = [build.prefix_id, *left, build.suffix_id, *right, build.eof_id]
    assert build.prompt(in_file, None) == [*shared, build.middle_id]
    assert build.prompt(in_file, [40, 41]) == [*shared, build.retrieve_id, 40, 41, build.middle_id]


def test_base_prompts_put_the_context_behind_the_right_context(tiny_tokenizer: Any) -> None:
    build = builder(tiny_tokenizer, "base")
    in_file = build.in_file("a\n", "\nb")
    shared = [build.prefix_id, *in_file.left, build.suffix_id, *in_file.right]
    assert build.prompt(in_file, None) == [*shared, build.middle_id]
    assert build.prompt(in_file, [40, 41]) == [*shared, 40, 41, build.middle_id]


def test_the_context_stands_in_the_retrieving_branch_and_only_there(tiny_tokenizer: Any, style: Style) -> None:
    build = builder(tiny_tokenizer, style, COMPLETION["pocket"])
    context = build.cross_file([Chunk("pkg/found.py", 0, 1, "def found_elsewhere():")], "#")
    in_file = build.in_file("left\n", "\nright")
    assert "found_elsewhere" in tiny_tokenizer.decode(build.prompt(in_file, context))
    assert "found_elsewhere" not in tiny_tokenizer.decode(build.prompt(in_file, None))


@pytest.mark.parametrize("empty", [None, [], ()])
def test_empty_context_is_the_branch_without(tiny_tokenizer: Any, style: Style, empty: list[int] | None) -> None:
    build = builder(tiny_tokenizer, style)
    assert build.branch(empty) == ([] if style == "after_middle" else [build.middle_id])


def test_no_chunks_are_no_context(tiny_tokenizer: Any) -> None:
    assert builder(tiny_tokenizer).cross_file([], "#") == []


# -- cross-file text ---------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=40), max_size=3), st.sampled_from(["#", "//"]))
def test_every_line_of_the_context_is_a_comment(texts: list[str], comment: str) -> None:
    text = cross_file_text([Chunk("a.py", 0, 1, each) for each in texts], comment)
    assert all(line.startswith(comment) for line in text.split("\n") if line)


def test_the_best_chunk_stands_first_and_the_budget_cuts_the_last(tiny_tokenizer: Any) -> None:
    chunks = [Chunk(f"{name}.py", 0, 1, f"def {name}(): pass") for name in ("best", "second", "third")]
    build = builder(tiny_tokenizer)
    whole = build.encode(cross_file_text(chunks, "#"))
    assert tiny_tokenizer.decode(whole).index("best") < tiny_tokenizer.decode(whole).index("second")
    assert build.cross_file(chunks, "#") == whole[: SMALL.cross_file]


# -- dialects ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["prefix", "suffix", "middle", "end", "begin"])
def test_a_token_that_the_tokenizer_lacks_is_refused_by_name(tiny_tokenizer: Any, missing: str) -> None:
    tokens = {"prefix": "<fim_prefix>", "suffix": "<fim_suffix>", "middle": "<fim_middle>", "end": "<|endoftext|>"}
    dialect = Dialect("broken", **{**tokens, missing: "<no_such_token>"})
    with pytest.raises(UserError, match="<no_such_token>"):
        PromptBuilder(tiny_tokenizer, dialect, SMALL, "base")


@pytest.mark.parametrize("style", ["selective", "after_middle"])
def test_a_base_model_has_no_decision_to_read(base_tokenizer: Any, style: Style) -> None:
    with pytest.raises(UserError, match="<cc>"):
        PromptBuilder(base_tokenizer, STARCODER, SMALL, style)


def test_a_token_that_is_also_the_unknown_token_is_known(tiny_tokenizer: Any) -> None:
    assert tiny_tokenizer.unk_token == "<|endoftext|>"
    assert token_id(tiny_tokenizer, "<|endoftext|>") == 0


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_every_dialect_builds_prompts_with_its_own_tokens(base_tokenizer: Any, name: str) -> None:
    dialect = DIALECTS[name]
    tokenizer = copy.deepcopy(base_tokenizer)
    tokens = [dialect.prefix, dialect.suffix, dialect.middle, dialect.end, dialect.begin, "<cc>", "<eof>"]
    tokenizer.add_tokens([token for token in tokens if token], special_tokens=True)
    build = PromptBuilder(tokenizer, dialect, SMALL, "selective")
    shown = tokenizer.convert_ids_to_tokens(build.prompt(build.in_file("", ""), None))
    expected = [dialect.begin, dialect.prefix, dialect.suffix, "<eof>", dialect.middle]
    assert shown == [token for token in expected if token]


def test_an_unknown_dialect_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="starcoder2"):
        dialect_named("starcodr")
