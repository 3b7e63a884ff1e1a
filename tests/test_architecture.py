"""The walls of the house: arrows go down, one name per module, nothing heavy before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UPPER = ("repoformer.data_pipeline", "repoformer.eval", "data_pipeline", "eval")
MAY_NAME_UPPER = {"repoformer/cli.py", "repoformer/quickstart.py"}
SOURCES = sorted(path for room in ("repoformer", "data_pipeline", "eval") for path in (ROOT / room).rglob("*.py"))


def absolute_imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def under(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_go_down(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    if place in MAY_NAME_UPPER:
        top_level = ast.Module(ast.parse(path.read_text(encoding="utf-8")).body, [])
        names = {
            name
            for node in top_level.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in [getattr(node, "module", None) or "", *[alias.name for alias in node.names]]
        }
        assert not [name for name in names if under(name, UPPER)], "only lazily"
        return
    # The two upper packages reach into themselves by relative imports only, so naming either is always an upward arrow.
    assert not [name for name in absolute_imports(path) if under(name, UPPER)]


def test_the_two_packages_have_one_name() -> None:
    code = (
        "import sys, repoformer.cli as cli; cli._parser();"
        "print([name for name in ('data_pipeline', 'eval') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_help_imports_no_third_party_module() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from repoformer.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'repoformer'}), file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stderr.strip() == "[]"


def test_the_wheel_puts_only_repoformer_into_site_packages(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "repoformer", "data_pipeline", "eval"):
        (tree / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "-w", str(tmp_path / "wheels"), str(tree)], check=True, timeout=300)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"repoformer", wheel.name.rpartition("-py3")[0] + ".dist-info"}
    packed = {name for name in names if name.endswith(".py")}
    rooms = {"data_pipeline": "repoformer/data_pipeline", "eval": "repoformer/eval"}
    wanted = set()
    for path in SOURCES:
        top, _, rest = path.relative_to(ROOT).as_posix().partition("/")
        wanted.add(f"{rooms.get(top, top)}/{rest}")
    assert packed == wanted
