"""Plots as inline SVG, with a title for screen readers and their data as a table beneath.

Series differ by dashes or by the shape of their points as well as by colour. Values that are not finite are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from repoformer.report.axes import HEIGHT, WIDTH, Axes, Range, fitting
from repoformer.report.page import Cell, Html, note, table, text

Points = Sequence[tuple[float, float]]
SERIES_STYLES = 6
"""So many series can be told apart in one plot; more are refused."""
TABLE_ROWS = 1000
"""A longer table of values would weigh more than the rest of the page."""


def line_plot(
    series: Mapping[str, Points],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    marks: Mapping[str, Points] | None = None,
    x_range: Range | None = None,
    y_range: Range | None = None,
) -> Html:
    """Curves through points in the order given. ``marks`` are single points on top, such as a chosen threshold."""
    curves, spots = _finite(series), _finite(marks or {})
    axes = _axes([*curves.values(), *spots.values()], x_label, y_label, x_range, y_range)
    if axes is None:
        return _nothing(title)
    _check_styles(len(curves) + len(spots))
    drawn = [_curve(axes, points, style) for style, points in enumerate(curves.values())]
    drawn += [_dots(axes, points, style, 5) for style, points in enumerate(spots.values(), len(curves))]
    legend = [(name, _key_line(style)) for style, name in enumerate(curves)]
    legend += [(name, _key_dot(style)) for style, name in enumerate(spots, len(curves))]
    return _figure(title, axes, drawn, legend, _points_table({**curves, **spots}, x_label, y_label))


def scatter(
    series: Mapping[str, Points],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    x_range: Range | None = None,
    y_range: Range | None = None,
    diagonal: bool = False,
) -> Html:
    """One point per pair of values; ``diagonal`` draws where both are equal."""
    groups = _finite(series)
    axes = _axes(groups.values(), x_label, y_label, x_range, y_range)
    if axes is None:
        return _nothing(title)
    _check_styles(len(groups))
    drawn = [_diagonal(axes)] if diagonal else []
    drawn += [_dots(axes, points, style, 2.5) for style, points in enumerate(groups.values())]
    legend = [(name, _key_dot(style)) for style, name in enumerate(groups)]
    return _figure(title, axes, drawn, legend, _points_table(groups, x_label, y_label))


def histogram(
    groups: Mapping[str, Sequence[float]],
    x_label: str,
    *,
    title: str = "",
    bins: int = 20,
    x_range: Range | None = None,
    y_label: str = "blanks",
) -> Html:
    """Counts per bin, the groups stacked. The last bin holds its upper edge; values beyond ``x_range`` are left out."""
    values = {name: [value for value in group if math.isfinite(value)] for name, group in groups.items()}
    everything = list(itertools.chain.from_iterable(values.values()))
    if not everything:
        return _nothing(title)
    _check_styles(len(values))
    low, high = limits = x_range or fitting(everything)
    counts = {name: _bin_counts(group, limits, bins) for name, group in values.items()}
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    edges = [low + (high - low) * number / bins for number in range(bins + 1)]
    axes = Axes(limits, (0.0, max(totals) * 1.05 or 1.0), x_label, y_label)
    drawn, floor = [], [0] * bins
    for style, group in enumerate(counts.values()):
        drawn.append(_bars(axes, edges, floor, group, style))
        floor = [below + count for below, count in zip(floor, group, strict=True)]
    rows: list[list[Cell]] = [
        [f"{edges[n]:.3g} to {edges[n + 1]:.3g}", *(group[n] for group in counts.values())] for n in range(bins)
    ]
    legend = [(name, _key_bar(style)) for style, name in enumerate(counts)]
    return _figure(title, axes, drawn, legend, table([x_label, *counts], rows))


def reliability(bins: Sequence[tuple[float, float, int]], x_label: str, y_label: str, *, title: str = "") -> Html:
    """A reliability diagram: per bin (mean probability, observed share, count); the area of a point shows the count."""
    filled = [entry for entry in bins if entry[2]]
    if not filled:
        return _nothing(title)
    axes = Axes((0.0, 1.0), (0.0, 1.0), x_label, y_label)
    most = max(count for _, _, count in filled)
    drawn = [_diagonal(axes), _curve(axes, [(mean, share) for mean, share, _ in filled], 0)]
    drawn += [_dots(axes, [(mean, share)], 0, 2 + 7 * math.sqrt(count / most)) for mean, share, count in filled]
    return _figure(title, axes, drawn, [], table([x_label, y_label, "count"], filled))


# -- marks -----------------------------------------------------------------------------------------------------------


def _curve(axes: Axes, points: Points, style: int) -> str:
    if len(points) == 1:
        return _dots(axes, points, style, 4)
    path = " ".join(f"{axes.across(x)},{axes.up(y)}" for x, y in points)
    return f'<polyline class="curve s{style} d{style}" points="{path}"/>'


def _dots(axes: Axes, points: Points, style: int, radius: float) -> str:
    return "".join(_dot(axes.across(x), axes.up(y), style, radius) for x, y in points)


def _dot(x: float, y: float, style: int, radius: float) -> str:
    """Circle, square, triangle, then the same hollow."""
    kind, r = f'class="{"dot" if style < 3 else "hollow"} s{style}"', round(radius, 2)
    match style % 3:
        case 0:
            return f'<circle {kind} cx="{x}" cy="{y}" r="{r}"/>'
        case 1:
            return f'<rect {kind} x="{x - r:.2f}" y="{y - r:.2f}" width="{2 * r}" height="{2 * r}"/>'
        case _:
            return f'<path {kind} d="M{x} {y - 1.2 * r:.2f}l{1.15 * r:.2f} {2 * r:.2f}h{-2.3 * r:.2f}z"/>'


def _bars(axes: Axes, edges: Sequence[float], floor: Sequence[int], counts: Sequence[int], style: int) -> str:
    drawn = []
    for left, right, below, count in zip(edges, edges[1:], floor, counts, strict=False):
        if count:
            x, top = axes.across(left), axes.up(below + count)
            width, height = axes.across(right) - x, axes.up(below) - top
            drawn.append(f'<rect class="bar s{style}" x="{x}" y="{top}" width="{width:.2f}" height="{height:.2f}"/>')
    return "".join(drawn)


def _diagonal(axes: Axes) -> str:
    low, high = max(axes.x[0], axes.y[0]), min(axes.x[1], axes.y[1])
    return f'<path class="guide" d="M{axes.across(low)} {axes.up(low)}L{axes.across(high)} {axes.up(high)}"/>'


def _key_line(style: int) -> str:
    return f'<polyline class="curve s{style} d{style}" points="0,6 30,6"/>'


def _key_dot(style: int) -> str:
    return _dot(15, 6, style, 4)


def _key_bar(style: int) -> str:
    return f'<rect class="bar s{style}" x="9" y="0" width="12" height="12"/>'


# -- around them -----------------------------------------------------------------------------------------------------


def _figure(title: str, axes: Axes, drawn: Iterable[str], legend: Sequence[tuple[str, str]], data: Html) -> Html:
    name = f"{title or axes.y_label}: {axes.y_label} against {axes.x_label}"
    keys = "".join(
        f'<li><svg viewBox="0 0 30 12" aria-hidden="true">{mark}</svg>{text(label)}</li>' for label, mark in legend
    )
    heading = f"<figcaption><strong>{text(title)}</strong></figcaption>" if title else ""
    return Html(
        f'<figure>{heading}<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(name)}">'
        f"<title>{text(name)}</title>{axes.draw()}{''.join(drawn)}</svg>"
        + (f'<ul class="legend">{keys}</ul>' if len(legend) > 1 else "")
        + f"<details><summary>Values</summary>{data}</details></figure>"
    )


def _nothing(title: str) -> Html:
    return note(f"{title}: " if title else "", "there are no values to draw.")


def _finite(series: Mapping[str, Points]) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)] for name, points in series.items()
    }


def _axes(
    groups: Iterable[Points], x_label: str, y_label: str, x_range: Range | None, y_range: Range | None
) -> Axes | None:
    points = list(itertools.chain.from_iterable(groups))
    if not points:
        return None
    xs, ys = zip(*points, strict=True)
    return Axes(x_range or fitting(xs), y_range or fitting(ys), x_label, y_label)


def _check_styles(series: int) -> None:
    if series > SERIES_STYLES:
        raise ValueError(f"a plot shows at most {SERIES_STYLES} series, got {series}")


def _points_table(series: Mapping[str, Points], x_label: str, y_label: str) -> Html:
    rows: list[tuple[Cell, ...]] = [(name, x, y) for name, points in series.items() for x, y in points]
    if len(rows) > TABLE_ROWS:
        return note(f"{len(rows)} points: too many for a table here, see the files beside this page.")
    return table(["series", x_label, y_label], rows)


def _bin_counts(values: Sequence[float], limits: Range, bins: int) -> list[int]:
    low, high = limits
    counts = [0] * bins
    for value in values:
        if low <= value <= high:
            counts[min(int((value - low) / (high - low) * bins), bins - 1)] += 1
    return counts
