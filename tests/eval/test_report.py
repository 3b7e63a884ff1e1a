"""The page says what the summary says, and nothing in the summary can break it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.storage import read_json, write_json, write_jsonl
from repoformer.eval import examples as examples_module
from repoformer.eval.examples import examples
from repoformer.eval.execute.bodies import arms
from repoformer.eval.execute.execution import body_hash
from repoformer.eval.execute.pass_rate import UnitTests, summarise, unit_tests_path
from repoformer.eval.generate import predictions_log
from repoformer.eval.headline import doubt, headline, verdict
from repoformer.eval.recipe import EvalRecipe
from repoformer.eval.remarks import SERVED, remarks
from repoformer.eval.report import render
from repoformer.eval.report_tables import distinct
from repoformer.eval.runner import evaluated, report_again, reported

HOSTILE = "</script></code><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;\u202e{{7*7}}"

VERDICTS = [
    UnitTests("a", "r", 0.0, 1.0, "timeout", "passed", "", ""),
    UnitTests("b", "s", 1.0, 1.0, "passed", "passed", "", ""),
    UnitTests("c", "s", 1.0, 0.0, "passed", "failed", "", ""),
]
POLICIES = {"never": [0.0] * 3, "always": [1.0] * 3, "threshold": [1.0, 0.0, 0.0]}
EXECUTED = {
    "partial": False,
    "functions": 5,
    "judged": 4,
    "left_out": {"no test notices that the body is gone": 1},
    "repositories": {
        "r": {"functions": 5, "judged": 4, "tests_counted": 70, "tests_ignored": 6, "baseline_seconds": 1.5}
    },
    "models": {"plain": summarise(VERDICTS, POLICIES, resamples=100, seed=0)},
}


@pytest.fixture
def summary(finished_run: EvalRecipe) -> dict[str, Any]:
    return json.loads((Path(finished_run.out) / "summary.json").read_text())


class Outline(HTMLParser):
    """The elements of a page, the names of their attributes, and the text outside of plots and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._hidden += tag in ("figure", "script", "style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("figure", "script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        yield len(value)
        for item in value:
            yield from leaves(item)
    else:
        yield value


@pytest.fixture
def items(finished_run: EvalRecipe) -> list[dict[str, Any]]:
    return list(examples(*evaluated(finished_run), finished_run.seed))


def test_the_page_is_rendered_from_the_file_and_the_instances_alone(
    summary: dict[str, Any], items: list[dict[str, Any]], finished_run: EvalRecipe
) -> None:
    assert render(summary, items) == (Path(finished_run.out) / "report.html").read_text()


def test_every_models_completions_of_all_blanks_can_be_looked_at(items: list[dict[str, Any]]) -> None:
    assert [item["model"] for item in items] == ["deciding"] * 12 + ["plain"] * 12
    assert [item["id"] for item in items[:12]] == [item["id"] for item in items[12:]]
    assert {item["asked"] for item in items[:12]} <= {True, False}
    assert {item["asked"] for item in items[12:]} == {None}


def test_of_many_blanks_some_are_drawn_and_the_page_says_so(
    summary: dict[str, Any], finished_run: EvalRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples_module, "SHOWN", 5)
    drawn = list(examples(*evaluated(finished_run), finished_run.seed))
    assert len(drawn) == 10
    assert "5 of 12 blanks, drawn without looking" in render(summary, drawn)


def test_every_figure_outside_of_plots_stands_in_the_summary(
    summary: dict[str, Any], items: list[dict[str, Any]]
) -> None:
    known: set[str] = set()
    for value in leaves(summary):
        if isinstance(value, str):
            # Commits are cut to twelve digits, which may part a number in two.
            known |= {*re.findall(r"\d+(?:\.\d+)?", value), *re.findall(r"\d+", value[:12])}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            for style in ("{:.3f}", "{:.4f}", "{:.4g}", "{}"):
                known.add(style.format(abs(value)))
            known |= {f"{100 * abs(value):.1f}", f"{100 * abs(value):.0f}"}
    text = " ".join(Outline(render(summary, items)).text).replace("\N{NARROW NO-BREAK SPACE}", "")
    # "95 % interval", "an AUROC of 0.5", "1 - Levenshtein / longest", "appendix C.2", "13 figures on these tokens"
    explanations = {"95", "0.5", "1", "2", "13"}
    assert not set(re.findall(r"\d+(?:\.\d+)?", text)) - known - explanations


def test_hostile_text_stays_text(summary: dict[str, Any], items: list[dict[str, Any]]) -> None:
    hostile = copy.deepcopy(summary) | {"unit_tests": copy.deepcopy(EXECUTED)}
    hostile["notes"].append("x")
    plain = Outline(render(hostile, items))
    hostile["notes"][-1] = HOSTILE
    hostile["data"]["repositories"][0]["id"] = HOSTILE
    hostile["provenance"]["config"]["data"] = HOSTILE
    for model in hostile["models"]:
        model["thresholds_from"] = HOSTILE
    hostile["unit_tests"]["left_out"] = {HOSTILE: 1}
    hostile["unit_tests"]["repositories"] = {HOSTILE: EXECUTED["repositories"]["r"]}
    for item in items:
        for field in (
            "id",
            "repository",
            "path",
            "left",
            "right",
            "target",
            "text_without",
            "text_with",
            "query",
            "note",
            "model",
            "tests_without",
        ):
            item[field] = HOSTILE
        for chunk in item["chunks"]:
            chunk |= {"path": HOSTILE, "text": HOSTILE}
    page = render(hostile, items)
    found = Outline(page)
    assert found.tags == plain.tags
    assert not any(name.startswith("on") for name in found.attributes)
    assert "\u202e" not in page


def test_notes_and_remarks_come_before_the_first_table(summary: dict[str, Any]) -> None:
    page = render(summary | {"notes": ["the note"], "remarks": ["the remark"]})
    assert page.index("the note") < page.index("the remark") < page.index("<table")


def test_a_model_that_was_not_timed_has_a_page_too(summary: dict[str, Any]) -> None:
    for row in summary["rows"]:
        row |= {"seconds": None, "seconds_cold": None, "seconds_n": 0}
    for model in summary["models"]:
        model["seconds"] = dict.fromkeys(model["seconds"]) | {"n": 0}
        for quality in (model["decisions"] or {}).values():
            for point in quality["sweep"]:
                point["seconds"] = None
    assert "Seconds were not measured" in render(summary)


def test_without_a_deciding_model_the_page_speaks_of_context(summary: dict[str, Any]) -> None:
    plain = [model for model in summary["models"] if not model["decides"]]
    rows = [row for row in summary["rows"] if row["model"] == "plain"]
    page = render(summary | {"models": plain, "rows": rows, "comparisons": []})
    assert "No model here takes decisions." in page


@pytest.mark.parametrize(
    ("mean", "low", "high", "words"),
    [
        (0.1, 0.05, 0.15, "0.100 ES better"),
        (-0.1, -0.15, -0.05, "0.100 ES worse"),
        (0.1, -0.01, 0.2, "not to be told apart"),
        (0.0, 0.0, 0.0, "not to be told apart"),
        (0.1, None, None, "without an interval"),
    ],
)
def test_a_difference_is_called_one_only_beyond_its_interval(
    mean: float, low: float | None, high: float | None, words: str
) -> None:
    assert words in verdict({"mean": mean, "low": low, "high": high})


@pytest.mark.parametrize(("number", "chance"), [(9, 0.0), (10, 1.0)], ids=["few repositories", "by chance"])
def test_nothing_is_called_better_or_worse_where_nothing_is_shown(
    summary: dict[str, Any], number: int, chance: float
) -> None:
    data = {"repositories": [{"id": str(n), "blanks": 1} for n in range(number)], "chance_es": {"all": chance}}
    doubtful = summary | {"data": summary["data"] | data}
    clear = {"mean": 0.1, "low": 0.05, "high": 0.15}
    for row in doubtful["rows"]:
        row |= {f"versus_{other}": {"es": clear} for other in ("never", "always")}
    for each in doubtful["comparisons"]:
        each["differences"]["es"] = clear
    told, alike = headline(doubtful), [sentence for sentence in headline(doubtful) if " ES better" in sentence]
    assert not alike
    assert told[1].startswith("Nothing here shows one policy to be better or worse than another: ")
    data["repositories"], data["chance_es"] = [{"id": str(n), "blanks": 1} for n in range(10)], {"all": -1.0}
    assert not doubt(summary | {"data": summary["data"] | data}, "deciding")
    assert "0.100 ES better" in " ".join(headline(summary | {"data": summary["data"] | data}))


def test_an_untuned_model_that_beats_a_tuned_one_is_named(summary: dict[str, Any]) -> None:
    for model in summary["models"]:
        model["fine_tuned"] = model["name"] == "deciding"
    for row in summary["rows"]:
        row["es"] = 0.2 if row["model"] == "deciding" else 0.3 if row["policy"] == "always" else 0.1
    said = (
        "plain, which was not fine-tuned, is ahead of deciding, which was: at best ES 0.300 (always) "
        "against 0.200 (never)"
    )
    assert said in " ".join(headline(summary))
    assert f"{said}." in remarks(summary)
    for row in summary["rows"]:
        # What pays for both completions and was fitted to other answers, or knows them all, is no policy to serve.
        row["es"] = 0.4 if row["model"] == "plain" and row["policy"] not in SERVED else 0.3
    summary["rows"].append(summary["rows"][0] | {"model": "plain", "policy": "select", "scope": "all", "es": 0.5})
    assert "is ahead of" not in " ".join([*headline(summary), *remarks(summary)])


def test_the_headline_says_on_how_many_blanks_seconds_were_measured(summary: dict[str, Any]) -> None:
    assert "Measured on 3 blanks, a completion takes " in " ".join(headline(summary))
    assert "All blanks: 12 of 3 repositories, seconds on 3 of them" in " ".join(Outline(render(summary)).text)


def test_the_headline_says_who_decides(summary: dict[str, Any]) -> None:
    assert ", deciding at its own thresholds retrieves" in " ".join(headline(summary))
    next(model for model in summary["models"] if model["name"] == "deciding")["gate"] = "other"
    assert ", deciding, for which other decides at its thresholds, retrieves" in " ".join(headline(summary))


def test_the_headline_compares_with_the_control(summary: dict[str, Any]) -> None:
    assert "Against the FIM-only control that always retrieves" in " ".join(headline(summary))
    assert "There is no FIM-only control" in " ".join(headline(summary | {"control": None}))


def test_unit_tests_stand_on_the_page(summary: dict[str, Any]) -> None:
    page = " ".join(Outline(render(summary | {"unit_tests": EXECUTED})).text)
    assert "plain: 3 functions of 2 repositories" in page
    assert re.search(r"threshold 100.0 % 3 \+0.333", page)
    assert "plain: helped 1, unchanged 1, harmed 1 by context" in page
    assert re.search(r"without context 2 0 1 .*with context 2 1 0", page)
    assert re.search(r"r 5 4 70 6 1.500", page)
    assert "no test notices that the body is gone 1" in page
    assert "plain: 1 of 4 judged functions are not evaluated here, or were completed anew since" in page


def test_a_model_without_verdicts_is_named(summary: dict[str, Any]) -> None:
    page = " ".join(Outline(render(summary | {"unit_tests": EXECUTED})).text)
    assert "deciding: no verdict is about its completions shown here" in page
    assert "plain: no verdict" not in page


def test_a_report_is_written_again_with_what_was_executed_since(finished: EvalRecipe, tmp_path: Path) -> None:
    folder = Path(finished.out)
    functions = [one for one in predictions_log(folder, "plain").read() if one.blank.kind == "function"]
    bodies = [map(body_hash, arms(one)) for one in functions]
    verdicts = [
        UnitTests(one.blank.id, one.blank.repository, 0.0, 1.0, "timeout", "passed", *both)
        for one, both in zip(functions, bodies, strict=True)
    ]
    write_jsonl(unit_tests_path(folder, "plain"), verdicts)
    write_json(folder / "unit_tests.json", EXECUTED | {"models": {}, "judged": 3})
    summary = report_again(finished)
    assert summary == read_json(folder / "summary.json")
    assert summary["unit_tests"]["models"].keys() == {"plain"}
    assert summary["unit_tests"]["models"]["plain"]["policies"]["always"]["pass_rate"] == 1.0
    page = (folder / "report.html").read_text()
    assert "Unit tests" in page
    assert '"timeout","passed"' in page
    assert reported(folder) == finished
    assert reported(tmp_path) is None


def test_a_report_says_how_far_it_is(finished: EvalRecipe, capsys: pytest.CaptureFixture[str]) -> None:
    report_again(finished)
    said = capsys.readouterr().err
    for step in ("read plain: 100%", "read deciding: 100%", "analyse: 100%", "bootstrap: 100%", "compare: 100%"):
        assert step in said
    assert re.search(r"instances: 24completion", said)


def test_blanks_and_contexts_are_in_memory_once_for_all_models(finished_run: EvalRecipe) -> None:
    asked, models = evaluated(finished_run)
    for model in models:
        for one in asked.prepared:
            prediction = model.predictions[one.blank.id]
            assert prediction.blank is one.blank
            assert prediction.context is one.context


def test_what_was_not_executed_has_no_section(summary: dict[str, Any]) -> None:
    assert summary["unit_tests"] is None
    assert "Unit tests" not in render(summary)


def test_a_single_kind_of_blanks_is_not_told_twice() -> None:
    assert distinct({"all": 1, "line": 1}) == {"all": 1}
    assert distinct({"all": 1, "line": 2, "chunk": 3}) == {"all": 1, "line": 2, "chunk": 3}


def test_published_numbers_stand_over_ours(summary: dict[str, Any]) -> None:
    number = {"model": "plain", "policy": "never", "metric": "es_levenshtein", "value": 47.65, "ours": 40.5, "n": 7}
    other = number | {"model": "<b>absent</b>", "ours": None, "n": None}
    figure = {"figure": "figure 3", "says": "Context helps <few>.", "section": "What context does"}
    stated = {"in": "a paper", "numbers": [number, other], "figures": [figure]}
    page = render(summary | {"published": stated})
    text = " ".join(Outline(page).text)
    assert "47.65 ours 40.50 (−7.15), n 7" in text
    assert "<b>absent</b> (not evaluated here)" in text
    assert "Figure 3 there: Context helps <few>. Here: section What context does." in text
    assert "<few>" not in page
