"""What all scorers have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
