"""Which imports lead to the repository's own files.

Where a repository's code starts is written nowhere, so every language has its own way of telling: Python and Java by
the paths of files, JavaScript and TypeScript by relative specifiers, C# by the namespaces that files declare.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from repoformer.code.languages import family_of, language_of
from repoformer.code.records import SourceFile
from repoformer.code.syntax import Import

_NAMESPACE = re.compile(r"^\s*namespace\s+([\w.]+)", re.MULTILINE)


class LocalModules:
    """What the files of one repository may import of each other."""

    def __init__(self, files: Sequence[SourceFile], paths: Iterable[str]) -> None:
        self._files = files
        self._paths = list(paths)

    def imported_by(self, language: str, statement: Import) -> bool:
        """Whether a statement imports a module of its own repository. A language without a rule here says no."""
        match family_of(language):
            case "python":
                return any(map(self._is_python_module, statement.modules))
            case "java":
                return any(map(self._is_java_package_or_class, statement.modules))
            case "csharp":
                return not self._namespaces.isdisjoint(statement.modules)
            case "javascript":
                return any(module.startswith((".", "/")) for module in statement.modules)
        return False

    def _is_python_module(self, module: str) -> bool:
        if module.startswith("."):
            return True
        # What the standard library has is never found in the repository.
        return module in self._python_modules and module.partition(".")[0] not in sys.stdlib_module_names

    def _is_java_package_or_class(self, module: str) -> bool:
        # A static import names a member of the class, one of a nested class the outer one too.
        outer = module.rpartition(".")[0]
        return not self._java_names.isdisjoint((module, outer, outer.rpartition(".")[0]))

    @cached_property
    def _python_modules(self) -> frozenset[str]:
        return importable_modules(self._of("python"))

    @cached_property
    def _java_names(self) -> frozenset[str]:
        """Classes and packages, counted from every folder, with two parts at least: ``org`` alone says nothing."""
        names = set()
        for path in self._of("java"):
            parts = PurePosixPath(path).with_suffix("").parts
            for start in range(len(parts) - 1):
                names |= {".".join(parts[start:end]) for end in (len(parts) - 1, len(parts)) if end - start > 1}
        return frozenset(names)

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(
            name for file in self._files if file.language == "csharp" for name in _NAMESPACE.findall(file.text)
        )

    def _of(self, language: str) -> list[str]:
        found = ((path, language_of(path)) for path in self._paths)
        return [path for path, known in found if known is not None and known.name == language]


def importable_modules(paths: Iterable[str]) -> frozenset[str]:
    """Dotted names under which some search path finds a Python repository's modules and packages.

    Its code may start in the root, in ``src/``, or in a folder of scripts that import each other. So every folder is
    taken as a place to search from, unless it is a package itself, because ``torch.py`` inside a package is never what
    ``import torch`` finds.
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
