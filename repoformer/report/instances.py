"""Completions side by side, thousands of them: a list to filter and, for the one that is open, everything about it.

The page holds a short row per instance, and its texts as one line of JSON each, which a small script (``instances.js``)
parses only when the instance is opened. Blanks that several models completed and chunks that several blanks retrieved
are stored once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from repoformer.code.lines import lines_of
from repoformer.report.page import Html, asset, note

LEFT_LINES = 16
RIGHT_LINES = 8
"""Lines shown above and below the hole: the page is for reading, the whole text stands in the predictions."""

_REQUIRED = ("id", "repository", "path", "line", "kind", "left", "right", "target", "text_without", "text_with")


def instances(items: Sequence[Mapping[str, Any]]) -> Html:
    """An explorer of instances, in the order given.

    Each item has ``id, repository, path, line`` (1-based), ``kind, left, right, target, text_without, text_with``; of
    ``left`` and ``right``, the lines next to the hole suffice. Where known, it has ``model`` (str), ``es_without,
    es_with, p_retrieve`` (floats), ``asked`` (bool: the policy shown retrieved), ``tests_without, tests_with`` (str:
    verdicts of the repository's own tests), ``query`` and ``note`` (str), and ``chunks`` (mappings with ``path``,
    1-based ``start`` and ``end``, ``text``, ``score``). Context helped or harmed where the edit similarities say so.
    """
    if not items:
        return note("There are no instances to show.")
    chunks, blanks, models = _Numbers(), _Numbers(), _Numbers()
    rows = [_row(item, blanks.number(_blank(item, chunks)), models.number(item.get("model"))) for item in items]
    heads = [blank[:_HEAD] for blank in blanks.stored]
    tails = "\n".join(_json(blank[_HEAD:]) for blank in blanks.stored)
    texts = "\n".join(_json([item["text_without"], item["text_with"]]) for item in items)
    return Html(
        '<div class="instances" hidden></div>\n'
        '<noscript><p class="note">A script shows the instances; their texts stand in the predictions.</p></noscript>\n'
        f'<script type="application/json" class="instance-models">{_json(models.stored)}</script>\n'
        f'<script type="application/json" class="instance-rows">{_json(rows)}</script>\n'
        f'<script type="application/json" class="instance-blanks">{_json(heads)}</script>\n'
        f'<script type="application/json" class="instance-chunks">{_json(chunks.stored)}</script>\n'
        f'<script type="text/plain" class="instance-texts">{texts}</script>\n'
        f'<script type="text/plain" class="instance-contexts">{tails}</script>\n'
        f"<style>\n{asset('instances.css')}</style>\n<script>\n{asset('instances.js')}</script>"
    )


class _Numbers:
    """Every different value once, in the order of its first use."""

    def __init__(self) -> None:
        self.stored: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Its place among the stored ones."""
        if value not in self._numbers:
            self._numbers[value] = len(self.stored)
            self.stored.append(value)
        return self._numbers[value]


_HEAD = 5


def _blank(item: Mapping[str, Any], chunks: _Numbers) -> tuple[Any, ...]:
    """What all completions of a blank share: first ``_HEAD`` values for the list, the others for the open instance."""
    missing = [name for name in _REQUIRED if name not in item]
    if missing:
        raise ValueError(f"instance {item.get('id', '?')}: lacks {', '.join(missing)}")
    left = lines_of(item["left"])[-LEFT_LINES:]
    right = lines_of(item["right"].removeprefix("\n"))
    retrieved = tuple(
        (chunks.number((chunk["path"], chunk["start"], chunk["end"], chunk["text"])), chunk.get("score"))
        for chunk in item.get("chunks", ())
    )
    return (
        *(item["id"], item["repository"], item["path"], item["line"], item["kind"]),
        *("\n".join(left), item["line"] - 1 - len(left), "\n".join(right[:RIGHT_LINES]), len(right) > RIGHT_LINES),
        *(item["target"], item.get("query", ""), item.get("note", ""), retrieved),
    )


def _row(item: Mapping[str, Any], blank: int, model: int) -> list[Any]:
    """What the list and its filters need."""
    numbers = [item.get(name) for name in ("es_without", "es_with", "p_retrieve")]
    rounded = [None if number is None else round(number, 4) for number in numbers]
    return [blank, model, *rounded, item.get("asked"), item.get("tests_without"), item.get("tests_with")]


def _json(value: Any) -> str:
    """One line of JSON that can stand in a script element: no tag can be closed or opened from inside it."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
