"""Small repositories that are filtered, split, sampled and labelled in no time."""

from __future__ import annotations

from pathlib import Path

NAMES = ("ant", "bee", "cat", "dog", "elk", "fox")
MODULES = ("load", "store", "parse", "merge", "count", "split")


def write(root: Path) -> None:
    """Six packages of six modules that import each other, no two alike."""
    for name in NAMES:
        (root / name / name).mkdir(parents=True)
        (root / name / "pyproject.toml").write_text('[project]\nlicense = "MIT"\n')
        for place, module in enumerate(MODULES):
            others = [MODULES[(place + step) % len(MODULES)] for step in (1, 2, 3)]
            lines = ["import os", "import sys", *(f"from {name}.{other} import {other}_{name}_0" for other in others)]
            for number in range(4):
                lines += [
                    "",
                    "",
                    f"def {module}_{name}_{number}(table, limit={len(name) * place + number}):",
                    f"    rows = {others[number % 3]}_{name}_0(table)",
                    f"    if len(rows) > {place + number} or not table:",
                    f"        return os.path.join(sys.argv[{number}], {name!r})",
                    f"    return rows[{number}]",
                ]
            (root / name / name / f"{module}.py").write_text("\n".join(lines) + "\n")
