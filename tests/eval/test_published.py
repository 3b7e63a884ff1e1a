"""The paper's tables and figures as recipes, with the published numbers beside ours."""

from __future__ import annotations

import re
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
SPEC = SHARED / "spec/published-numbers.md"
TASKS = ("line", "api", "function", "crosscodelongeval-chunk", "crosscodelongeval-function")
LANGUAGES = ("python", "java", "csharp", "typescript")


def recipe_of(name: str, *overrides: str) -> EvalRecipe:
    return load_recipe(EvalRecipe, FOLDER / f"{name}.yaml", overrides)


def test_there_is_a_recipe_for_every_table_and_figure_that_can_be_run() -> None:
    tables = {
        "table1",
        *(f"table2-{task}{size}" for task in TASKS for size in ("", "-3b", "-7b", "-16b")),
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


@pytest.mark.skipif(not SPEC.is_file(), reason=f"no collection of the published numbers beside this checkout ({SPEC})")
@pytest.mark.parametrize("column", range(5))
def test_table_2_is_copied_without_a_slip(column: int) -> None:
    section = SPEC.read_text().split("**Table 2**")[1].split("**Tables 3")[0]
    names = {"SCB": "starcoderbase", "StarCoder": "starcoder"}
    policies = {"No": "never", "Always": "always", "RF-G": "greedy", "RF-T": "threshold"}
    recipe = recipe_of(f"table2-{TASKS[column]}")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:3] == "| 1"]
    assert rows
    for size, system, *values in rows:
        *base, policy = system.split()
        model = f"{names[base[0]] if base else 'repoformer'}-{size.lower()}"
        printed = [float(value) for value in values[column].split("/")]
        assert list(recipe.published[model][policies[policy]].values()) == printed


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
    foreign = LocalGenerator(recipe, entry.model_copy(update={"path": str(tmp_path)}), MODELS_OWN)
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
