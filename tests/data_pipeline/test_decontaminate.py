"""What a benchmark is made of is not trained on: by name, by content, and both are reported."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Blank, Repository, SourceFile
from repoformer.code.sources.candidate import Refused
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline import collect, runner
from repoformer.data_pipeline.decontaminate import Contamination, leave_out
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.workers import Workers
from repoformer.errors import UserError

RecipeFor = Callable[..., DataRecipe]


def lines(seed: str, count: int = 30) -> str:
    draw = random.Random(seed)
    return "".join(f"value_{draw.getrandbits(40)} = compute({draw.getrandbits(40)})\n" for _ in range(count))


def a_blank(repository: str, path: str, left: str, target: str = "x = 1", right: str = "\n") -> Blank:
    return Blank("id", repository, "", "MIT", path, "python", "line", 0, 1, left, right, target)


@pytest.mark.parametrize(
    "name", ["owner/some.repo", "Owner/Some-Repo", "owner_some_repo", "some-repo", "Some.Repo.git"]
)
@pytest.mark.parametrize("benchmark", ["owner_some-repo", "owner-some-repo-0a1b2c3", "owner/some-repo"])
def test_a_repository_is_known_by_its_name_however_it_is_spelled(benchmark: str, name: str) -> None:
    known = Contamination([("bench", a_blank(benchmark, "a.py", ""))])
    assert known.refusal(name) == "repository of bench (owner-some-repo)"


@pytest.mark.parametrize("name", ["other/some-repo", "repo-some", "some", "some-repository", "owner/repo"])
def test_other_names_are_other_repositories(name: str) -> None:
    assert Contamination([("bench", a_blank("owner_some-repo", "a.py", ""))]).refusal(name) is None


def test_a_copied_file_is_left_out_and_reported() -> None:
    text = lines("file")
    known = Contamination(
        [
            ("bench", a_blank("owner_repo", "src/a.py", text[:400])),
            ("bench", a_blank("owner_repo", "src/a.py", text[400:])),
        ]
    )
    reports: list[tuple[str, str]] = []
    why = leave_out(known, lambda path, reason: reports.append((path, reason)))
    assert (
        why(SourceFile("copied/b.py", "import os\n" + text.replace("\n", "\r\n    "), "python"))
        == "copy of a file of bench"
    )
    assert reports == [("copied/b.py", "copy of owner_repo/src/a.py of bench")]
    assert why(SourceFile("own.py", lines("own"), "python")) is None


def test_a_cropped_problem_is_recognised_in_its_long_file() -> None:
    text = lines("file", 300)
    known = Contamination([("bench", a_blank("owner_repo", "a.py", text[5000:7000]))])
    assert known.copied(SourceFile("b.py", text, "python")) == ("bench", "owner_repo/a.py")


def test_a_copy_at_the_same_path_makes_the_repository_a_copy() -> None:
    known = Contamination([("bench", a_blank("owner_repo", "src/a.py", lines("file")))])
    with pytest.raises(Refused, match=r"copy of a repository of bench \(src/a.py of owner_repo\)"):
        known.copied(SourceFile("src/a.py", lines("file"), "python"))


def test_a_passage_in_a_file_of_its_own_right_is_no_copy() -> None:
    known = Contamination([("bench", a_blank("owner_repo", "a.py", lines("file", 30)))])
    own = lines("own", 30) + lines("file", 30)[:600]
    assert known.copied(SourceFile("b.py", own, "python")) is None


def write_benchmark(folder: Path, repositories: Path) -> None:
    """RepoEval's form: one line of a file of `ant`, one of a file that `fox` has copied under another name."""

    def row(repository: str, path: str) -> dict[str, Any]:
        text = (repositories / repository / path).read_text().split("\n")
        return {
            "prompt": "\n".join(text[:20]),
            "metadata": {
                "fpath_tuple": [f"owner_{repository}", path],
                "ground_truth": text[20] or "pass",
                "line_no": 20,
                "context_start_lineno": 0,
            },
        }

    folder.mkdir()
    rows = [row("ant", "ant/load.py"), row("fork", "bee/load.py"), row("gone", "lib/tool.py")]
    (folder / "line_level_completion_2k_context_codex.test.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in rows)
    )


def test_the_pipeline_reports_what_it_removed(repositories: Path, tmp_path: Path, recipe_for: RecipeFor) -> None:
    made = tmp_path / "made"
    for name, path, original in (
        ("ant", "ant/load.py", "ant/ant/load.py"),
        ("fork", "bee/load.py", "bee/bee/load.py"),
        ("gone", "lib/tool.py", "cat/cat/load.py"),
    ):
        (made / name / path).parent.mkdir(parents=True)
        (made / name / path).write_text((repositories / original).read_text())
    write_benchmark(tmp_path / "benchmark", made)
    wanted = [{"name": "repoeval-line", "path": str(tmp_path / "benchmark")}]
    recipe = recipe_for(tmp_path / "out", decontaminate=wanted)
    with Workers(1) as workers:
        runner.run_stage(collect.STAGE, recipe, workers)
    done = [json.loads(path.read_text()) for path in (tmp_path / "out" / "collect").glob("*.done.json")]
    refused = {name: reason for each in done for name, reason in each["refused"]}
    assert refused["ant"] == "repository of repoeval-line (owner-ant)"
    assert refused["bee"] == "copy of a repository of repoeval-line (bee/load.py of owner_fork)"
    assert refused["cat/cat/load.py"] == "copy of owner_gone/lib/tool.py of repoeval-line"
    kept = {
        each.id: [file.path for file in each.files] for each in read_parquet(Repository, tmp_path / "out" / "collect")
    }
    assert set(kept) == {"cat", "dog", "elk", "fox", "odd"}
    assert "cat/load.py" not in kept["cat"]
    assert sum(each["dropped"].get("copy of a file of repoeval-line", 0) for each in done) == 1


def test_an_unknown_benchmark_and_a_missing_file_are_the_users_to_hear(tmp_path: Path, recipe_for: RecipeFor) -> None:
    with pytest.raises(UserError, match="did you mean repoeval-line"):
        recipe_for(tmp_path, decontaminate=[{"name": "repoeval-lin", "path": "."}])
    recipe = recipe_for(tmp_path / "out", decontaminate=[{"name": "repoeval-line", "path": str(tmp_path)}])
    with Workers(1) as workers, pytest.raises(UserError, match="no such file; repoeval-line is read from it"):
        runner.run_stage(collect.STAGE, recipe, workers)
