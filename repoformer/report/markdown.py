"""A report page as Markdown, for where HTML cannot be shown: its text and tables, and its plots as files of their own.

Made from the finished page, so both say the same. Instances stay in the page: they need its script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from pathlib import Path

from repoformer.code.storage import write_text
from repoformer.report.axes import HEIGHT, LEFT, WIDTH
from repoformer.report.page import asset

_SKIPPED = frozenset({"nav", "script", "style", "details", "title", "noscript"})
_VOID = frozenset({"meta", "br", "hr", "img", "link"})
_KEY = 18
"""Height of a line of a standalone plot's legend."""


@dataclass(frozen=True, slots=True)
class Markdown:
    """What :func:`markdown` makes of a page."""

    text: str
    figures: dict[str, str]
    """SVG by file name, as the text names them."""


def markdown(page: str, stem: str) -> Markdown:
    """The page's content; the files of its plots are called ``stem-1.svg``, ``stem-2.svg`` ..."""
    root = _tree(page)
    figures: dict[str, str] = {}
    blocks = list(_blocks(root, stem, figures))
    return Markdown("\n\n".join(blocks) + "\n", figures)


# -- the page as a tree ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    tag: str
    start: str = ""
    """The tag as it was written."""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[_Node | str] = field(default_factory=list)

    def find(self, tag: str) -> Iterator[_Node]:
        """All elements of this kind below, in order."""
        for child in self.children:
            if isinstance(child, _Node):
                if child.tag == tag:
                    yield child
                yield from child.find(tag)

    @property
    def text(self) -> str:
        """Everything written below, on one line; what stands in a line of its own is set apart."""
        parts = [child if isinstance(child, str) else _separated(child) for child in self.children]
        return " ".join("".join(parts).split())

    @property
    def markup(self) -> str:
        """The element as it was."""
        inner = "".join(escape(child) if isinstance(child, str) else child.markup for child in self.children)
        return (
            inner
            if not self.start
            else f"{self.start}{inner}" + ("" if self.start.endswith("/>") else f"</{self.tag}>")
        )


def _separated(node: _Node) -> str:
    return f" {node.text}" if node.tag == "small" else node.text


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = _Node("page")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = _Node(tag, self.get_starttag_text() or "", {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open[-1].tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def _tree(page: str) -> _Node:
    builder = _Builder()
    builder.feed(page)
    builder.close()
    return builder.root


# -- its blocks ------------------------------------------------------------------------------------------------------


def _blocks(node: _Node, stem: str, figures: dict[str, str]) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, str) or child.tag in _SKIPPED:
            continue
        shown = child.attributes.get("class", "")
        if child.tag in ("h1", "h2", "h3"):
            yield f"{'#' * int(child.tag[1])} {_plain(child.text)}"
        elif shown == "instances":
            yield "*The instances are on the page.*"
        elif child.tag == "p" and shown != "skip":
            yield ("> " if shown == "note" else "") + _plain(child.text)
        elif child.tag == "dl":
            names, values = ([_plain(one.text) for one in child.find(tag)] for tag in ("dt", "dd"))
            yield "\n".join(f"- {name}: **{value}**" for name, value in zip(names, values, strict=True))
        elif child.tag == "table":
            yield _table(child)
        elif child.tag == "pre":
            written = "".join(_written(child))
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", written)), default=0))
            yield f"{fence}\n{written}\n{fence}"
        elif child.tag == "figure":
            name = f"{stem}-{len(figures) + 1}.svg"
            figures[name] = _standalone(child)
            (drawing,) = list(child.find("svg"))[:1]
            yield f"![{_plain(drawing.attributes.get('aria-label', ''))}]({name})"
        else:
            yield from _blocks(child, stem, figures)


def _table(node: _Node) -> str:
    caption = "".join(f"*{_plain(each.text)}*\n\n" for each in node.find("caption"))
    (head, *body) = node.find("tr")
    titles = [_plain(cell.text) for cell in _cells(head)]
    sides = ["--:" if cell.attributes.get("class") == "number" else "---" for cell in _cells(head)]
    rows = []
    for row in body:
        cells = [_plain(cell.text) for cell in _cells(row)]
        grouped = len(cells) == 1 < len(titles)
        rows.append([f"**{cells[0]}**", *[""] * (len(titles) - 1)] if grouped else cells)
    return caption + "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, sides, *rows))


def _cells(row: _Node) -> list[_Node]:
    return [child for child in row.children if isinstance(child, _Node)]


def _written(node: _Node) -> Iterator[str]:
    for child in node.children:
        yield from (child,) if isinstance(child, str) else _written(child)


def _plain(said: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|#&~])", r"\\\1", said)


# -- plots as files --------------------------------------------------------------------------------------------------


def _standalone(figure: _Node) -> str:
    """A plot with its style and, under it, its title and legend."""
    drawing = next(figure.find("svg"))
    inner = "".join(child.markup for child in drawing.children if isinstance(child, _Node))
    keys = [(next(entry.find("svg")), entry.text) for entry in figure.find("li")]
    height = HEIGHT + _KEY * len(keys) + 4
    legend = "".join(
        f'<g transform="translate({LEFT} {HEIGHT + 2 + _KEY * number})">'
        f"{''.join(mark.markup for mark in key.children if isinstance(mark, _Node))}"
        f'<text x="40" y="10">{escape(label)}</text></g>'
        for number, (key, label) in enumerate(keys)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
        f"<style>\n{asset('page.css')}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" style="fill: var(--paper)"/>\n{inner}\n{legend}</svg>\n'
    )


def write_page(path: Path, page: str) -> None:
    """The page at ``path`` and, beside it, the same as Markdown with its plots; plots of an earlier page go."""
    written = markdown(page, path.stem)
    write_text(path, page)
    write_text(path.with_suffix(".md"), written.text)
    for name, drawing in written.figures.items():
        write_text(path.with_name(name), drawing)
    for left in path.parent.glob(f"{path.stem}-*.svg"):
        if left.name not in written.figures and left.stem.removeprefix(f"{path.stem}-").isdigit():
            left.unlink()
