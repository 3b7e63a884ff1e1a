"""Several processes write what one would have written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from repoformer.code.records import Prediction
from repoformer.code.storage import read_json, read_jsonl
from repoformer.errors import UserError
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.shards import Shard

SECONDS = ("decide_seconds", "retrieve_seconds", "generate_without_seconds", "generate_with_seconds")


def untimed(out: Path, model: str) -> dict[str, Prediction]:
    """Predictions by id, without the seconds, which no two runs share."""
    found = {}
    for one in read_jsonl(Prediction, out / "predictions" / f"{model}.jsonl"):
        context = dataclasses.replace(one.context, seconds=0.0)
        found[one.blank.id] = dataclasses.replace(one, context=context, **dict.fromkeys(SECONDS))
    return found


def test_merged_shards_are_the_run_of_one_process(
    finished_run: EvalRecipe, recipe_with: Callable[..., EvalRecipe]
) -> None:
    recipe = recipe_with()
    for number in range(2):
        runner.generate(recipe, Shard(number, 2))
    runner.rescore(recipe)
    out, whole = Path(recipe.out), Path(finished_run.out)
    for model in ("plain", "deciding"):
        assert untimed(out, model) == untimed(whole, model)
    rows = [read_json(folder / "summary.json")["rows"] for folder in (out, whole)]
    assert [row["es"] for row in rows[0]] == [row["es"] for row in rows[1]]
    assert rows[0][0]["seconds_n"] == rows[1][0]["seconds_n"]
    assert not (out / "shards").exists()


def test_scoring_waits_for_every_shard(recipe_with: Callable[..., EvalRecipe]) -> None:
    recipe = recipe_with(limit=2)
    runner.generate(recipe, Shard(0, 3))
    with pytest.raises(UserError, match="1 of 3 shards are there"):
        runner.score(recipe)


def test_an_unfinished_shard_is_not_merged_and_can_go_on(recipe_with: Callable[..., EvalRecipe]) -> None:
    recipe = recipe_with(limit=8, latency_blanks=0)
    for number in range(2):
        runner.generate(recipe, Shard(number, 2))
    path = Shard(1, 2).folder(Path(recipe.out)) / "predictions" / "deciding.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError, match=r"deciding\.jsonl: 1 of 4 blanks have no prediction"):
        runner.score(recipe)
    runner.generate(recipe, Shard(1, 2))
    runner.score(recipe)


def test_a_shard_without_blanks_is_finished_too(recipe_with: Callable[..., EvalRecipe]) -> None:
    """More processes than batches: the rest have nothing to do, which is no reason to stop."""
    recipe = recipe_with(limit=2, latency_blanks=0)
    for number in range(3):
        runner.generate(recipe, Shard(number, 3))
    runner.score(recipe)
    assert len(read_jsonl(Prediction, Path(recipe.out) / "predictions" / "plain.jsonl")) == 2


def test_a_launcher_tells_each_process_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Shard.of_launcher() == Shard(0, 1)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert Shard.of_launcher() == Shard(2, 4)


@pytest.mark.parametrize("text", ["4/4", "1", "a/b", "-1/2"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="shard"):
        Shard.parse(text)


def test_shares_hold_every_group_once() -> None:
    groups = list(range(11))
    parts = [Shard(number, 3).part(groups) for number in range(3)]
    assert sorted(group for part in parts for group in part) == groups
