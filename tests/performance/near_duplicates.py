"""How near-duplicate detection grows: seconds of signing files and of finding the copies among many.

    python tests/performance/near_duplicates.py [FILES ...]

Made-up repositories of 50 files and 60 telling lines each, a tenth of the files copied from another repository. Prints
files per second for both steps, at every size; all found copies are checked against the ones that were made.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

import numpy as np

from repoformer.code.minhash import signature
from repoformer.data_pipeline.deduplicate import FileSignature, find_duplicates

FILES_PER_REPOSITORY = 50
LINES = 60


def made_up(count: int) -> Iterator[tuple[str, str, set[int]]]:
    """Repository, path and line hashes of each file; every tenth is one of an earlier repository, a bit changed."""
    draw = random.Random(0)
    earlier: list[set[int]] = []
    for number in range(count):
        repository, path = divmod(number, FILES_PER_REPOSITORY)
        lines = {draw.getrandbits(64) for _ in range(LINES)}
        if path % 10 == 0 and repository:
            lines = set(list(draw.choice(earlier))[5:]) | set(list(lines)[:3])
        elif path % 10 == 1:
            earlier.append(lines)
        yield f"r{repository:06d}", f"{path:02d}.py", lines


def main() -> None:
    """Print one line per size."""
    for count in map(int, sys.argv[1:] or ("10000", "100000")):
        made = list(made_up(count))
        start = time.process_time()
        signed = [(repository, path, lines, signature(lines)) for repository, path, lines in made]
        sign_seconds = time.process_time() - start
        found = [FileSignature(repository, path, len(lines), own.tobytes()) for repository, path, lines, own in signed]
        for begin in range(0, count, FILES_PER_REPOSITORY):
            group = signed[begin : begin + FILES_PER_REPOSITORY]
            whole = np.minimum.reduce([own for *_, own in group])
            found.append(FileSignature(group[0][0], "", sum(len(lines) for _, _, lines, _ in group), whole.tobytes()))
        start = time.process_time()
        duplicates = find_duplicates(found, sorted({one.repository for one in found}))
        find_seconds = time.process_time() - start
        copies = sum(map(len, duplicates.files.values()))
        wanted = sum(path.endswith("0.py") and repository != "r000000" for repository, path, _ in made)
        print(
            f"{count} files: signed {count / sign_seconds:.0f}/s, compared {count / find_seconds:.0f}/s; "
            f"{copies} of {wanted} copied files and {len(duplicates.copies)} of 0 copied repositories found"
        )


if __name__ == "__main__":
    main()
