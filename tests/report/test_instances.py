"""Instances side by side: their data survive the page, whatever they say, and stay small."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.report import instances as module
from repoformer.report.instances import LEFT_LINES, RIGHT_LINES, instances

anything = st.text(alphabet=st.characters(exclude_categories=()), max_size=30) | st.sampled_from(
    ["</script>", "<!--<script>", "]]>", "&amp;", "\u2028", "\x00", "\ud800", "\\u003c"]
)


def item(**changes: Any) -> dict[str, Any]:
    plain = {
        "id": "b1",
        "repository": "r",
        "path": "a.py",
        "line": 3,
        "kind": "chunk",
        "left": "1\n2\n",
        "right": "\n4",
    }
    texts = {"target": "3", "text_without": "x", "text_with": "3", "es_without": 0.0, "es_with": 1.0, "p_retrieve": 0.7}
    return {**plain, **texts, "asked": True, **changes}


def data(html: str, name: str) -> str:
    """The content of a script element, found as a browser does: up to the first closing tag."""
    found = re.search(rf'<script type="[^"]*" class="{name}">(.*?)</script', html, re.DOTALL | re.IGNORECASE)
    assert found is not None
    return found.group(1)


def lines(html: str, name: str) -> list[Any]:
    return [json.loads(line) for line in data(html, name).split("\n")]


def details(html: str) -> list[dict[str, Any]]:
    """What the script shows of every different blank."""
    names = ("left", "above", "right", "more_below", "target", "query", "note", "chunks")
    return [dict(zip(names, values, strict=True)) for values in lines(html, "instance-contexts")]


@given(anything, anything, anything)
def test_any_text_survives_and_opens_no_element(path: str, target: str, completion: str) -> None:
    html = instances([item(path=path, target=target, text_with=completion), item(id="b2")])
    html.encode("utf-8")
    assert re.findall(r"<(?!/)[a-z!]\w*", html.split("<style>")[0]) == re.findall(
        r"<(?!/)[a-z!]\w*", instances([item(), item(id="b2")]).split("<style>")[0]
    )
    first, second = details(html)
    assert (first["target"], lines(html, "instance-texts")[0]) == (target, ["x", completion])
    assert second["target"] == "3"
    assert json.loads(data(html, "instance-blanks"))[0][2] == path


def test_the_lines_next_to_the_hole_are_kept_and_the_others_counted() -> None:
    left = "".join(f"l{n}\n" for n in range(100))
    right = "".join(f"\nr{n}" for n in range(100))
    [shown] = details(instances([item(left=left, right=right, line=101)]))
    assert shown["left"].split("\n") == [f"l{n}" for n in range(100 - LEFT_LINES, 100)]
    assert shown["right"].split("\n") == [f"r{n}" for n in range(RIGHT_LINES)]
    assert (shown["above"], shown["more_below"]) == (100 - LEFT_LINES, True)


def test_lines_above_are_counted_from_the_place_of_the_hole() -> None:
    [shown] = details(instances([item(left="l1\nl2\n", line=50)]))
    assert shown["above"] == 47


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "\n"), ("a\n", "")])
def test_a_hole_at_the_edge_of_its_file(left: str, right: str) -> None:
    [shown] = details(instances([item(left=left, right=right, line=1 + left.count("\n"))]))
    assert (shown["above"], shown["more_below"]) == (0, False)


def test_a_chunk_that_many_retrieved_is_stored_once() -> None:
    chunk = {"path": "b.py", "start": 1, "end": 2, "text": "some text\nof a chunk", "score": 0.5}
    html = instances([item(id=str(n), chunks=[chunk, {**chunk, "start": n + 5}]) for n in range(50)])
    assert len(json.loads(data(html, "instance-chunks"))) == 51
    assert [shown["chunks"][0] for shown in details(html)] == [[0, 0.5]] * 50


def test_what_is_not_known_is_null() -> None:
    bare = item()
    for name in ("es_without", "es_with", "p_retrieve", "asked"):
        del bare[name]
    assert json.loads(data(instances([bare]), "instance-rows")) == [[0, 0, *[None] * 6]]


def test_an_item_that_lacks_a_field_is_refused_by_name() -> None:
    broken = item()
    del broken["target"]
    with pytest.raises(ValueError, match="b1: lacks target"):
        instances([broken])


def test_a_blank_that_several_models_completed_is_stored_once() -> None:
    models = ["one", "</script>"]
    html = instances([item(id=str(n), model=model, text_with=model) for n in range(5) for model in models])
    assert (len(details(html)), len(json.loads(data(html, "instance-blanks")))) == (5, 5)
    assert json.loads(data(html, "instance-models")) == models
    assert [row[:2] for row in json.loads(data(html, "instance-rows"))] == [[n, m] for n in range(5) for m in range(2)]
    assert [texts[1] for texts in lines(html, "instance-texts")] == models * 5


def test_verdicts_of_unit_tests_stand_in_the_rows() -> None:
    html = instances([item(tests_without="timeout", tests_with="passed"), item(id="b2")])
    assert [row[-2:] for row in json.loads(data(html, "instance-rows"))] == [["timeout", "passed"], [None, None]]


def test_no_instances_are_said_to_be_none() -> None:
    assert "no instances" in instances([])


def test_five_thousand_instances_are_quick_and_small() -> None:
    text = "    some_call(with_an_argument, and_another=1)\n" * 20
    chunks = [{"path": f"{n}.py", "start": 1, "end": 20, "text": text + str(n), "score": 0.1} for n in range(300)]
    items = [
        item(id=str(n), model=model, left=text * 20, chunks=chunks[n % 290 : n % 290 + 10])
        for model in ("one", "two", "three")
        for n in range(5000)
    ]
    start = time.process_time()
    html = instances(items)
    assert time.process_time() - start < 10
    assert len(html) < 20e6


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to parse the script")
def test_the_script_parses() -> None:
    script = Path(module.__file__).with_name("instances.js")
    subprocess.run(["node", "--check", str(script)], check=True, timeout=60)
