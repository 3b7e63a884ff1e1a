"""The one self-contained report page: plain data in, HTML out. No network, light and dark, readable on paper and phone.

Everything that comes from outside passes through :func:`text`, so no file name, completion or error message can break
the page or run in it.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

NOTHING = "–"
"""Stands where there is no value; the reason belongs into the caption or a note."""


class Html(str):
    """Text that is HTML already. Every other string is escaped where it enters the page."""

    __slots__ = ()


class Figures(Html):
    """HTML of nothing but figures; stands in a table as a number does."""

    __slots__ = ()


LONG_CELL = 60
"""Text of more characters may break inside its words."""

Cell = Html | str | int | float | bool | None


def text(value: object) -> Html:
    """``value`` as text of the page.

    Characters that show as nothing or change how their neighbours show (control characters, direction overrides, lone
    surrogates) become visible; tabs and newlines stay. Long words may break anywhere.
    """
    return Html(html.escape(_visible(str(value)), quote=True))


def paragraph(*content: Html | str) -> Html:
    """One paragraph of text and inline HTML."""
    return Html(f"<p>{_inline(content)}</p>")


def heading(value: str) -> Html:
    """Over a part of a section."""
    return Html(f"<h3>{text(value)}</h3>")


def note(*content: Html | str) -> Html:
    """What a reader must know before believing the numbers nearby."""
    return Html(f'<p class="note">{_inline(content)}</p>')


def code(value: str) -> Html:
    """Source text, in its own lines, scrolling sideways."""
    return Html(f'<pre class="code" tabindex="0"><code>{text(value)}</code></pre>')


def facts(values: Mapping[str, Cell], *, caption: str = "") -> Html:
    """A few headline figures, side by side."""
    tiles = "".join(f"<div><dt>{text(name)}</dt><dd>{cell(value)}</dd></div>" for name, value in values.items())
    below = f'<p class="caption">{text(caption)}</p>' if caption else ""
    return Html(f'<dl class="facts">{tiles}</dl>{below}')


def side_by_side(*content: Html) -> Html:
    """Figures next to each other where the page is wide enough."""
    return Html(f'<div class="columns">{"".join(content)}</div>')


def stacked(figures: str, below: str) -> Figures:
    """Figures over others that belong to them, such as a difference over its interval: a column half as wide."""
    return Figures(f'{text(figures)}<small class="below">{text(below)}</small>')


def table(headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "") -> Html:
    """A table whose first column names the rows. Columns of nothing but figures are aligned to the right.

    Floats show three decimals, None shows as a dash; give strings for any other format.
    """
    return grouped_table(headers, {"": rows}, caption=caption)


def grouped_table(headers: Sequence[str], groups: Mapping[str, Iterable[Sequence[Cell]]], *, caption: str = "") -> Html:
    """A table in parts, each under its name: what many rows have in common takes a line and not a column."""
    parts = {name: [list(row) for row in rows] for name, rows in groups.items()}
    everything = [row for rows in parts.values() for row in rows]
    if any(len(row) != len(headers) for row in everything):
        raise ValueError(f"table rows must have {len(headers)} cells, as many as there are headers")
    numeric = [_numeric([row[column] for row in everything]) for column in range(len(headers))]
    head = "".join(_head_cell(header, right) for header, right in zip(headers, numeric, strict=True))
    bodies = "".join(
        f"<tbody>{_group_row(name, len(headers))}{''.join(f'<tr>{_row(row, numeric)}</tr>' for row in rows)}</tbody>"
        for name, rows in parts.items()
    )
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption or "table")}">'
        f"<table>{title}<thead><tr>{head}</tr></thead>{bodies}</table></div>"
    )


def cell(value: Cell) -> Html:
    """One value as it shows in a table."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Html(NOTHING)
    if isinstance(value, Html):
        return value
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, int):
        return Html(f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}"))
    if isinstance(value, float):
        return Html(f"{value:.3f}".replace("-", "\N{MINUS SIGN}"))
    return text(value)


