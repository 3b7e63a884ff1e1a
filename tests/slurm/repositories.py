"""Small repositories that are filtered, split, sampled and labelled in no time."""

from __future__ import annotations

import random
from pathlib import Path

NAMES = ("ant", "bee", "cat", "dog", "elk", "fox")
MODULES = ("load", "store", "parse", "merge", "count", "split")
_SYLLABLES = ("ba", "co", "du", "fi", "ga", "lo", "mu", "ne", "po", "ri", "sa", "tu")


def write(root: Path) -> None:
    """Six packages of six modules that import each other; words and statements differ, so none is a copy of another."""
    for name in NAMES:
        (root / name / name).mkdir(parents=True)
        (root / name / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
        words = random.Random(name)
        for place, module in enumerate(MODULES):
            others = [MODULES[(place + step) % len(MODULES)] for step in (1, 2, 3)]
            lines = ["import os", "import sys", *(f"from {name}.{other} import {other}_{name}_0" for other in others)]
            for number in range(4):
                rows, limit = _word(words), _word(words)
                lines += [
                    "",
                    "",
                    f"def {module}_{name}_{number}({rows}, {limit}={words.randrange(100)}):",
                    f"    {rows}_{number} = {others[number % 3]}_{name}_0({rows})",
                    *(f"    {limit}_{_word(words)} = os.path.{_word(words)}({rows}, {limit})" for _ in range(3)),
                    f"    if len({rows}) > {limit} or {rows}.{_word(words)}:",
                    f"        return os.path.join(sys.argv[{number}], {_word(words)!r})",
                    f"    return {rows}_{number}[{limit}]",
                ]
            (root / name / name / f"{module}.py").write_text("\n".join(lines) + "\n")


def _word(words: random.Random) -> str:
    return "".join(words.choices(_SYLLABLES, k=3))
