"""Stages without a model: the same bytes whatever the number of workers and wherever a run was killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Blank, Repository
from repoformer.code.storage import read_parquet
from repoformer.context.leaks import leaks
from repoformer.data_pipeline import collect, retrieve, runner, sample
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.retrieve import BlankInContext
from repoformer.data_pipeline.split import write_split
from repoformer.data_pipeline.workers import Workers
from repoformer.errors import UserError

RecipeFor = Callable[..., DataRecipe]


def run_without_model(recipe: DataRecipe, workers: int = 1) -> None:
    with Workers(workers) as processes:
        runner.run_stage(collect.STAGE, recipe, processes)
        write_split(recipe)
        runner.run_stage(sample.STAGE, recipe, processes)
        runner.run_stage(retrieve.STAGE, recipe, processes)


def parts(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("part-*.parquet"))}


def made(out: Path) -> dict[str, int]:
    """When each part was written."""
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in sorted(out.rglob("part-*.parquet"))}


def done(out: Path, stage: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((out / stage).glob("*.done.json"))]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def out(finished: Path, recipe_for: RecipeFor) -> Path:
    """A finished run that tests only read."""
    run_without_model(recipe_for(finished))
    return finished


@pytest.fixture
def copied(out: Path, tmp_path: Path) -> Path:
    """A finished run to spoil."""
    return Path(shutil.copytree(out, tmp_path / "copied"))


def test_repositories_are_collected_and_refused_with_a_reason(out: Path) -> None:
    names = {repository.id for repository in read_parquet(Repository, out / "collect")}
    assert names == {"ant", "bee", "cat", "dog", "elk", "fox", "odd"}
    refused = dict(refusal for each in done(out, "collect") for refusal in each["refused"])
    assert refused == {
        "gnu": "licence GPL-3.0-only is not allowed",
        "empty": "no known licence",
        "single": "1 usable files, at least 5 are needed",
    }


def test_files_that_cannot_be_used_are_counted_and_the_repository_goes_on(out: Path) -> None:
    dropped = [each["dropped"] for each in done(out, "collect") if each["dropped"]]
    assert dropped == [{"larger than 1000000 bytes": 1, "not UTF-8": 1}]
    (odd,) = [each for each in read_parquet(Repository, out / "collect") if each.id == "odd"]
    texts = {file.path: file.text for file in odd.files}
    assert texts["odd/breaks.py"] == "import os\n\fx = 'a\u2028b'\ny = 2\n"


def test_every_kept_repository_is_sampled_and_blanks_are_its_files(out: Path) -> None:
    files = {
        (each.id, file.path): file.text for each in read_parquet(Repository, out / "collect") for file in each.files
    }
    blanks = read_parquet(Blank, out / "sample")
    assert {blank.repository for blank in blanks} == {repository for repository, _ in files}
    assert all(blank.left + blank.target + blank.right == files[blank.repository, blank.path] for blank in blanks)
    assert len({blank.id for blank in blanks}) == len(blanks)
    assert {blank.kind for blank in blanks} == {"chunk", "function"}


def test_test_repositories_get_no_context(out: Path) -> None:
    sides = json.loads((out / "split.json").read_text())
    found = {one.blank.repository for one in read_parquet(BlankInContext, out / "retrieve")}
    assert found == {*sides["train"], *sides["validation"]}
    assert sides["test"]


def test_no_context_breaks_the_leak_rule(out: Path) -> None:
    files = {each.id: each.files for each in read_parquet(Repository, out / "collect")}
    found = read_parquet(BlankInContext, out / "retrieve")
    assert any(one.context.chunks for one in found)
    assert not [leak for one in found for leak in leaks(one.blank, one.context, files[one.blank.repository])]


def test_some_queries_of_training_blanks_hold_the_target_and_none_of_validation_blanks(out: Path) -> None:
    sides = json.loads((out / "split.json").read_text())
    holding: dict[str, set[bool]] = {"train": set(), "validation": set()}
    for one in read_parquet(BlankInContext, out / "retrieve"):
        side = "train" if one.blank.repository in sides["train"] else "validation"
        holding[side].add(one.context.query_holds_target)
    assert holding == {"train": {True, False}, "validation": {False}}


def test_a_split_whose_copied_files_are_gone_is_made_again(copied: Path, recipe_for: RecipeFor) -> None:
    before = (copied / "copied-files.json").read_bytes()
    (copied / "copied-files.json").unlink()
    run_without_model(recipe_for(copied))
    assert (copied / "copied-files.json").read_bytes() == before


def test_times_do_not_enter_the_records(out: Path) -> None:
    assert {one.context.seconds for one in read_parquet(BlankInContext, out / "retrieve")} == {0.0}


def test_two_workers_give_the_bytes_of_one(out: Path, tmp_path: Path, recipe_for: RecipeFor) -> None:
    run_without_model(recipe_for(tmp_path), workers=2)
    assert parts(tmp_path) == parts(out)
    assert (tmp_path / "split.json").read_bytes() == (out / "split.json").read_bytes()


def test_what_is_done_is_not_done_again(copied: Path, recipe_for: RecipeFor) -> None:
    before = made(copied)
    run_without_model(recipe_for(copied))
    assert made(copied) == before


@pytest.mark.parametrize("stage", ["collect", "sample", "retrieve"])
@pytest.mark.parametrize("suffix", [".done.json", ".parquet"])
def test_a_missing_file_is_made_again_and_nothing_else(
    copied: Path, recipe_for: RecipeFor, stage: str, suffix: str
) -> None:
    bytes_before, before = parts(copied), made(copied)
    (copied / stage / f"part-00001-of-00003{suffix}").unlink()
    run_without_model(recipe_for(copied))
    assert parts(copied) == bytes_before
    after = made(copied)
    part = "part-00001-of-00003.parquet"
    again = {f"{stage}/{part}"} | ({f"signatures/{part}"} if stage == "collect" else set())
    assert {path for path in after if after[path] != before[path]} == again


@pytest.mark.parametrize("stage", ["collect", "sample", "retrieve"])
def test_a_run_that_dies_in_a_shard_goes_on(
    out: Path, tmp_path: Path, recipe_for: RecipeFor, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    finish, deaths = runner.finish, []

    def die(each: Any, shard: Any, *rest: Any) -> None:
        if each.name == stage and shard.number == 1:
            deaths.append(shard)
            raise KeyboardInterrupt
        finish(each, shard, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "finish", die)
        with pytest.raises(KeyboardInterrupt):
            run_without_model(recipe_for(tmp_path))
    assert deaths
    run_without_model(recipe_for(tmp_path))
    assert parts(tmp_path) == parts(out)


def test_a_killed_run_leaves_no_worker_and_goes_on(
    out: Path, repositories: Path, tmp_path: Path, recipe_for: RecipeFor
) -> None:
    values = tmp_path / "recipe.json"
    values.write_text(recipe_for(tmp_path / "out").model_dump_json())
    code = (
        "import json, sys; from pathlib import Path; from repoformer.config import parse_recipe\n"
        "from repoformer.data_pipeline.recipe import DataRecipe; from repoformer.data_pipeline.runner import run\n"
        "if __name__ == '__main__':\n"
        "    recipe = parse_recipe(DataRecipe, json.loads(Path(sys.argv[1]).read_text()), 'r')\n"
        "    run(recipe, workers=2, steps=('collect', 'split', 'sample', 'retrieve'))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, "-P", script, values], stderr=subprocess.DEVNULL, start_new_session=True
    )
    wait_until(lambda: any((tmp_path / "out").rglob("*.done.json")))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not session_members(process.pid))
    run_without_model(recipe_for(tmp_path / "out"))
    assert parts(tmp_path / "out") == parts(out)


def wait_until(holds: Callable[[], bool], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def session_members(session: int) -> list[int]:
    """Processes of a session, zombies not counted."""
    members = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(int(status.parent.name))
    return members


def test_a_changed_setting_redoes_only_the_stages_that_depend_on_it(copied: Path, recipe_for: RecipeFor) -> None:
    before = made(copied)
    run_without_model(recipe_for(copied, sample={"chunks_per_repository": 3, "functions_per_repository": 1}))
    changed = {path.partition("/")[0] for path, time_made in made(copied).items() if before[path] != time_made}
    assert changed == {"sample", "retrieve"}


def test_a_changed_file_redoes_only_its_shard(
    copied: Path, repositories: Path, tmp_path: Path, recipe_for: RecipeFor
) -> None:
    moved = Path(shutil.copytree(repositories, tmp_path / "repositories"))
    recipe = recipe_for(copied, sources=[{"kind": "folder", "path": str(moved)}])
    run_without_model(recipe)
    before = made(copied)
    with open(moved / "ant" / "ant" / "load.py", "a") as handle:
        handle.write("\n\nCHANGED = 1\n")
    run_without_model(recipe)
    changed = {path for path, time_made in made(copied).items() if before[path] != time_made}
    (shard,) = {Path(path).name for path in changed}
    assert "collect/" + shard in changed


def test_another_number_of_shards_is_refused(copied: Path, recipe_for: RecipeFor) -> None:
    with pytest.raises(UserError, match="holds parts of 3 shards and the recipe says shards: 4"):
        runner.run(recipe_for(copied, shards=4))


def test_fewer_than_three_repositories_are_refused_with_the_reasons(tmp_path: Path, recipe_for: RecipeFor) -> None:
    recipe = recipe_for(tmp_path, filter={"files": 1000})
    with pytest.raises(UserError, match=r"0 repositories passed.*10 were refused.*ant: 6 usable files"):
        run_without_model(recipe)


def test_a_repository_named_for_testing_must_have_passed(tmp_path: Path, recipe_for: RecipeFor) -> None:
    recipe = recipe_for(tmp_path, split={"validation": 0.2, "test_repositories": ["ant", "no_such"]})
    with pytest.raises(UserError, match=r"no_such is in split.test_repositories, but no source has it"):
        run_without_model(recipe)


def test_only_one_of_two_copies_is_used(repositories: Path, tmp_path: Path, recipe_for: RecipeFor) -> None:
    """A fork under another name, as `httpx2` is of `httpx`, would be tested on what it was trained on."""
    moved = Path(shutil.copytree(repositories, tmp_path / "repositories"))
    shutil.copytree(moved / "bee", moved / "wasp")
    (moved / "wasp" / "bee").rename(moved / "wasp" / "wasp")
    for path in (moved / "wasp" / "wasp").glob("*.py"):
        path.write_text(path.read_text().replace("from bee.", "from wasp."))
    run_without_model(recipe_for(tmp_path / "out", sources=[{"kind": "folder", "path": str(moved)}]))
    split = json.loads((tmp_path / "out" / "split.json").read_text())
    assert split["copies"] in ({"bee": "wasp"}, {"wasp": "bee"})
    kept = {*split["train"], *split["validation"], *split["test"]}
    assert len(kept & {"bee", "wasp"}) == 1
    assert {blank.repository for blank in read_parquet(Blank, tmp_path / "out" / "sample")} == kept


def test_two_sources_cannot_have_one_repository_each_of_a_name(
    tmp_path: Path, repositories: Path, recipe_for: RecipeFor
) -> None:
    source = {"kind": "folder", "path": str(repositories)}
    recipe = recipe_for(tmp_path, sources=[source, source])
    with Workers(1) as workers:
        runner.run_stage(collect.STAGE, recipe, workers)
    names = [repository.id for repository in read_parquet(Repository, tmp_path / "collect")]
    assert len(names) == len(set(names)) == 7
    reasons = [reason for each in done(tmp_path, "collect") for _, reason in each["refused"]]
    assert reasons.count("another source has a repository of this name") == 10


def test_no_workers_are_refused(tmp_path: Path, recipe_for: RecipeFor) -> None:
    with pytest.raises(UserError, match="--workers 0"):
        runner.run(recipe_for(tmp_path), workers=0)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"model": "no-model-here"}, "no-model-here"),
        ({"model": "."}, r"no config\.json in this folder"),
        ({"device": "warp"}, "device 'warp' is unknown"),
        ({"endpoint": {"url": "http://h", "model": "m", "dialect": "starcoder", "key_variable": "NO_KEY"}}, "NO_KEY"),
    ],
)
def test_who_cannot_label_is_refused_before_any_stage(
    tmp_path: Path, recipe_for: RecipeFor, label: Any, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        runner.run(recipe_for(tmp_path / "out", label=label))
    assert not (tmp_path / "out").exists()
