"""Pretraining from scratch: tokenizer, token file, rows, structured start, and runs that stop and resume."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repoformer.code.records import Blank, Repository, SourceFile
from repoformer.errors import UserError
from repoformer.models.loading import load_model
from repoformer.models.pretraining import PretrainRecipe, pretrain, train_tokenizer
from repoformer.models.pretraining.model import new_model, take_weights
from repoformer.models.pretraining.probes import TargetLosses, induction, likelihoods, own_lines
from repoformer.models.pretraining.recipe import Architecture, Mixture, Phase
from repoformer.models.pretraining.rows import RowMaker, shares_of, target_mask
from repoformer.models.pretraining.run import prepare, train
from repoformer.models.pretraining.token_file import Ragged, TokenFile, load_tokens
from repoformer.models.pretraining.tokenizer import CONTROL_TOKENS
from repoformer.models.pretraining.trainer import Trainer
from repoformer.prompt.budgets import COMPLETION
from repoformer.prompt.builder import PromptBuilder
from repoformer.prompt.dialects import dialect_named


def _repository(name: str, files: int = 8) -> Repository:
    """Modules that use each other's functions."""
    texts = [
        f'"""Module {number} of {name}."""\n\nfrom {name} import part{(number + 1) % files}\n\n\n'
        + "".join(
            f"def step_{number}_{step}(value, scale={step}):\n"
            f'    """Scale by {step}."""\n'
            f"    result = part{(number + 1) % files}.step_{(number + 1) % files}_{step}(value)\n"
            f"    if result > {step * 10}:\n        result -= scale\n    return result + {number}\n\n\n"
            for step in range(6)
        )
        for number in range(files)
    ]
    sources = tuple(SourceFile(f"{name}/part{at}.py", text, "python") for at, text in enumerate(texts))
    return Repository(name, "1", "MIT", sources)


REPOSITORIES = [_repository("alpha"), _repository("beta")]
RECIPE = PretrainRecipe(
    steps=4,
    model=Architecture(vocabulary=512, width=128, layers=2, heads=4),
    phases=[Phase(until=0.5, length=64, rows=2), Phase(until=1.0, length=128, rows=2)],
)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([file.text for one in REPOSITORIES for file in one.files], 512)


@pytest.fixture(scope="module")
def builder(tokenizer):
    return PromptBuilder(tokenizer, dialect_named("starcoder"), COMPLETION["pocket"], "base")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    out = tmp_path_factory.mktemp("prepared")
    prepare(REPOSITORIES, [_repository("gamma")], out / "data", RECIPE)
    return out


# -- tokenizer -------------------------------------------------------------------------------------------------------


def test_control_tokens_have_starcoders_names_and_the_first_ids(tokenizer):
    assert tokenizer.convert_tokens_to_ids(list(CONTROL_TOKENS)) == list(range(19))


def test_each_digit_is_a_token(tokenizer, builder):
    pieces = tokenizer.convert_ids_to_tokens(builder.encode("x = 12345"))
    assert pieces[-5:] == list("12345")


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_every_text_comes_back(tokenizer, builder, text):
    assert tokenizer.decode(builder.encode(text)) == text


# -- token file ------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 65_535), max_size=5), max_size=8))
@settings(max_examples=40, deadline=None)
def test_ragged_gives_back_its_sequences(sequences):
    ragged = Ragged.of(sequences)
    assert [ragged[position].tolist() for position in range(len(ragged))] == sequences


def test_a_token_file_survives_saving(tmp_path):
    tokens = TokenFile("key", Ragged.of([[1, 2], [3]]), Ragged.of([[4], [], [5, 6], [7]]))
    tokens.save(tmp_path / "tokens.npz")
    assert [part.tolist() for part in load_tokens(tmp_path / "tokens.npz").blank(0)] == [[4], [], [5, 6], [7]]


def test_a_broken_token_file_is_named(tmp_path):
    (tmp_path / "tokens.npz").write_bytes(b"PK broken")
    with pytest.raises(UserError, match=r"tokens\.npz"):
        load_tokens(tmp_path / "tokens.npz")


# -- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "infill", "infill_with_context", "twins", "copies"])
@pytest.mark.parametrize("length", [64, 256, 1024])
def test_rows_are_full(prepared, builder, kind, length):
    only = Mixture(**{name: float(name == kind) for name in Mixture.model_fields})
    rows = RowMaker(load_tokens(prepared / "data/tokens.npz"), builder, seed=0)
    assert rows.batch(3, Phase(until=1.0, length=length, rows=4, mixture=only)).shape == (4, length)


