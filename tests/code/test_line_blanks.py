"""Line blanks: one line of code each."""

from __future__ import annotations

from repoformer.code.line_blanks import line_blanks
from repoformer.code.records import Repository, SourceFile

TEXT = "import os\n\n# a comment of many words here\nvalue = compute(1, 2)\nelse:\n" + "".join(
    f"x{number} = call(argument={number})\n" for number in range(30)
)
REPOSITORY = Repository("r", "", "MIT", (SourceFile("a.py", TEXT, "python"), SourceFile("b.py", TEXT, "python")))


def test_lines_of_code_are_drawn_and_no_others() -> None:
    sampled = line_blanks(REPOSITORY, seed=0, most=1000)
    assert len(sampled.blanks) == 2 * 31
    assert all("(" in blank.target and blank.end == blank.start + 1 for blank in sampled.blanks)
    assert sampled.dropped["import"] == sampled.dropped["line of a comment"] == 2


def test_left_target_and_right_are_the_file() -> None:
    for blank in line_blanks(REPOSITORY, seed=0, most=10).blanks:
        assert blank.left + blank.target + blank.right == TEXT


def test_the_seed_and_the_name_alone_decide() -> None:
    turned = Repository("r", "", "MIT", REPOSITORY.files[::-1])
    assert line_blanks(turned, seed=1, most=5) == line_blanks(REPOSITORY, seed=1, most=5)
    assert line_blanks(REPOSITORY, seed=2, most=5) != line_blanks(REPOSITORY, seed=1, most=5)
