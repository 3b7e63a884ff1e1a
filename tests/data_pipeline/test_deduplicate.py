"""Copies of a repository are found by what they share, whatever they are called; relatives of a theme are no copies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.records import Repository, SourceFile
from repoformer.data_pipeline.deduplicate import SHARED_SHARE, Originals, line_hashes

LINES = st.frozensets(st.integers(0, 60), max_size=30)


@given(st.lists(LINES, max_size=8))
def test_a_copy_is_whatever_shares_enough_with_one_that_is_kept(drawn: list[frozenset[int]]) -> None:
    originals = Originals()
    kept: dict[str, frozenset[int]] = {}
    for number, lines in enumerate(drawn):
        alike = {
            name
            for name, other in kept.items()
            if lines & other and len(lines & other) >= SHARED_SHARE * min(len(lines), len(other))
        }
        original = originals.copied(lines)
        assert original in alike if alike else original is None
        if not alike:
            originals.add(str(number), lines)
            kept[str(number)] = lines
    assert originals.names == list(kept)


def test_paths_imports_and_layout_do_not_hide_a_copy() -> None:
    code = [f"value_{number} = compute({number})" for number in range(9)]
    one = Repository("a", "", "MIT", (SourceFile("a/x.py", "\n".join(["import a", *code]), "python"),))
    files = tuple(SourceFile(f"b/{number}.py", f"import b\n    {line}\n", "python") for number, line in enumerate(code))
    assert line_hashes(one) == line_hashes(Repository("b", "", "MIT", files))