class Page:
    """A page of titled sections. ``lead`` is what to know first; it stands under the title."""

    def __init__(self, title: str, *, lead: Html | str = "") -> None:
        self.title = title
        self.lead = lead
        self._sections: list[tuple[str, Html]] = []

    def section(self, heading: str, *content: Html | str) -> Page:
        """Append a section; plain strings become paragraphs. Returns the page, so that sections can be chained."""
        blocks = (block if isinstance(block, Html) else paragraph(block) for block in content)
        self._sections.append((heading, Html("\n".join(blocks))))
        return self

    def render(self) -> str:
        """The whole page: one file, nothing loaded from anywhere."""
        anchors = [f"s{number}" for number in range(1, len(self._sections) + 1)]
        contents = "".join(
            f'<li><a href="#{anchor}">{text(heading)}</a></li>'
            for anchor, (heading, _) in zip(anchors, self._sections, strict=True)
        )
        sections = "\n".join(
            f'<section id="{anchor}" aria-labelledby="{anchor}h">'
            f'<h2 id="{anchor}h">{text(heading)}</h2>\n{body}\n</section>'
            for anchor, (heading, body) in zip(anchors, self._sections, strict=True)
        )
        lead = f'<p class="lead">{_inline([self.lead])}</p>' if self.lead else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            # Nothing on this page may load anything, whatever a completion says.
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
            f"<title>{text(self.title)}</title>\n<style>\n{asset('page.css')}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#content">Skip to the content</a>\n'
            f"<header><h1>{text(self.title)}</h1>{lead}"
            f'<nav aria-label="Contents"><ol>{contents}</ol></nav></header>\n'
            f'<main id="content">\n{sections}\n</main>\n</body>\n</html>\n'
        )


def asset(name: str) -> str:
    """A style sheet or script that travels with this package and is written into the page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _inline(content: Iterable[Html | str]) -> str:
    return "".join(part if isinstance(part, Html) else text(part) for part in content)


def _numeric(column: Sequence[Cell]) -> bool:
    return all(value is None or _is_number(value) for value in column)


def _is_number(value: Cell) -> bool:
    """A number, or text that holds nothing but figures: percentages, differences with their intervals."""
    if isinstance(value, Figures):
        return True
    if isinstance(value, str):
        return bool(_FIGURES.fullmatch(value))
    return not isinstance(value, bool)


def _head_cell(header: str, right: bool) -> str:
    return f'<th scope="col"{_CLASS_NUMBER if right else ""}>{text(header)}</th>'


def _group_row(name: str, columns: int) -> str:
    if not name:
        return ""
    return f'<tr class="group"><th scope="rowgroup" colspan="{columns}"><span>{text(name)}</span></th></tr>'


def _row(row: Sequence[Cell], numeric: Sequence[bool]) -> str:
    first, *rest = ((cell(value), _kind(value, right)) for value, right in zip(row, numeric, strict=True))
    return f'<th scope="row"{first[1]}>{first[0]}</th>' + "".join(f"<td{kind}>{value}</td>" for value, kind in rest)


def _kind(value: Cell, number: bool) -> str:
    if number:
        return _CLASS_NUMBER
    return ' class="long"' if isinstance(value, str) and len(value) > LONG_CELL else ""


_FIGURES = re.compile(r"[+−-]?\d[\d.,+−\-\s\[\]()%]*")
_CLASS_NUMBER = ' class="number"'
_DIRECTION_OVERRIDES = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = re.compile(
    f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029{_DIRECTION_OVERRIDES}]"
)


def _visible(value: str) -> str:
    return _INVISIBLE.sub(_picture, value.replace("\r\n", "\N{SYMBOL FOR CARRIAGE RETURN}\n"))


def _picture(match: re.Match[str]) -> str:
    """A sign for a character that has none: Unicode's control pictures, else its number."""
    number = ord(match.group())
    if number < 0x20:
        return chr(0x2400 + number)
    return "\N{SYMBOL FOR DELETE}" if number == 0x7F else f"[U+{number:04X}]"
