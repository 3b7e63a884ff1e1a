"""CrossCodeEval and CrossCodeLongEval: the split of the file, the official context, and other versions of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repoformer.benchmarks.benchmark import Problems, benchmark
from repoformer.errors import UserError
from repoformer.prompt.cross_file import cross_file_text

PROMPT, TARGET, RIGHT = "import b\n\nx = b.", "f(\n    1)", "\ny = 2\n"
CONTEXT = {
    "text": "# Here are some relevant code fragments from other files of the repo:\n\n"
    "# the below code fragment can be found in:\n# pkg/b.py\n# def f(x):\n#     return x\n\n",
    "list": [{"retrieved_chunk": "def f(x):\n    return x", "filename": "pkg/b.py", "score": 4.5}],
}


def row(**changes: Any) -> dict[str, Any]:
    metadata = {"task_id": "project_cc_python/7", "repository": "owner-name-0123abc", "file": "pkg/a.py"}
    metadata |= {"context_start_lineno": 0, "groundtruth_start_lineno": 2, "right_context_start_lineno": 4}
    return {"prompt": PROMPT, "groundtruth": TARGET, "right_context": RIGHT, "metadata": metadata} | changes


def load(folder: Path, values: dict[str, Any], variant: str = "rg1_bm25", checkout: str | None = None) -> Problems:
    described = benchmark("crosscodeeval-python")
    path = folder / described.files[variant]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values) + "\n")
    if checkout is None:
        return described.load(folder, variant=variant)
    file = folder / "repositories" / "owner-name-0123abc" / "pkg" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(checkout)
    return described.load(folder, variant=variant, repositories=folder / "repositories")


def test_the_blank_touches_the_lines_of_its_target(tmp_path: Path) -> None:
    blank = load(tmp_path, row()).problems[0].blank
    assert (blank.start, blank.end) == (2, 4)
    assert (blank.left, blank.target, blank.right) == (PROMPT, TARGET, RIGHT)


def test_a_cropped_prompt_counts_its_lines_from_where_it_starts(tmp_path: Path) -> None:
    cropped = row()
    cropped["metadata"]["context_start_lineno"] = 30
    assert load(tmp_path, cropped).problems[0].blank.start == 32


def test_the_repositorys_commit_is_read_from_its_name(tmp_path: Path) -> None:
    assert load(tmp_path, row()).problems[0].blank.revision == "0123abc"


def test_the_official_context_renders_to_its_own_text(tmp_path: Path) -> None:
    context = load(tmp_path, row(crossfile_context=CONTEXT)).problems[0].context
    assert context is not None
    assert cross_file_text([ranked.chunk for ranked in context.chunks], "#") == CONTEXT["text"]
    assert context.chunks[0].score == 4.5


@pytest.mark.parametrize(("variant", "last"), [("rg1_bm25", "x = b."), ("oracle_bm25", "    1)")])
def test_only_an_oracles_query_holds_the_target(tmp_path: Path, variant: str, last: str) -> None:
    context = load(tmp_path, row(crossfile_context=CONTEXT), variant).problems[0].context
    assert context is not None
    assert context.query.split("\n")[-1] == last
    assert context.query_holds_target is (variant == "oracle_bm25")


def test_nothing_found_is_an_empty_context_and_no_field_is_none(tmp_path: Path) -> None:
    empty = load(tmp_path, row(crossfile_context={})).problems[0].context
    assert empty is not None
    assert empty.chunks == ()
    assert load(tmp_path, row(), "none").problems[0].context is None


def test_the_checkout_must_hold_the_file_as_it_was(tmp_path: Path) -> None:
    assert len(load(tmp_path / "same", row(), checkout=PROMPT + TARGET + RIGHT).problems) == 1


def test_another_version_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="of another version"):
        load(tmp_path, row(), checkout=PROMPT + TARGET + RIGHT + "z = 3\n")


def long_row(prompt: str, target: str, right: str, span: str) -> dict[str, Any]:
    metadata = {"task_id": f"o-n-0123abc/a.py/{span}_querywithoutgt", "repository": "o-n-0123abc", "file": "a.py"}
    return {"metadata": metadata, "prompt": prompt, "groundtruth": target, "right_context": right}


def load_long(folder: Path, task: str, values: dict[str, Any], checkout: str | None = None) -> Problems:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(values) + "\n")
    if checkout is not None:
        (folder / "o-n-0123abc").mkdir()
        (folder / "o-n-0123abc" / "a.py").write_text(checkout)
    return benchmark(f"crosscodelongeval-{task}").load(path, repositories=folder if checkout is not None else None)


def test_a_function_body_gets_its_indentation_and_gives_its_newline_away(tmp_path: Path) -> None:
    values = long_row("def f():\n    ", '"""One."""\n    return 1\n', "\n\nx = 2\n", "1_3")
    blank = load_long(tmp_path, "function", values).problems[0].blank
    assert blank.left == "def f():\n"
    assert blank.target == '    """One."""\n    return 1'
    assert blank.right == "\n\n\nx = 2\n"
    assert (blank.start, blank.end) == (1, 3)


def test_a_cursor_behind_code_is_set_aside(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="its cursor stands inside a line"):
        load_long(tmp_path, "function", long_row("x = ", "1\n", "", "0_1"))


def test_chunks_are_compared_with_the_file_without_its_blank_lines(tmp_path: Path) -> None:
    values = long_row("a = 1\n", "b = 2", "\nc = 3", "1_2")
    found = load_long(tmp_path, "chunk", values, checkout="a = 1\n\n\nb = 2\n   \nc = 3\n")
    assert found.problems[0].blank.target == "b = 2"


def test_a_task_id_without_lines_is_named(tmp_path: Path) -> None:
    values = long_row("a = 1\n", "b = 2", "\n", "1_2")
    values["metadata"]["task_id"] = "o-n-0123abc/a.py"
    with pytest.raises(UserError, match=r"rows.jsonl:1: metadata.task_id should end in START_END"):
        load_long(tmp_path, "chunk", values)