def test_the_end_of_a_file_is_never_spelled_out_in_comments(builder):
    short = TokenFile("key", Ragged.of([builder.encode("x = 1\n")]), Ragged.of([]))
    only = Mixture(plain=0, infill=0, infill_with_context=0, copies=1)
    for row in RowMaker(short, builder, seed=0).batch(0, Phase(until=1.0, length=256, rows=8, mixture=only)).tolist():
        text = builder.tokenizer.decode([token for token in row if token >= len(CONTROL_TOKENS)])
        assert "<|endoftext|>" not in text


def test_a_blank_for_which_nothing_was_found_gets_no_relative(builder):
    parts = [builder.encode(text) for text in ("x = 1\n", "z = 3\n", "", "y = 2\n")]
    tokens = TokenFile("key", Ragged.of([parts[0]]), Ragged.of(parts))
    only = Mixture(plain=0, infill=0, infill_with_context=0, twins=1, copies=0)
    (row,) = RowMaker(tokens, builder, seed=0).batch(0, Phase(until=1.0, length=64, rows=1, mixture=only)).tolist()
    prompt = builder.prompt(builder.in_file("x = 1\n", "z = 3\n"), None)
    assert row[: len(prompt)] == prompt


def test_a_step_draws_the_same_rows_again(prepared, builder):
    rows = RowMaker(load_tokens(prepared / "data/tokens.npz"), builder, seed=0)
    phase = Phase(until=1.0, length=128, rows=3)
    assert (rows.batch(7, phase) == rows.batch(7, phase)).all()
    assert (rows.batch(7, phase) != rows.batch(8, phase)).any()


def test_an_infill_row_ends_its_target_with_the_end_token(prepared, builder):
    rows = RowMaker(load_tokens(prepared / "data/tokens.npz"), builder, seed=0)
    only = Mixture(plain=0, infill=0, infill_with_context=1, copies=0)
    for row in rows.batch(0, Phase(until=1.0, length=1024, rows=4, mixture=only)).tolist():
        assert row[0] == builder.prefix_id
        middle = row.index(builder.middle_id)
        assert builder.end_id in row[middle:]


@given(st.integers(0, 1100), st.booleans())
def test_contexts_share_the_room_they_have(room, with_context):
    parts = shares_of(room, with_context=with_context)
    assert sum(parts) <= max(room, 0)
    assert with_context or parts[2] == 0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_target_mask_is_what_reading_from_left_to_right_gives(row):
    middle, end = 2, 0
    expected, inside, done = [], False, False
    for token in row:
        expected.append(inside)
        if inside and token == end:
            inside, done = False, True
        if token == middle and not done:
            inside = True
    assert target_mask(np.array([row]), middle, end)[0].tolist() == expected


def test_own_lines_hold_the_target_between_its_neighbours():
    blank = Blank("id", "alpha", "1", "MIT", "a/b.py", "python", "chunk", 2, 4, "one\ntwo\n", "\nfive", "three\nfour")
    assert own_lines(blank).text == "one\ntwo\nthree\nfour\nfive"


# -- structured start ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [3, 4, 6])
def test_a_structured_start_copies_before_any_training(tokenizer, heads):
    model = new_model(Architecture(vocabulary=2048, width=192, heads=heads, layers=2), tokenizer, seed=0).eval()
    fresh, again = induction(model, 2048, span=300)
    assert again < fresh - 1.0


def test_a_plain_start_does_not_copy(tokenizer):
    plain = Architecture(vocabulary=2048, width=192, heads=4, layers=2, structured_start=False)
    fresh, again = induction(new_model(plain, tokenizer, seed=0).eval(), 2048, span=300)
    assert abs(again - fresh) < 0.2


def test_heads_that_a_structured_start_cannot_use_are_refused():
    with pytest.raises(ValueError, match="heads of 32 to"):
        Architecture(width=192, heads=2)


# -- runs ------------------------------------------------------------------------------------------------------------


def test_a_run_exports_a_model_that_loads(prepared):
    folder = train(prepared, prepared / "data", RECIPE)
    assert folder is not None
    loaded = load_model(folder)
    assert (loaded.settings.style, loaded.settings.preset, loaded.settings.dialect) == ("base", "pocket", "starcoder")


def test_probes_measure_the_held_out_repository(prepared):
    train(prepared, prepared / "data", RECIPE)
    last = json.loads((prepared / "metrics.jsonl").read_text().splitlines()[-1])
    assert {"repeated_48", "nll_without", "nll_with", "es_without", "es_with", "es_told"} <= set(last)


