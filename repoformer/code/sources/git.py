"""Git repositories, bare or not, at a revision: read from the object store, without a checkout.

Nothing of the repository is run and nothing is fetched: objects that a partial clone lacks are errors.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, SetAside
from repoformer.code.sources.candidate import Refused, read_loaded, repository_name, source_files
from repoformer.code.sources.licence_files import MAX_LICENCE_BYTES, evidence_in, tells_licence
from repoformer.errors import UserError

_LINK = "120000"
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or a link in a tree."""

    mode: str
    object: str
    size: int


@dataclass(frozen=True, slots=True)
class GitCandidate:
    """A git repository at a revision: a branch, a tag, a commit."""

    id: str
    repository: Path
    at: str = "HEAD"
    granted: str = ""

    @property
    def revision(self) -> str:
        """The commit."""
        try:
            found = _git(self.repository, "rev-parse", "--verify", "--end-of-options", f"{self.at}^{{commit}}")
        except Refused as error:
            raise Refused(f"no revision {self.at} ({error})") from None
        return found.decode().strip()

    def stamp(self) -> object:
        """The commit, or why there is none."""
        try:
            return self.revision
        except Refused as error:
            return str(error)

    def evidence(self) -> LicenceEvidence:
        """What the manifests and the licence files in the root say."""
        entries = self._entries("--")
        names = [
            path
            for path, entry in entries.items()
            if tells_licence(path) and entry.mode != _LINK and entry.size <= MAX_LICENCE_BYTES
        ]
        return evidence_in(self._contents({name: entries[name] for name in names}))

    def read(self, limits: Limits) -> Reading:
        """The source files of the revision; links are not followed, submodules not entered."""
        entries = self._entries("-r")
        found: dict[str, bytes | SetAside] = {}
        wanted = {}
        for path in source_files(entries, limits):
            try:
                if entries[path].mode == _LINK:
                    raise SetAside("link")
                limits.check_size(entries[path].size)
                wanted[path] = entries[path]
            except SetAside as reason:
                found[path] = reason
        return read_loaded(found | self._contents(wanted))

    def _entries(self, *options: str) -> dict[str, _Entry]:
        listed = _git(self.repository, "ls-tree", "-z", "--long", "--full-tree", *options, self.revision)
        entries = {}
        for line in listed.decode("utf-8", "replace").split("\0")[:-1]:
            fields, _, path = line.partition("\t")
            mode, kind, name, size = fields.split()
            if not size.isdigit() and kind == "blob":
                raise Refused(f"git: object of {path} is missing")
            if kind == "blob":
                entries[path] = _Entry(mode, name, int(size))
        return entries

    def _contents(self, entries: dict[str, _Entry]) -> dict[str, bytes]:
        """The bytes of files, in one process for all of them."""
        asked = "".join(f"{entry.object}\n" for entry in entries.values())
        answer = _git(self.repository, "cat-file", "--batch", given=asked.encode())
        contents, place = {}, 0
        for path, entry in entries.items():
            header_end = answer.index(b"\n", place)
            if not answer[place:header_end].endswith(b" blob %d" % entry.size):
                raise Refused(f"git: object of {path} is missing")
            contents[path] = answer[header_end + 1 : header_end + 1 + entry.size]
            place = header_end + entry.size + 2
        return contents


def git_candidates(
    directory: Path, *, each: bool = True, revision: str = "HEAD", granted: str = ""
) -> list[GitCandidate]:
    """Every git repository in ``directory``, or with ``each=False`` the directory itself as the only one."""
    if not directory.is_dir():
        raise UserError(f"{directory}: no such folder; name a folder of git repositories")
    places: Sequence[Path] = sorted(directory.iterdir()) if each else [directory]
    found = [place for place in places if _is_repository(place)]
    if not found:
        hint = "with `each: false` it is taken as one itself" if each else "name a clone, bare or not"
        raise UserError(f"{directory}: no git repository in it; {hint}")
    names = [repository_name(place.resolve().name).removesuffix(".git") for place in found]
    return [GitCandidate(name, place, revision, granted) for name, place in zip(names, found, strict=True)]


def head_of_checkout(root: Path) -> str:
    """The commit that is checked out in a folder; empty where there is none."""
    if not (root / ".git").exists():
        return ""
    try:
        return GitCandidate("", root).revision
    except Refused:
        return ""


def _is_repository(place: Path) -> bool:
    return (place / ".git").exists() or ((place / "HEAD").is_file() and (place / "objects").is_dir())


def _git(repository: Path, *arguments: str, given: bytes = b"") -> bytes:
    # A repository's own configuration could name a program to run here.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, env=os.environ | _ENVIRONMENT)
    except OSError as error:
        raise Refused(f"git cannot be run ({error.strerror})") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise Refused(f"git: {said}")
    return done.stdout
