"""Nothing runs where code cannot be contained."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import repoformer
from repoformer.errors import UserError
from repoformer.sandbox import probe
from repoformer.sandbox.sandbox import Outcome

SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    probe.require_containment.cache_clear()
    yield
    probe.require_containment.cache_clear()


def may_mount() -> bool:
    """Whether this process has CAP_SYS_ADMIN: then nothing but a mistake of ours keeps it from containing code."""
    if sys.platform != "linux":
        return False
    capabilities = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    return capabilities is not None and bool(int(capabilities[1], 16) >> 21 & 1) and kernel >= (5, 14)


@pytest.mark.skipif(not may_mount(), reason="needs CAP_SYS_ADMIN and Linux 5.14")
def test_this_machine_contains_code() -> None:
    probe.require_containment()


def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UserError, match="on Linux only"):
        probe.require_containment()


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome("ended", 0, 0.1, 0.1, 0, '["it has a network"]\n', None), "it has a network"),
        (Outcome("broken", None, 0.1, 0.1, 0, "unshare: Operation not permitted", None), "Operation not permitted"),
        (Outcome("timeout", None, 0.1, 0.1, 0, "", None), "the container ended with timeout"),
        (Outcome("ended", 0, 0.1, 0.1, 0, "nonsense", None), "the probe answered 'nonsense'"),
    ],
)
def test_what_the_probe_could_do_is_the_reason(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, reason: str) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(probe, "_attempt", lambda canary: outcome)
    with pytest.raises(UserError, match=reason):
        probe.require_containment()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_rights_contains_code_too(tmp_path: Path) -> None:
    version = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True
    )
    if version.stdout.strip() != b"True":
        pytest.skip(f"needs {SYSTEM_PYTHON} 3.11, which every user may run")
    subprocess.run([SYSTEM_PYTHON, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    source = Path(repoformer.__file__).parent
    shutil.copytree(source / "sandbox", packages / "repoformer/sandbox")
    for name in ("__init__.py", "errors.py"):
        shutil.copy(source / name, packages / "repoformer" / name)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    found = subprocess.run(
        [tmp_path / "venv/bin/python", "-I", "-c", "from repoformer.sandbox.probe import *; require_containment()"],
        user=12345,
        group=12345,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
    )
    if "unshare: Operation not permitted" in found.stderr:
        pytest.skip("this machine forbids user namespaces to users without rights; the probe says so")
    assert found.returncode == 0, found.stderr
