"""What a repository's tests need, installed once and shared, read-only, by all runs.

    OUT/environments/REPOSITORY/venv        a virtual environment
    OUT/environments/REPOSITORY/workspace   the repository as installing left it
    OUT/environments/REPOSITORY.done.json   written last

Installing runs code of the repository and of what it depends on. It is contained as completions are, but for the
network and for this one folder.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from repoformer.code.storage import read_json, write_json
from repoformer.config import config_hash
from repoformer.errors import UserError
from repoformer.sandbox.limits import MIB, Limits
from repoformer.sandbox.sandbox import ENVIRONMENT, Job, Sandbox, at_their_own_paths, interpreter_folders

from .recipe import Installation, UnderTest

INSIDE = "/environment"
"""Where the folder stands in the container, so that paths written while installing hold in every run."""
_FOR_PIP = ("/etc/resolv.conf", "/etc/ssl", "/etc/pki", "/etc/pip.conf", "/etc/xdg/pip")
_PASSED_ON = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


@dataclass(frozen=True)
class Environment:
    """Where the repository's tests find what they need."""

    repository: Path
    """The folder that every run gets a copy of."""
    readable: dict[str, Path]
    path: str
    """The container's ``PATH``."""


def prepare(repository: UnderTest, installation: Installation, out: Path) -> Environment:
    """The environment of ``repository``, made now if no earlier run made it from the same description."""
    source = Path(repository.source)
    if not source.is_dir():
        raise UserError(f"{source}: no such folder; {repository.id}'s source has to be a checkout of it")
    if not repository.install:
        folder = Path(sys.executable).parent
        return Environment(source, interpreter_folders(), f"{folder}:{ENVIRONMENT['PATH']}")
    folder = out / "environments" / repository.file_name
    done = folder.with_name(f"{folder.name}.done.json")
    made_from = config_hash(repository.install, tree_hash(source), sys.version)
    if not done.exists() or read_json(done).get("made_from") != made_from:
        _install(repository, installation, source, folder)
        write_json(done, {"made_from": made_from})
    workspace = folder / "workspace"
    if workspace.is_symlink():  # installing ran the repository's code, which may have put anything there
        raise UserError(f"{workspace}: a link where the installed repository should be; look at its install commands")
    readable = interpreter_folders() | {INSIDE: folder}
    return Environment(workspace, readable, f"{INSIDE}/venv/bin:{ENVIRONMENT['PATH']}")


def tree_hash(folder: Path) -> str:
    """A hash of the names and texts of the files below ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode("utf-8", "surrogateescape"))
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _install(repository: UnderTest, installation: Installation, source: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    base = Path(sys.base_prefix) / "bin" / Path(sys.executable).resolve().name
    lines = [
        "set -e",
        f"{shlex.quote(str(base))} -m venv {INSIDE}/venv",
        *repository.install,
        f"cp -a /workspace {INSIDE}/workspace",
    ]
    limits = Limits(
        seconds=installation.seconds,
        memory=installation.memory_mib * MIB,
        processes=512,
        disk=4096 * MIB,
        file=4096 * MIB,
        open_files=1024,
        output=64 * MIB,
    )
    needed = [Path(path) for path in (*_FOR_PIP, *installation.readable) if Path(path).exists()]
    job = Job(
        ["sh", "-c", "\n".join(lines)],
        repository=source,
        readable=at_their_own_paths(Path(sys.base_prefix), *needed),
        writable={INSIDE: folder},
        environment={"PATH": f"{INSIDE}/venv/bin:{ENVIRONMENT['PATH']}", **_for_installers()},
        network=True,
    )
    outcome = Sandbox(limits).run(job)
    if not outcome.succeeded:
        last = " ".join(outcome.output.split())[-500:]
        raise UserError(f"{repository.id}: its install commands ended with {outcome.state}, {outcome.code}: {last}")


def _for_installers() -> dict[str, str]:
    """How this machine reaches its package index; installing would fail without, and completions never see it."""
    return {
        name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON) or name.lower() in _PROXIES
    }
