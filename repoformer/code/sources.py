"""Where repositories come from: folders, and the distributions installed in a Python environment."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.utils import NormalizedName, canonicalize_name

from repoformer.code.languages import language_of
from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import source_paths
from repoformer.errors import UserError

_LICENCE_FILES = ("licen[cs]e*", "copying*", "unlicen[cs]e*")
_NO_LICENCE_TEXT = {".py", ".json", ".html"}
_MAX_LICENCE_BYTES = 1_000_000


# -- folders ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FolderCandidate:
    """A folder with source files, perhaps a git checkout."""

    id: str
    root: Path
    granted: str = ""

    @property
    def revision(self) -> str:
        """The commit that is checked out."""
        if not (self.root / ".git").exists():
            return ""
        try:
            command = ["git", "-C", str(self.root), "rev-parse", "HEAD"]
            head = subprocess.run(command, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.SubprocessError):
            return ""
        return head.stdout.strip() if head.returncode == 0 else ""

    def paths(self) -> list[str]:
        """Source files of the project, without environments and caches."""
        return source_paths(self.root)

    def evidence(self) -> LicenceEvidence:
        """What pyproject.toml declares and the licence files in the root say."""
        project = _project_table(self.root)
        declared = project.get("license", "")
        if isinstance(declared, dict):
            declared = declared.get("text", "")
        classifiers = tuple(str(entry) for entry in _as_list(project.get("classifiers")))
        return LicenceEvidence(
            declared if isinstance(declared, str) else "", _licence_classifiers(classifiers), _licence_texts(self.root)
        )


def folder_candidates(directory: Path, *, each: bool = True, granted: str = "") -> list[FolderCandidate]:
    """Every folder in ``directory`` as a repository, or with ``each=False`` the directory itself as the only one."""
    if not directory.is_dir():
        raise UserError(f"{directory}: no such folder; name a folder of repositories")
    if not each:
        return [FolderCandidate(directory.resolve().name, directory, granted)]
    folders = sorted(path for path in directory.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not folders:
        raise UserError(f"{directory}: no folder in it; with `each: false` it is taken as one repository itself")
    return [FolderCandidate(folder.name, folder, granted) for folder in folders if not folder.is_symlink()]


def _project_table(root: Path) -> dict[str, object]:
    try:
        values = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}
    tool = values.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for table in (values.get("project"), poetry):
        if isinstance(table, dict) and ("license" in table or "classifiers" in table):
            return table
    return {}


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# -- installed distributions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InstalledCandidate:
    """A distribution in the environment: what it installed is taken as a repository."""

    id: str
    distribution: metadata.Distribution
    granted: str = ""

    @property
    def revision(self) -> str:
        """The version."""
        return self.distribution.version

    @property
    def root(self) -> Path:
        """The folder that packages are installed into."""
        return Path(str(self.distribution.locate_file("")))

    def paths(self) -> list[str] | None:
        """Source files that the distribution's record lists, without what it put outside of the root."""
        files = self.distribution.files
        if files is None:
            return None
        return sorted({file.as_posix() for file in files if language_of(file.name) and _is_inside(file)})

    def evidence(self) -> LicenceEvidence:
        """What the metadata declare and the licence files beside them say."""
        fields = self.distribution.metadata
        texts = []
        for file in self.distribution.files or ():
            beside_metadata = file.parts[0].endswith((".dist-info", ".egg-info"))
            if beside_metadata and len(file.parts) <= 3 and _is_licence_file(file):
                texts.append(_read_licence(Path(str(file.locate()))))
        return LicenceEvidence(
            _metadata_field(fields, "License-Expression") or _metadata_field(fields, "License"),
            _licence_classifiers(fields.get_all("Classifier") or ()),
            tuple(texts),
        )


def installed_candidates(
    include: Sequence[str] = (), exclude: Sequence[str] = (), site_packages: Sequence[str] = ()
) -> list[InstalledCandidate]:
    """The distributions of this environment (or in the given folders), by name; an empty ``include`` takes them all."""
    found: dict[NormalizedName, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=list(site_packages) or sys.path):
        name = distribution.metadata["Name"]
        if name:  # what is half uninstalled has none
            found.setdefault(canonicalize_name(name), distribution)
    wanted = {canonicalize_name(name) for name in include} or set(found)
    missing = sorted(wanted - set(found))
    if missing:
        raise UserError(f"sources: distribution {missing[0]!r} is not installed; install it or take it out of include")
    unwanted_names = {canonicalize_name(name) for name in exclude}
    return [InstalledCandidate(name, found[name]) for name in sorted(wanted - unwanted_names)]


def _metadata_field(fields: metadata.PackageMetadata, name: str) -> str:
    return str(fields[name]) if name in fields else ""


def _is_inside(file: PurePosixPath) -> bool:
    return not file.is_absolute() and ".." not in file.parts


# -- licence files ---------------------------------------------------------------------------------------------------


def _licence_classifiers(classifiers: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry for entry in classifiers if entry.startswith("License ::") and entry.count("::") > 1)


def _licence_texts(root: Path) -> tuple[str, ...]:
    files = sorted(path for path in root.iterdir() if path.is_file() and _is_licence_file(PurePosixPath(path.name)))
    return tuple(_read_licence(path) for path in files)


def _is_licence_file(path: PurePosixPath) -> bool:
    name = PurePosixPath(path.name.lower())
    return name.suffix not in _NO_LICENCE_TEXT and any(name.match(pattern) for pattern in _LICENCE_FILES)


def _read_licence(path: Path) -> str:
    """A licence file's text; empty, so that it grants nothing, where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read(_MAX_LICENCE_BYTES)
    except OSError:
        return ""
