"""What all scorers have in common."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from repoformer.retrieval.scorers import Scorer, build_index

COMPILED_BY_A_SEARCH = """
import numpy as np
from repoformer.retrieval import kernels
from repoformer.retrieval.scorers import build_index, compile_search

def compiled():
    return {name: len(one.signatures) for name, one in vars(kernels).items() if hasattr(one, "signatures")}

compile_search("SCORER")
before = compiled()
index = build_index("SCORER", ["a b", "b c é", "+"] * 40)
for query in ("a b", "a z", "é “a”", ""):
    index.search(query, 10)
    index.search(query, 10, np.arange(120) % 2 == 0)
assert any(before.values())
assert compiled() == before, (before, compiled())
"""


@pytest.mark.parametrize("scorer", ["jaccard", "bm25"])
def test_after_compile_search_no_search_compiles(scorer: str) -> None:
    program = COMPILED_BY_A_SEARCH.replace("SCORER", scorer)
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("scorer", ["jaccard", "bm25"])
@pytest.mark.parametrize("length", [0, 2, 4])
def test_a_mask_of_another_length_is_refused(scorer: Scorer, length: int) -> None:
    with pytest.raises(ValueError, match="mask"):
        build_index(scorer, ["a", "b", "c"]).search("a", 1, np.ones(length, np.bool_))
