"""Holes and what is put into them."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.blanks import blank_at
from repoformer.code.records import Blank, Prediction, Repository, RetrievedContext, SourceFile
from repoformer.eval.execute.bodies import bodies_of


def prediction(blank: Blank, without: str, with_context: str) -> Prediction:
    context = RetrievedContext((), "", False, "none", 0.0)
    return Prediction(blank, "m", None, None, context, without, with_context, None, None, None, None)


@given(st.lists(st.sampled_from(["x = 1", "", "    y = 2", "\tz"]), min_size=1, max_size=8), st.randoms())
def test_the_true_body_gives_the_file_back(lines: list[str], random: Random) -> None:
    start = random.randrange(len(lines))
    end = random.randint(start + 1, len(lines))
    file = SourceFile("m.py", "".join(f"{line}\n" for line in lines), "python")
    blank = blank_at(Repository("r", "", "", (file,)), file, "function", start, end)
    with TemporaryDirectory() as folder:
        (Path(folder) / "m.py").write_text(file.text)
        (hole,) = bodies_of([[prediction(blank, "", "")]], {"r": Path(folder)}).holes
    assert hole.filled(blank.target) == {"m.py": file.text}


def test_a_body_that_two_models_wrote_is_tried_once(checkout: Path, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    one, other = (
        [prediction(double, "    return 1", "    return 2")],
        [prediction(double, "    return 2", "    return 3")],
    )
    found = bodies_of([one, other], {double.repository: checkout})
    assert sorted(found.texts[double.id].values()) == ["    return 1", "    return 2", "    return 3"]


def test_code_behind_the_body_is_not_tried(checkout: Path, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    found = bodies_of(
        [[prediction(double, "    return 1\n\ndef other():\n    pass", "    return 1")]], {double.repository: checkout}
    )
    assert list(found.texts[double.id].values()) == ["    return 1"]


def test_the_body_that_raises_is_indented_as_the_true_one(checkout: Path, blanks: dict[str, Blank]) -> None:
    found = bodies_of(
        [[prediction(blank, "", "") for blank in blanks.values()]], {blanks["double"].repository: checkout}
    )
    for hole in found.holes:
        ast.parse(hole.filled(hole.without_body)[hole.blank.path])


def test_what_cannot_be_tried_is_counted_with_its_reason(checkout: Path, blanks: dict[str, Blank]) -> None:
    double = blanks["double"]
    others = [
        replace(double, id="a", kind="chunk"),
        replace(double, id="b", repository="elsewhere"),
        replace(double, id="c", path="package/missing.py"),
        replace(double, id="d", start=0, end=1),
    ]
    found = bodies_of([[prediction(blank, "", "") for blank in [double, *others]]], {double.repository: checkout})
    assert [hole.blank.id for hole in found.holes] == [double.id]
    assert found.left_out == {
        "not a function": 1,
        "its repository is not described in the recipe": 1,
        "its file is not in the repository's source": 1,
        "the source has other lines there: another revision?": 1,
    }


def test_a_limit_leaves_out_the_rest(checkout: Path, blanks: dict[str, Blank]) -> None:
    predictions = [[prediction(blank, "", "") for blank in blanks.values()]]
    found = bodies_of(predictions, {blanks["double"].repository: checkout}, limit=1)
    assert len(found.holes) == len(found.texts) == 1
    assert found.left_out == {"beyond the limit": 2}
