"""Markdown of a page: nothing of its text is lost or comes alive, and its plots stand alone."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from repoformer.report.instances import instances
from repoformer.report.markdown import markdown, write_page
from repoformer.report.page import Page, code, facts, grouped_table, note, stacked, table
from repoformer.report.plots import line_plot

PLOT = line_plot({"one < two": [(0.0, 1.0), (1.0, 2.0)], "other": [(0.0, 2.0)]}, "share", "similarity", title="Curve")
ITEM: dict[str, Any] = {
    **{"id": "a", "repository": "r", "path": "m.py", "line": 1, "kind": "chunk", "left": "", "right": ""},
    **{"target": "secret_target", "text_without": "x", "text_with": "y"},
}


def of(*content: Any, lead: str = "") -> str:
    return markdown(Page("Title", lead=lead).section("Part", *content).render(), "report").text


def rows(said: str) -> list[list[str]]:
    """The cells of the only table."""
    lines = [line for line in said.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_headings_notes_and_figures_come_in_order() -> None:
    said = of(note("beware"), facts({"blanks": 3}), "a sentence", lead="first of all")
    expected = ["# Title", "first of all", "## Part", "> beware", "- blanks: **3**", "a sentence"]
    assert said.strip().split("\n\n") == expected


def test_a_table_keeps_its_cells_and_sides() -> None:
    assert rows(of(table(("name", "value"), [["a", 1.5], ["b", None]]))) == [
        ["name", "value"],
        ["---", "--:"],
        ["a", "1.500"],
        ["b", "–"],
    ]


def test_a_group_is_a_row_of_its_own() -> None:
    said = rows(of(grouped_table(("policy", "ES"), {"model": [["never", 0.5]]})))
    assert said[2:] == [["**model**", ""], ["never", "0.500"]]


def test_figures_over_each_other_stay_apart() -> None:
    assert "+1 ± 2" in of(table(("name", "difference"), [["a", stacked("+1", "± 2")]]))


@given(st.text(min_size=1).filter(lambda value: value.strip()))
def test_no_text_breaks_a_table(value: str) -> None:
    said = rows(of(table(("first", "second"), [[value, "end"]])))
    assert [row[-1] for row in said] == ["second", "---", "end"]
    assert all(len(row) == 2 for row in said)


def test_markup_in_text_is_text() -> None:
    assert r"\<b\>\*x\*\_\`" in of("<b>*x*_`")


def test_code_is_kept_line_by_line() -> None:
    assert "```\nif a < b:\n    pass\n```" in of(code("if a < b:\n    pass"))


def test_code_with_a_fence_in_it_stays_inside_its_own() -> None:
    assert of(code("a\n```\nb")).endswith("````\na\n```\nb\n````\n")


def test_an_entity_in_text_is_text() -> None:
    assert r"\&lt;" in of("&lt;")


def test_instances_are_left_to_the_page() -> None:
    said = of(instances([ITEM]))
    assert "secret_target" not in said
    assert "on the page" in said


def test_a_plot_is_named_in_the_text_and_stands_alone() -> None:
    made = markdown(Page("Title").section("Part", PLOT).render(), "report")
    assert "](report-1.svg)" in made.text
    drawing = ElementTree.fromstring(made.figures["report-1.svg"])
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_plots_legend_goes_with_it() -> None:
    made = markdown(Page("Title").section("Part", PLOT).render(), "report")
    drawing = ElementTree.fromstring(made.figures["report-1.svg"])
    assert {"one < two", "other", "share", "similarity"} <= {each.text for each in drawing.iter() if each.text}


def test_plots_of_an_earlier_page_go(tmp_path: Path) -> None:
    write_page(tmp_path / "report.html", Page("Title").section("Part", PLOT, PLOT).render())
    (tmp_path / "report-annotated.svg").write_text("somebody's own")
    write_page(tmp_path / "report.html", Page("Title").section("Part", PLOT).render())
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"report.html", "report.md", "report-1.svg", "report-annotated.svg"}
