"""Plots: points where they belong, values readable without seeing, nothing drawn from nothing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from repoformer.report.axes import HEIGHT, WIDTH, Axes, fitting, ticks
from repoformer.report.page import Html
from repoformer.report.plots import SERIES_STYLES, histogram, line_plot, reliability, scatter

NAN = float("nan")


def drawing(html: Html) -> ElementTree.Element:
    found = re.search(r"<svg viewBox=\"0 0 \d+ \d+\" role.*?</svg>", html, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found.group())


def polylines(html: Html) -> list[list[tuple[float, float]]]:
    lines = [line.attrib["points"].split() for line in drawing(html).iter("polyline")]
    return [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in lines]


numbers = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(numbers, numbers)
def test_ticks_are_round_evenly_spaced_and_inside(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    assume(high - low > 1e-6 * max(abs(low), abs(high)))
    found = ticks((low, high))
    values = [value for value, _ in found]
    assert 2 <= len(found) <= 11
    assert all(low - 1e-6 * (high - low) <= value <= high + 1e-6 * (high - low) for value in values)
    steps = [second - first for first, second in pairwise(values)]
    assert all(step == pytest.approx(steps[0]) for step in steps)
    assert len({label for _, label in found}) == len(found)
    for value, label in found:
        assert float(label.replace("−", "-")) == pytest.approx(value, abs=1e-9 + abs(value) * 1e-9)


@given(numbers, st.floats(1e-4, 1e4))
def test_labels_of_the_horizontal_axis_do_not_touch(low: float, extent: float) -> None:
    assume(extent > 1e-6 * abs(low))
    axes = Axes((low, low + extent), (0.0, 1.0), "x", "y")
    found = re.findall(r'<text x="([\d.]+)" y="255.0" text-anchor="middle">([^<]+)', axes.draw())
    assert len(found) >= 2 or extent == 0
    places = [(float(place), 3.3 * len(label)) for place, label in found]
    assert all(a + half < b - other for (a, half), (b, other) in pairwise(places))


@given(st.lists(numbers, min_size=1, max_size=5))
def test_fitting_limits_hold_every_value_with_room(values: list[float]) -> None:
    low, high = fitting(values)
    assert low < min(values) <= max(values) < high


def test_points_stand_where_the_axes_say() -> None:
    html = line_plot({"a": [(0, 0), (0.5, 1), (1, 0)]}, "x", "y", x_range=(0, 1), y_range=(0, 1))
    axes = Axes((0, 1), (0, 1), "x", "y")
    [line] = polylines(html)
    assert line == [(axes.across(0), axes.up(0)), (axes.across(0.5), axes.up(1)), (axes.across(1), axes.up(0))]
    assert line[0][0] < line[1][0] < line[2][0] <= WIDTH
    assert 0 <= line[1][1] < line[0][1] <= HEIGHT  # up is up


def test_a_plot_says_what_it_shows_and_holds_its_values() -> None:
    html = line_plot({"a <b>": [(1, 2.5)], "c": [(3, 4)]}, "x & y", "z", title="Title")
    assert drawing(html).attrib["aria-label"] == "Title: z against x & y"
    assert "<td" in html
    assert "2.500" in html
    assert "a &lt;b&gt;" in html


@pytest.mark.parametrize(
    "html",
    [
        line_plot({}, "x", "y", title="T"),
        line_plot({"a": []}, "x", "y", title="T"),
        line_plot({"a": [(NAN, 1.0)]}, "x", "y", title="T"),
        scatter({}, "x", "y", title="T"),
        histogram({}, "x", title="T"),
        histogram({"a": []}, "x", title="T"),
        reliability([], "x", "y", title="T"),
        reliability([(0.5, 0.5, 0)], "x", "y", title="T"),
    ],
)
def test_nothing_is_said_to_be_nothing(html: Html) -> None:
    assert "<svg" not in html
    assert "T: there are no values to draw." in html


def test_values_that_are_not_finite_are_left_out() -> None:
    html = line_plot({"a": [(0, 1), (1, NAN), (2, 3), (float("inf"), 1)]}, "x", "y")
    assert len(polylines(html)[0]) == 2


@pytest.mark.parametrize("points", [[(0.0, 0.0)], [(5.0, 5.0), (5.0, 5.0)], [(-1e-9, 0), (1e9, 0)]])
def test_flat_and_single_values_are_drawn(points: list[tuple[float, float]]) -> None:
    text = ElementTree.tostring(drawing(line_plot({"a": points}, "x", "y")), encoding="unicode")
    assert "nan" not in text
    assert "inf" not in text


def test_marks_lie_on_top_of_the_curves() -> None:
    html = line_plot({"curve": [(0, 0), (1, 1)]}, "x", "y", marks={"chosen": [(0.5, 0.5)]})
    kinds = [element.tag for element in drawing(html) if element.tag in ("polyline", "rect", "circle")]
    assert kinds == ["polyline", "rect"]


def test_too_many_series_are_refused() -> None:
    series = {str(n): [(0.0, 1.0), (1.0, 2.0)] for n in range(SERIES_STYLES + 1)}
    with pytest.raises(ValueError, match=str(SERIES_STYLES)):
        line_plot(series, "x", "y")


def test_each_series_has_a_look_of_its_own() -> None:
    html = scatter({str(n): [(0.0, 1.0)] for n in range(SERIES_STYLES)}, "x", "y")
    marks = [
        mark for mark in drawing(html) if "class" in mark.attrib and re.search(r"dot|hollow", mark.attrib["class"])
    ]
    shapes = {(mark.tag, mark.attrib["class"].split()[0]) for mark in marks}
    assert len(shapes) == SERIES_STYLES


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.lists(st.floats(0, 1), max_size=50), st.integers(1, 20))
def test_a_histogram_counts_every_value_once(one: list[float], other: list[float], bins: int) -> None:
    html = histogram({"one": one, "other": other}, "x", bins=bins, x_range=(0, 1))
    rows = re.findall(r'<tr><th scope="row">[^<]*</th><td class="number">(\d+)</td><td class="number">(\d+)</td>', html)
    assert len(rows) == bins
    assert (sum(int(a) for a, _ in rows), sum(int(b) for _, b in rows)) == (len(one), len(other))


def test_histogram_bars_are_as_high_as_their_counts_and_stack() -> None:
    html = histogram({"one": [0.1, 0.1, 0.9], "other": [0.1]}, "x", bins=2, x_range=(0, 1))
    bars = [bar.attrib for bar in drawing(html).iter("rect")]
    first, second, above = ({key: float(value) for key, value in bar.items() if key != "class"} for bar in bars)
    assert first["height"] == pytest.approx(2 * second["height"], abs=0.05)
    assert above["height"] == pytest.approx(second["height"], abs=0.05)
    assert above["y"] + above["height"] == pytest.approx(first["y"], abs=0.05)


def test_a_reliability_point_has_an_area_by_its_count() -> None:
    html = reliability([(0.25, 0.5, 100), (0.75, 0.5, 25)], "p", "helped")
    large, small = (float(circle.attrib["r"]) for circle in drawing(html).iter("circle"))
    assert large - 2 == pytest.approx(2 * (small - 2), abs=0.05)


def test_a_table_of_very_many_values_is_left_out() -> None:
    html = scatter({"a": [(n, n) for n in range(5000)]}, "x", "y")
    assert "<td" not in html
    assert "5000 points" in html
