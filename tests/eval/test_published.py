"""The paper's tables and figures as recipes, with the published numbers beside ours."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from repoformer.benchmarks.benchmark import benchmark
from repoformer.code.records import Blank, Prediction, RetrievedContext
from repoformer.code.storage import read_json
from repoformer.config import load_recipe
from repoformer.errors import UserError
from repoformer.eval import generators, runner
from repoformer.eval.execute.recipe import ExecuteRecipe
from repoformer.eval.generate import _completed
from repoformer.eval.generators import LocalGenerator
from repoformer.eval.published import COUNTS, MEASURES, published
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.retrieve import Prepared
from repoformer.inference.arms import MODELS_OWN
from repoformer.metrics.catalogue import METRICS
from repoformer.models.settings import PAPER_THRESHOLDS, ModelSettings
from repoformer.prompt.budgets import Budgets

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "recipes/eval/paper"
PAPER = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "table1-tests.yaml")
SHARED = ROOT.parent / "shared"
GENUINE = SHARED / "data/crosscodelongeval"
COLUMNS_OF_TABLE_2 = ("line", "api", "function", "crosscodelongeval-chunk", "crosscodelongeval-function")
TABLE_2 = """
starcoderbase-1b  never     43.44/67.77 37.81/66.54 22.20/47.65 31.08/60.09 47.49
starcoderbase-1b  always    51.19/72.30 43.94/69.17 25.71/55.64 37.22/63.73 50.50
repoformer-1b     greedy    51.90/74.50 43.50/71.00 24.00/53.10 38.52/68.08 52.09
repoformer-1b     threshold 54.40/76.00 46.10/72.70 28.79/57.30 41.92/69.97 53.71
starcoderbase-3b  never     49.00/72.12 40.44/69.02 24.84/51.22 36.14/64.65 49.88
starcoderbase-3b  always    56.69/76.68 47.00/72.62 29.67/57.68 42.26/67.74 53.39
repoformer-3b     greedy    56.30/77.60 46.10/73.60 28.57/54.70 42.06/70.70 54.47
repoformer-3b     threshold 59.63/79.02 49.31/74.96 32.96/60.56 46.66/72.23 56.24
starcoderbase-7b  never     51.88/74.03 43.31/70.79 25.49/52.28 38.88/66.61 52.45
starcoderbase-7b  always    59.44/78.15 49.56/73.65 31.43/58.51 44.44/69.53 55.41
repoformer-7b     greedy    56.00/76.63 48.06/75.03 30.77/55.27 43.80/72.46 56.14
repoformer-7b     threshold 59.63/78.63 50.87/76.89 35.16/60.64 46.88/74.20 57.18
starcoder-16b     never     55.25/76.07 44.50/71.00 34.73/53.60 42.58/69.40 54.20
starcoder-16b     always    61.25/79.24 51.12/74.50 42.86/60.96 47.90/71.90 58.06
repoformer-16b    greedy    58.13/78.81 48.69/76.23 42.42/58.42 45.00/73.36 57.71
repoformer-16b    threshold 61.75/80.34 51.88/77.93 44.18/62.58 49.18/75.50 58.93
"""
"""As printed in the paper: EM/ES of lines and calls, unit tests/ES of functions, EM/ES of chunks, ES of functions."""
LANGUAGES = ("python", "java", "csharp", "typescript")


def recipe_of(name: str, *overrides: str) -> EvalRecipe:
    return load_recipe(EvalRecipe, FOLDER / f"{name}.yaml", overrides)


def test_there_is_a_recipe_for_every_table_and_figure_that_can_be_run() -> None:
    tables = {
        "table1",
        *(f"table2-{task}{size}" for task in COLUMNS_OF_TABLE_2 for size in ("", "-3b", "-7b", "-16b")),
        *(f"table3-{task}{size}" for task in ("line", "api") for size in ("", "-3b")),
        *(f"table4-{task}" for task in ("line", "api")),
        *(f"table5-{kind}" for kind in ("chunk", "function")),
        *(f"table7-{language}{size}" for language in LANGUAGES for size in ("", "-3b", "-7b")),
    }
    figures = {f"figure{number}" for number in (3, 4, 5, 6, 7, 8, 9, 11)}
    assert {path.stem for path in PAPER} == tables | figures


def test_table_1s_unit_tests_are_run_where_table_1_was() -> None:
    tests = load_recipe(ExecuteRecipe, FOLDER / "table1-tests.yaml")
    assert tests.evaluation == recipe_of("table1").out


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_every_model_has_published_numbers_in_metrics_that_there_are(path: Path) -> None:
    recipe = load_recipe(EvalRecipe, path)
    assert recipe.published_in
    gates = {model.gate for model in recipe.models}
    assert {model.name for model in recipe.models} - gates <= recipe.published.keys()
    for policies in recipe.published.values():
        for values in policies.values():
            assert values.keys() <= METRICS.keys() | set(MEASURES)
            assert all(value <= 100 for metric, value in values.items() if metric not in COUNTS)
            assert [metric for metric in values if metric in METRICS] == [
                metric for metric in values if metric in benchmark(recipe.benchmark.name).metrics
            ]


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_thresholds_are_the_papers_for_the_kind_of_the_benchmark(path: Path) -> None:
    recipe = load_recipe(EvalRecipe, path)
    kind = benchmark(recipe.benchmark.name).kind
    of_ablations = {"a1-one-cross-entropy": 0.99, "a4-context-after-middle": 0.10}
    for model in recipe.models:
        if "threshold" in recipe.published.get(model.name, {}) and model.gate is None:
            assert model.thresholds == {kind: of_ablations.get(model.name, PAPER_THRESHOLDS[kind])}


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_contexts_and_budgets_are_the_papers(path: Path) -> None:
    recipe = load_recipe(EvalRecipe, path)
    found = recipe.retrieve
    assert (found.window, found.stride, found.function_window, found.function_stride) == (20, 10, 50, 25)
    assert (found.top, found.neighbour, found.query_lines) == (10, "next", 20)
    # Of a model without settings of its own, and of one that recipes/train/paper.yaml made.
    assert ModelSettings().budgets == Budgets(1024, 512, 512, 50, 256)
    assert recipe.limit == 0
    assert all(model.path.startswith(("bigcode/", "codellama/", "runs/")) for model in recipe.models)


@pytest.mark.parametrize("column", range(5))
def test_table_2_is_copied_without_a_slip(column: int) -> None:
    recipe = recipe_of(f"table2-{COLUMNS_OF_TABLE_2[column]}")
    rows = [line.split() for line in TABLE_2.strip().splitlines()]
    assert len(rows) == sum(len(policies) for policies in recipe.published.values())
    for model, policy, *values in rows:
        printed = [float(value) for value in values[column].split("/")]
        assert list(recipe.published[model][policy].values()) == printed


@pytest.mark.parametrize("path", sorted(FOLDER.glob("figure*.yaml")), ids=lambda path: path.stem)
def test_a_figures_section_stands_in_the_report(path: Path, finished_run: EvalRecipe) -> None:
    headings = re.findall(r"<h2[^>]*>([^<]*)", (Path(finished_run.out) / "report.html").read_text())
    for figure in load_recipe(EvalRecipe, path).figures:
        assert any(heading.startswith(figure.section) for heading in headings)


def test_ours_is_what_this_run_found_of_the_same_model_policy_and_metric(finished_run: EvalRecipe) -> None:
    summary = read_json(Path(finished_run.out) / "summary.json")
    wanted = {"retrieved": 61, "latency_saved": 28, "abstention_precision": 78, "unit_tests": 28.79}
    stated = {"other": {"never": {"unit_tests": 22.2}}, "deciding": {"threshold": wanted}}
    recipe = finished_run.model_copy(update={"published": stated})
    numbers = published(recipe, summary)["numbers"]
    assert [number["model"] for number in numbers] == ["deciding"] * 4 + ["other"]
    rows = {row["policy"]: row for row in summary["rows"] if row["model"] == "deciding" and row["scope"] == "all"}
    ours = {number["metric"]: (number["ours"], number["n"]) for number in numbers[:4]}
    assert ours["retrieved"] == (pytest.approx(100 * rows["threshold"]["share_retrieved"]), 12)
    saved = 1 - rows["threshold"]["seconds"] / rows["always"]["seconds"]
    assert ours["latency_saved"] == (pytest.approx(100 * saved), finished_run.latency_blanks)
    (deciding,) = (model for model in summary["models"] if model["name"] == "deciding")
    taken = deciding["decisions"]["all"]["policies"]["threshold"]
    right = taken["abstention_precision"]["value"]
    assert ours["abstention_precision"] == ((None, None) if right is None else (100 * right, taken["abstained"]))
    assert ours["unit_tests"] == (None, None)
    assert numbers[4]["ours"] is None


def test_how_often_abstaining_was_right_is_ours_too(finished_run: EvalRecipe) -> None:
    summary = read_json(Path(finished_run.out) / "summary.json")
    (deciding,) = (model for model in summary["models"] if model["name"] == "deciding")
    taken = deciding["decisions"]["all"]["policies"]["threshold"]
    taken |= {"abstained": 4, "abstention_precision": {"value": 0.75, "reason": ""}}
    stated = {"deciding": {"threshold": {"abstention_precision": 78}}}
    (number,) = published(finished_run.model_copy(update={"published": stated}), summary)["numbers"]
    assert (number["ours"], number["n"]) == (75.0, 4)


@pytest.mark.parametrize(
    ("judged", "partial", "counts"),
    [(12, False, [(1, 12), (3, 12)]), (12, True, [(None, None)] * 2), (6, False, [(None, None)] * 2)],
    ids=["all", "limited", "some"],
)
def test_pass_rates_have_their_own_n_and_counts_need_all_functions(
    finished_run: EvalRecipe, judged: int, partial: bool, counts: list[tuple[int | None, int | None]]
) -> None:
    summary = read_json(Path(finished_run.out) / "summary.json")
    assert summary["data"]["available"] == 12
    executed = {"policies": {"always": {"pass_rate": 0.25}}, "helped": 3, "unchanged": 2, "harmed": 1}
    summary["unit_tests"] = {"partial": partial, "models": {"plain": executed | {"blanks": judged}}}
    stated = {"plain": {"always": {"unit_tests": 25.71, "tests_harmed": 16, "tests_helped": 32}}}
    numbers = published(finished_run.model_copy(update={"published": stated}), summary)["numbers"]
    assert [(number["ours"], number["n"]) for number in numbers] == [(25.0, judged), *counts]


def test_a_model_without_right_context_completes_the_same_blanks(blanks: list[Blank]) -> None:
    seen = []

    class Recorder:
        def complete(self, group: Any, timed: Any) -> list[Prediction]:
            seen.extend(one.blank for one in group)
            return [Prediction(one.blank, "m", None, None, one.context, "", "", *[None] * 4) for one in group]

    context = RetrievedContext((), "", False, "none", 0.0)
    group = [Prepared(blank, context, 0.0, None, None) for blank in blanks[:2]]
    made = _completed(Recorder(), group, set(), False)
    assert [blank.right for blank in seen] == ["", ""]
    assert [prediction.blank for prediction in made] == blanks[:2]
    assert all(blank.right for blank in blanks[:2])


def test_a_recipes_thresholds_stand_in_for_the_models_own(recipe_with: Callable[..., EvalRecipe]) -> None:
    recipe = recipe_with()
    entry = recipe.models[1].model_copy(update={"thresholds": {"function": 0.15}})
    settings = LocalGenerator(recipe, entry, MODELS_OWN).facts_of_today()["settings"]
    assert settings["thresholds"] == {"chunk": 0.001, "function": 0.15}
    assert settings["thresholds_from"] == "the recipe"


def test_thresholds_of_a_model_that_takes_no_decisions_are_refused(
    recipe_with: Callable[..., EvalRecipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_with()
    entry = recipe.models[0].model_copy(update={"thresholds": {"function": 0.15}})
    with pytest.raises(UserError, match=r"models: plain takes no decisions \(.*\); leave its thresholds out"):
        LocalGenerator(recipe, entry, MODELS_OWN)
    copy = shutil.copytree(entry.path, tmp_path / "foreign", ignore=shutil.ignore_patterns("repoformer.json"))
    foreign = LocalGenerator(recipe, entry.model_copy(update={"path": str(copy)}), MODELS_OWN)
    monkeypatch.setattr(generators, "load_model", lambda path, **_: SimpleNamespace(settings=ModelSettings()))
    with pytest.raises(UserError, match="plain takes no decisions"):
        foreign.load()


@pytest.mark.skipif(not GENUINE.is_dir(), reason=f"no genuine benchmark records beside this checkout ({GENUINE})")
def test_a_papers_recipe_runs_with_a_small_model(model_folders: dict[str, Path], tmp_path: Path) -> None:
    models = f"models=[{{name: starcoderbase-1b, path: {model_folders['base']}}}]"
    data = f"benchmark.data={GENUINE / 'chunk.jsonl'}"
    small = [data, f"out={tmp_path}", "limit=2", "latency_blanks=0", "resamples=100", models]
    numbers = runner.run(recipe_of("table2-crosscodelongeval-chunk", *small))["published"]["numbers"]
    assert [number["ours"] is None for number in numbers] == [
        number["model"] != "starcoderbase-1b" for number in numbers
    ]
    page = (tmp_path / "report.html").read_text()
    assert "Beside the published numbers" in page
    assert "60.09" in page