def test_a_run_starts_with_the_weights_of_another(prepared):
    source = train(prepared, prepared / "data", RECIPE)
    model = new_model(RECIPE.model, load_model(source).tokenizer, seed=1)
    take_weights(model, load_model(source).tokenizer, str(source))
    expected = load_model(source).model.state_dict()
    assert all(torch.equal(weight, expected[name]) for name, weight in model.state_dict().items())


def test_a_run_goes_on_from_another_ones_weights_with_its_data(prepared, tmp_path):
    source = train(prepared, prepared / "data", RECIPE)
    longer = RECIPE.model_copy(update={"start_from": str(source), "seed": 1})
    folder = train(tmp_path, prepared / "data", longer)
    assert folder == tmp_path / "model"
    assert not (tmp_path / "data").exists()
    assert load_model(folder).tokenizer.get_vocab() == load_model(source).tokenizer.get_vocab()


def test_weights_of_another_shape_are_refused(prepared):
    source = train(prepared, prepared / "data", RECIPE)
    larger = RECIPE.model.model_copy(update={"layers": 3})
    tokenizer = load_model(source).tokenizer
    with pytest.raises(UserError, match="shape"):
        take_weights(new_model(larger, tokenizer, seed=0), tokenizer, str(source))


def test_likelihoods_weigh_blanks_by_their_tokens():
    losses = [TargetLosses(2.0, 1.0, 2.0, 0.5, tokens=30), TargetLosses(4.0, 5.0, 4.0, 0.5, tokens=10)]
    record = likelihoods(losses, ["one", "two"])
    assert record["nll_without"] == pytest.approx(2.5)
    assert record["nll_with"] == pytest.approx(2.0)
    assert record["likelier_with"] == 0.5
    assert record["gain"] == pytest.approx(0.0)
    assert record["gain_low"] <= 0.0 <= record["gain_high"]


def _weights(folder: Path | None) -> dict[str, torch.Tensor]:
    assert folder is not None
    return load_model(folder).model.state_dict()


def test_a_run_that_was_stopped_ends_like_one_that_was_not(tmp_path, monkeypatch):
    import repoformer.models.pretraining.trainer as trainer

    whole = _weights(pretrain(REPOSITORIES, tmp_path / "whole", RECIPE))
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "StopRequests", _StopsAfterTwo)
        assert pretrain(REPOSITORIES, tmp_path / "parts", RECIPE) is None
    parts = _weights(pretrain(REPOSITORIES, tmp_path / "parts", RECIPE))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


class _StopsAfterTwo:
    """Asks to stop before the third step."""

    def __init__(self, out: Path, *, main: bool, plain: bool) -> None:
        self._steps = -1

    def __enter__(self) -> _StopsAfterTwo:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def reason(self) -> str | None:
        self._steps += 1
        return "the test" if self._steps == 2 else None

    def honour(self) -> None:
        return None


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    pretrain(REPOSITORIES[:1], tmp_path, RECIPE)
    with pytest.raises(UserError, match="other data"):
        pretrain(REPOSITORIES, tmp_path, RECIPE)


def test_a_run_goes_on_with_other_limits_but_not_with_another_recipe(tmp_path):
    pretrain(REPOSITORIES[:1], tmp_path, RECIPE)
    assert pretrain(REPOSITORIES[:1], tmp_path, RECIPE.model_copy(update={"steps": RECIPE.steps + 1}))
    with pytest.raises(UserError, match="other settings"):
        pretrain(REPOSITORIES[:1], tmp_path, RECIPE.model_copy(update={"target_weight": 1.5}))


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x80\x02}q\x00."], ids=["empty", "text", "no keys"])
def test_a_broken_checkpoint_is_named(tmp_path, tokenizer, content):
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(UserError, match=r"checkpoint\.pt: not readable \(.+\); delete it to start again"):
        Trainer(new_model(RECIPE.model, tokenizer, 0), None, RECIPE, tmp_path, "key")


def test_no_repositories_is_a_users_mistake(tmp_path):
    with pytest.raises(UserError, match="no repositories"):
        pretrain([], tmp_path, RECIPE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": None}, "set minutes or steps"),
        ({"phases": [{"until": 0.5, "length": 64, "rows": 1}]}, "the last at 1.0"),
        ({"phases": [{"until": 1.0, "length": 2048, "rows": 1}]}, "model.positions"),
    ],
)
def test_a_recipe_that_cannot_run_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PretrainRecipe(**({"steps": 1} | changes))


def test_the_learning_rate_warms_up_stays_and_falls_to_a_tenth():
    rates = [RECIPE.learning_rate(step, share) for step, share in ((0, 0.0), (1000, 0.5), (1000, 1.0))]
    peak = RECIPE.optimiser.learning_rate
    assert rates == pytest.approx([peak / 50, peak, peak / 10])
