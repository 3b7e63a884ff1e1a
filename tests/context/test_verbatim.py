"""Whether a target stands in another file: whole lines, and not in a copy of its own."""

from __future__ import annotations

import pytest

from repoformer.code.lines import cut
from repoformer.code.records import Blank, SourceFile
from repoformer.context.leaks import CopyFinder
from repoformer.context.verbatim import stands_elsewhere

TEXT = "".join(f"some_value_{number} = compute_it({number})\n" for number in range(9))
LEFT, TARGET, RIGHT = cut(TEXT, 4, 5)
BLANK = Blank("id", "repo", "", "MIT", "m.py", "python", "line", 4, 5, LEFT, RIGHT, TARGET)


@pytest.mark.parametrize(
    ("other", "stands"),
    [
        (f"import os\n{TARGET}\n", True),
        (TARGET, True),
        (f"    {TARGET}\n", False),
        (f"{TARGET} + 1\n", False),
        (f"# a copy\n{TEXT}", False),
    ],
    ids=["a line", "the whole file", "indented", "part of a line", "copy"],
)
def test_whole_lines_of_other_files_count(other: str, stands: bool) -> None:
    files = [SourceFile("m.py", TEXT, "python"), SourceFile("other.py", other, "python")]
    assert stands_elsewhere(BLANK, files, CopyFinder(files)) is stands
