"""Line blanks: one line of code, as RepoEval's line level has them, drawn from all files of a repository."""

from __future__ import annotations

import re
from collections import Counter

from repoformer.code.blanks import Sampled, blank_at
from repoformer.code.languages import LANGUAGES
from repoformer.code.lines import lines_of
from repoformer.code.records import Repository
from repoformer.seeding import generator

LEAST_TOKENS = 5
"""Shorter lines, such as ``else:`` or a bracket, say nothing about a model."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_IMPORT = re.compile(r"(import|from|using|package)\b")


def line_blanks(repository: Repository, *, seed: int, most: int) -> Sampled:
    """At most ``most`` lines that are neither import nor comment, drawn by the seed and the repository's name alone."""
    rng = generator(seed, "line-blanks", repository.id)
    dropped = Counter[str]()
    useful = []
    for file in sorted(repository.files, key=lambda file: file.path):
        for number, line in enumerate(lines_of(file.text)):
            reason = _why_not(line.strip(), LANGUAGES[file.language].comment)
            if reason:
                dropped[reason] += 1
            else:
                useful.append((file, number))
    drawn = sorted(rng.sample(range(len(useful)), min(most, len(useful))))
    spans = [useful[place] for place in drawn]
    return Sampled(tuple(blank_at(repository, file, "line", line, line + 1) for file, line in spans), dropped)


def _why_not(line: str, comment: str) -> str | None:
    if line.startswith((comment, '"""', "'''", "/*", "*")):
        return "line of a comment"
    if _IMPORT.match(line):
        return "import"
    return f"line of less than {LEAST_TOKENS} tokens" if len(_TOKEN.findall(line)) < LEAST_TOKENS else None
