"""The repositories that a benchmark's problems are cut from, where somebody has them on disk."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from repoformer.errors import UserError


class Unusable(Exception):
    """A problem that is well-formed and still cannot be used; the message is the reason under which it is counted."""


OTHER_VERSION = "its file in the repositories' folder is of another version"


class Checkouts:
    """Repositories as folders of one folder, under the names that the benchmark gives them."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UserError(f"{root}: no such folder; give the one that holds the benchmark's repositories")
        self.root = root
        self._read = cache(_read)

    def require(self, folder: str) -> None:
        """A repository that is not there makes its problems unusable."""
        if not (self.root / folder).is_dir():
            raise Unusable(f"no folder {folder} among the repositories")

    def text(self, folder: str, path: str) -> str:
        """The text of a file with ``\\n`` at the ends of its lines, as the benchmarks read it themselves."""
        self.require(folder)
        file = (self.root / folder / path).resolve()
        if not file.is_relative_to((self.root / folder).resolve()):
            raise Unusable("its path leads out of its repository")
        return self._read(file)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Unusable("its file is missing or unreadable in the repositories' folder") from None
