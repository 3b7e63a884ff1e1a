"""Completions side by side, thousands of them: a list to filter and, for the one that is open, everything about it.

The page holds a short row per instance and one line of JSON with its texts, which a small script (``instances.js``)
parses only when the instance is opened; chunks that several instances retrieved are stored once.
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
    ``left`` and ``right``, the lines next to the hole suffice. Where known, it has ``es_without, es_with, p_retrieve``
    (floats), ``asked`` (bool: the policy shown retrieved), ``query`` and ``note`` (str), and ``chunks`` (mappings with
    ``path``, 1-based ``start`` and ``end``, ``text``, ``score``). Context helped or harmed where the edit similarities
    say so.
    """
    if not items:
        return note("There are no instances to show.")
    chunks = _Chunks()
    rows = [_row(item) for item in items]
    details = [_json(_detail(item, chunks)) for item in items]
    return Html(
        '<div class="instances" hidden></div>\n'
        '<noscript><p class="note">A script shows the instances; their texts stand in the predictions.</p></noscript>\n'
        f'<script type="application/json" class="instance-rows">{_json(rows)}</script>\n'
        f'<script type="application/json" class="instance-chunks">{_json(chunks.stored)}</script>\n'
        f'<script type="text/plain" class="instance-details">{chr(10).join(details)}</script>\n'
        f"<style>\n{asset('instances.css')}</style>\n<script>\n{asset('instances.js')}</script>"
    )


class _Chunks:
    """Every different chunk once; instances hold numbers into it."""

    def __init__(self) -> None:
        self.stored: list[list[Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, chunk: Mapping[str, Any]) -> int:
        key = (chunk["path"], chunk["start"], chunk["end"], chunk["text"])
        if key not in self._numbers:
            self._numbers[key] = len(self.stored)
            self.stored.append(list(key))
        return self._numbers[key]


def _row(item: Mapping[str, Any]) -> list[Any]:
    """What the list and its filters need."""
    missing = [name for name in _REQUIRED if name not in item]
    if missing:
        raise ValueError(f"instance {item.get('id', '?')}: lacks {', '.join(missing)}")
    numbers = [item.get(name) for name in ("es_without", "es_with", "p_retrieve")]
    rounded = [None if number is None else round(number, 4) for number in numbers]
    return [item["id"], item["repository"], item["path"], item["line"], item["kind"], *rounded, item.get("asked")]


def _detail(item: Mapping[str, Any], chunks: _Chunks) -> dict[str, Any]:
    left = lines_of(item["left"])[-LEFT_LINES:]
    right = lines_of(item["right"].removeprefix("\n"))
    return {
        "left": "\n".join(left),
        "above": item["line"] - 1 - len(left),
        "right": "\n".join(right[:RIGHT_LINES]),
        "more_below": len(right) > RIGHT_LINES,
        "target": item["target"],
        "without": item["text_without"],
        "with": item["text_with"],
        "query": item.get("query", ""),
        "note": item.get("note", ""),
        "chunks": [[chunks.number(chunk), chunk.get("score")] for chunk in item.get("chunks", ())],
    }


def _json(value: Any) -> str:
    """One line of JSON that can stand in a script element: no tag can be closed or opened from inside it."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
