"""Which repositories and files are worth training on.

The paper keeps a repository that has enough files and, *on average per file*, enough imports and enough imports of its
own modules (appendix D). Counted are import statements: ``import a, b`` is one, and it is local when one of its modules
is. ``from __future__`` imports nothing and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from repoformer.code.languages import LANGUAGES, is_stub, language_of
from repoformer.code.lines import lines_of
from repoformer.code.local_imports import LocalModules
from repoformer.code.reading import MAX_FILE_BYTES, Limits
from repoformer.code.records import SourceFile
from repoformer.code.syntax import imports

_VENDORED = {"vendor", "_vendor", "vendored", "_vendored", "third_party", "third-party", "thirdparty", "extern"}
_VENDORED |= {"externals", "bower_components"}
_GENERATED_NAME = re.compile(
    r"_pb2(_grpc)?\.pyi?$|(_grpc)?_(pb|connect)\.[jt]s$|\.(designer|g|g\.i|generated)\.cs$", re.I
)
_MINIFIED_NAME = re.compile(r"[.-]min\.[cm]?js$")
_GENERATED_NOTE = re.compile(
    r"@generated|do not (edit|modify)|auto(matically|[- ]?)\s*generated|generated automatically", re.I
)
_COMPILED = re.compile(r"""^Object\.defineProperty\(exports, ["']__esModule|^//# sourceMappingURL=""")
_GENERATED_NOTE_LINES = 10
_COMMENT_SIGNS = ("/*", "*", *{language.comment for language in LANGUAGES.values()})
_LONGEST_LINE = 1000


def unwanted(path: str, text: str) -> str | None:
    """Why a file is of no use, neither to draw blanks from nor as context; None for a file that is.

    A stub repeats its module's signatures, a vendored file is another repository's, and what a program wrote (told by
    its name, a note in its first lines, or lines that no one would type) is not how people write.
    """
    if is_stub(path):
        return "stub"
    if not _VENDORED.isdisjoint(PurePosixPath(path).parts[:-1]):
        return "vendored"
    if _MINIFIED_NAME.search(path):
        return "minified"
    lines = lines_of(text)
    if _GENERATED_NAME.search(path) or any(_is_generated_note(line) for line in lines[:_GENERATED_NOTE_LINES]):
        return "generated"
    if any(_COMPILED.search(line) for line in (*lines[:_GENERATED_NOTE_LINES], *lines[-1:])):
        return "compiled"
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        return f"a line of more than {_LONGEST_LINE} characters"
    return None


def compiled(paths: Iterable[str]) -> frozenset[str]:
    """JavaScript files of which the repository holds the TypeScript source: one of the same name in a like folder.

    Packages ship both, and what is compiled would show in the context what is to be written in the source.
    """
    files = [(path, PurePosixPath(path), language_of(path)) for path in paths if not is_stub(path)]
    sources = {
        (file.parent.name, file.stem) for _, file, known in files if known and known.name in ("typescript", "tsx")
    }
    return frozenset(
        path
        for path, file, known in files
        if known and known.name == "javascript" and (file.parent.name, file.stem) in sources
    )


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a repository must be like; the averages are the paper's. Zero of anything asks for nothing."""

    files: int = 5
    max_files: int = 0
    imports_per_file: float = 3.0
    local_imports_per_file: float = 2.0
    max_file_bytes: int = MAX_FILE_BYTES
    lines: int = 0
    """Of all usable files together. The paper's multilingual repositories have 20 files and 20,000 lines."""
    languages: tuple[str, ...] = ("python",)

    @property
    def limits(self) -> Limits:
        """How much of a repository is read."""
        return Limits(self.max_file_bytes, self.max_files, self.languages)


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """How connected a repository is: the numbers that the paper's filter looks at."""

    files: int
    imports: int
    local_imports: int
    lines: int = 0

    def refusal(self, requirements: Requirements) -> str | None:
        """Why the repository has too little to offer; None when it has enough of everything."""
        if self.files < requirements.files:
            return f"{self.files} usable files, at least {requirements.files} are needed"
        if self.lines < requirements.lines:
            return f"{self.lines} lines, at least {requirements.lines} are needed"
        for what, count, least in (
            ("imports", self.imports, requirements.imports_per_file),
            ("local imports", self.local_imports, requirements.local_imports_per_file),
        ):
            average = count / self.files if self.files else 0.0
            if average < least:
                return f"{average:.1f} {what} per file, at least {least:g} are needed"
        return None


def count_imports(files: Sequence[SourceFile], paths: Iterable[str]) -> ImportCounts:
    """Imports of ``files``, local ones resolved against ``paths``, all source files of the repository."""
    local = LocalModules(files, paths)
    found = [(file.language, statement) for file in files for statement in imports(file.language, file.text)]
    return ImportCounts(
        len(files),
        len(found),
        sum(local.imported_by(language, statement) for language, statement in found),
        sum(len(lines_of(file.text)) for file in files),
    )


def _is_generated_note(line: str) -> bool:
    return line.lstrip().startswith(_COMMENT_SIGNS) and _GENERATED_NOTE.search(line) is not None
