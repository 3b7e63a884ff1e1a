"""A repository's folder as it lies on the disk: the context that serving retrieves from."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tqdm import tqdm

from repoformer.code.reading import read_files, source_paths
from repoformer.code.records import Blank, RetrievedContext, SourceFile
from repoformer.context.next_chunk import NextChunk

_FILES_AT_ONCE = 200


class WorkingTree:
    """Next-chunk context from a folder, which is read and indexed when context is first asked for."""

    def __init__(self, root: Path, retrieval: Mapping[str, Any] | None = None) -> None:
        """``retrieval``: options of :class:`NextChunk` that the model was trained with."""
        self._root = root
        self._retrieval = dict(retrieval or {})

    def retrieve(self, blank: Blank) -> RetrievedContext:
        """The chunks for a blank of this folder, best first."""
        return self._index.retrieve(blank)

    @cached_property
    def _index(self) -> NextChunk:
        paths = self._paths()
        files: list[SourceFile] = []
        with tqdm(total=len(paths), desc="read and index repository", unit="file", delay=1, leave=False) as bar:
            for start in range(0, len(paths), _FILES_AT_ONCE):
                some = paths[start : start + _FILES_AT_ONCE]
                files += read_files(self._root, some).files
                bar.update(len(some))
            return NextChunk(files, **self._retrieval)

    def _paths(self) -> list[str]:
        """The project's source files; in a git checkout without what git ignores, such as builds and run outputs."""
        paths = source_paths(self._root)
        known = _known_to_git(self._root)
        return paths if known is None else [path for path in paths if path in known]


def _known_to_git(root: Path) -> frozenset[str] | None:
    """Files under ``root`` that git tracks or would track; None outside of a checkout or without git."""
    # A repository's own configuration could name a program to run here.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z"]
    try:
        listed = subprocess.run(
            [*command, "--cached", "--others", "--exclude-standard"], capture_output=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return frozenset(listed.stdout.decode("utf-8", "surrogateescape").split("\0"))
