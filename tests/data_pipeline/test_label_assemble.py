"""The stages with a model, with a tiny one of random weights: every figure can be computed again from the records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.cli import main
from repoformer.code.records import Blank, Example, LabeledBlank
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline import runner
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.metrics.completion import postprocess
from repoformer.metrics.text import edit_similarity
from repoformer.models.example_encoding import ExampleEncoding, load_encoding
from repoformer.models.fingerprint import tokenizer_hash
from repoformer.prompt.budgets import TRAINING
from repoformer.prompt.cross_file import cross_file_text

BUDGETS = TRAINING["pocket"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def recipe(finished: Path, model: Path, recipe_for: Callable[..., DataRecipe]) -> DataRecipe:
    sample = {"chunks_per_repository": 2, "functions_per_repository": 1}
    return recipe_for(finished, label={"model": str(model), "batch": 8}, sample=sample)


@pytest.fixture
def out(recipe: DataRecipe, finished: Path) -> Path:
    """A finished run, made by the first test that asks for it."""
    runner.run(recipe)
    return finished


@pytest.fixture
def labelled(out: Path) -> list[LabeledBlank]:
    return read_parquet(LabeledBlank, out / "label")


@pytest.fixture
def examples(out: Path) -> dict[str, Example]:
    sides = ("train", "validation")
    return {example.id: example for side in sides for example in read_parquet(Example, out / "assemble" / side)}


def test_every_blank_in_training_and_validation_is_labelled(out: Path, labelled: list[LabeledBlank]) -> None:
    sides = json.loads((out / "split.json").read_text())
    wanted = {blank.id for blank in read_parquet(Blank, out / "sample") if blank.repository not in sides["test"]}
    assert {one.blank.id for one in labelled} == wanted


def test_edit_similarities_are_those_of_the_stored_completions(labelled: list[LabeledBlank]) -> None:
    for one in labelled:
        for completion, similarity in ((one.completion_without, one.es_without), (one.completion_with, one.es_with)):
            assert similarity == edit_similarity(postprocess(one.blank, completion), one.blank.target)


def test_context_changes_completions(labelled: list[LabeledBlank]) -> None:
    assert any(one.completion_with != one.completion_without for one in labelled)


def test_examples_hold_the_text_of_their_blanks(
    labelled: list[LabeledBlank], examples: dict[str, Example], tiny_tokenizer: Any
) -> None:
    def text(ids: tuple[int, ...]) -> str:
        return str(tiny_tokenizer.decode(ids, clean_up_tokenization_spaces=False))

    assert examples
    for one in labelled:
        if one.blank.id in examples:
            example = examples[one.blank.id]
            assert text(example.target) == one.blank.target
            # A cut may fall into a character, whose bytes then show as a replacement.
            assert text(example.left).lstrip("\ufffd") == one.blank.left[-len(text(example.left).lstrip("\ufffd")) :]
            assert one.blank.right.startswith(text(example.right).rstrip("\ufffd"))
            context = cross_file_text([ranked.chunk for ranked in one.context.chunks], "#")
            assert context.startswith(text(example.cross_file).rstrip("\ufffd"))
            assert example.gain == one.es_with - one.es_without


def test_examples_keep_their_budgets_and_hold_no_control_token(
    examples: dict[str, Example], tiny_tokenizer: Any
) -> None:
    control = set(tiny_tokenizer.get_added_vocab().values())
    for example in examples.values():
        left, right = BUDGETS.in_file(len(example.target))
        assert len(example.left) <= left
        assert len(example.right) <= right
        assert len(example.cross_file) <= BUDGETS.cross_file
        assert 0 < len(example.target) <= BUDGETS.target
        assert control.isdisjoint([*example.left, *example.right, *example.cross_file, *example.target])


def test_blanks_that_became_no_example_are_counted(
    out: Path, labelled: list[LabeledBlank], examples: dict[str, Example]
) -> None:
    card = json.loads((out / "data-card.json").read_text())
    dropped = card["dropped"]["assemble"]
    assert set(dropped) <= {f"target of more than {BUDGETS.target} tokens"}
    assert len(examples) + sum(dropped.values()) == len(labelled)


def test_the_examples_open_in_datasets(out: Path, examples: dict[str, Example], tmp_path: Path) -> None:
    import datasets

    files = {side: str(out / "assemble" / side / "part-*.parquet") for side in ("train", "validation")}
    loaded = datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path))
    rows = {row["id"]: row for side in files for row in loaded[side]}
    assert rows.keys() == examples.keys()
    assert all(tuple(row["left"]) == examples[identity].left for identity, row in rows.items())


def test_beside_the_examples_stands_what_they_were_encoded_with(out: Path, tiny_tokenizer: Any) -> None:
    encoding = load_encoding(out / "assemble")
    assert encoding == ExampleEncoding(preset="pocket", tokenizer=tokenizer_hash(tiny_tokenizer))


def test_the_card_counts_what_there_is(out: Path, labelled: list[LabeledBlank]) -> None:
    card = json.loads((out / "data-card.json").read_text())
    assert card["refused"]["gnu"] == "licence GPL-3.0-only is not allowed"
    assert card["licences"] == {"MIT": 7}
    assert card["dropped"]["collect"] == {"larger than 1000000 bytes": 1, "not UTF-8": 1}
    assert sum(count for kinds in card["blanks"].values() for count in kinds.values()) == card["rows"]["sample"]
    summaries = [summary for kinds in card["labels"].values() for summary in kinds.values()]
    assert sum(summary["blanks"] for summary in summaries) == len(labelled)
    positive = sum(summary["blanks"] * summary["positive_rate"] for summary in summaries)
    assert positive == pytest.approx(sum(one.wants_context() for one in labelled))


def test_a_finished_run_loads_no_model_again(out: Path, recipe: DataRecipe, monkeypatch: pytest.MonkeyPatch) -> None:
    from repoformer.models import loading

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(loading, "load_model", refuse)
    card = (out / "data-card.json").read_bytes()
    runner.run(recipe)
    assert (out / "data-card.json").read_bytes() == card


def test_the_command_line_runs_a_recipe_and_says_where_the_card_is(
    out: Path, recipe: DataRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe.model_dump_json())  # JSON is YAML
    assert main(["data", "run", str(path), "seed=0", "--workers", "2"]) == 0
    assert f"{out / 'data-card.json'}" in capsys.readouterr().out


def test_a_broken_recipe_ends_in_a_line_and_exit_code_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(f"out: {tmp_path}/out\nlicences: [MIT]\nsources: [{{kind: folder, path: nowhere}}]\n")
    assert main(["data", "run", str(path)]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
