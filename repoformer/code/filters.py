"""Which repositories and files are worth training on.

The paper keeps a repository that has enough files and, *on average per file*, enough imports and enough imports of its
own modules (appendix D). Counted are import statements: ``import a, b`` is one, and it is local when one of its modules
is. ``from __future__`` imports nothing and does not count.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from repoformer.code.languages import LANGUAGES
from repoformer.code.lines import lines_of
from repoformer.code.reading import MAX_FILE_BYTES
from repoformer.code.records import SourceFile
from repoformer.code.syntax import Import, imports

_VENDORED = {"vendor", "_vendor", "vendored", "_vendored", "third_party", "thirdparty", "extern", "externals"}
_GENERATED_NAME = re.compile(r"_pb2(_grpc)?\.pyi?$")
_GENERATED_NOTE = re.compile(
    r"@generated|do not (edit|modify)|auto(matically|[- ]?)\s*generated|generated automatically", re.I
)
_GENERATED_NOTE_LINES = 10
_LONGEST_LINE = 1000


def unwanted(path: str, text: str) -> str | None:
    """Why a file is of no use, neither to draw blanks from nor as context; None for a file that is.

    A stub repeats its module's signatures, a vendored file is another repository's, and what a program wrote (told by
    its name, a note in its first lines, or lines that no one would type) is not how people write.
    """
    if path.endswith(".pyi"):
        return "stub"
    if not _VENDORED.isdisjoint(PurePosixPath(path).parts[:-1]):
        return "vendored"
    lines = lines_of(text)
    if _GENERATED_NAME.search(path) or any(_is_generated_note(line) for line in lines[:_GENERATED_NOTE_LINES]):
        return "generated"
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        return f"a line of more than {_LONGEST_LINE} characters"
    return None


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a repository must be like; the averages are the paper's. Zero of anything asks for nothing."""

    files: int = 5
    max_files: int = 0
    imports_per_file: float = 3.0
    local_imports_per_file: float = 2.0
    max_file_bytes: int = MAX_FILE_BYTES


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """How connected a repository is: the numbers that the paper's filter looks at."""

    files: int
    imports: int
    local_imports: int

    def refusal(self, requirements: Requirements) -> str | None:
        """Why the repository has too little to offer; None when it has enough of everything."""
        if self.files < requirements.files:
            return f"{self.files} usable files, at least {requirements.files} are needed"
        for what, count, least in (
            ("imports", self.imports, requirements.imports_per_file),
            ("local imports", self.local_imports, requirements.local_imports_per_file),
        ):
            average = count / self.files if self.files else 0.0
            if average < least:
                return f"{average:.1f} {what} per file, at least {least:g} are needed"
        return None


def count_imports(files: Sequence[SourceFile], paths: Iterable[str]) -> ImportCounts:
    """Imports of ``files``, local ones resolved against ``paths``, all files of the repository."""
    modules = importable_modules(paths)
    found = [statement for file in files for statement in imports(file.language, file.text)]
    return ImportCounts(len(files), len(found), sum(is_local(statement, modules) for statement in found))


def importable_modules(paths: Iterable[str]) -> frozenset[str]:
    """Dotted names under which some search path finds a repository's modules and packages.

    Where a repository's code starts is written nowhere: it may be the root, ``src/``, or a folder of scripts that
    import each other. So every folder is taken as a place to search from, unless it is a package itself, because
    ``torch.py`` inside a package is never what ``import torch`` finds.
    """
    sources = [PurePosixPath(path) for path in paths]
    packages = {source.parent for source in sources if source.stem == "__init__"}
    modules = set()
    for source in sources:
        parts = source.parts[:-1] if source.stem == "__init__" else (*source.parts[:-1], source.stem)
        for start in range(len(parts)):
            if PurePosixPath(*parts[:start]) not in packages:
                # A folder without __init__ is a package too, once something in it can be imported.
                modules |= {".".join(parts[start:end]) for end in range(start + 1, len(parts) + 1)}
    return frozenset(modules)


def is_local(statement: Import, modules: frozenset[str]) -> bool:
    """Whether a statement imports a module of its own repository; a standard library module never is one."""
    return any(
        module.startswith(".") or (module in modules and module.partition(".")[0] not in sys.stdlib_module_names)
        for module in statement.modules
    )


def _is_generated_note(line: str) -> bool:
    is_comment = line.lstrip().startswith(tuple(language.comment for language in LANGUAGES.values()))
    return is_comment and _GENERATED_NOTE.search(line) is not None
