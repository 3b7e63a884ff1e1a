"""Things by name: a module adds them where they are defined, and is imported only when a name is first looked up."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from typing import Generic, TypeVar

from repoformer.errors import UserError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one kind, registered by the modules of one package.

        @BENCHMARKS.register("my-benchmark")
        def my_benchmark() -> Benchmark: ...

    A new module in the package is found by itself; there is no list to keep.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._things: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that gives a thing its name; a name that is taken is a mistake of ours, hence no UserError."""

        def add(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"two {self.kind}s are called {name}: {self._things[name]!r} and {thing!r}")
            self._things[name] = thing
            return thing

        return add

    def get(self, name: str) -> T:
        """The thing of this name; an unknown name raises a :class:`UserError` that suggests the closest ones."""
        self._load()
        if name not in self._things:
            close = difflib.get_close_matches(name, self._things, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(self.names())}"
            raise UserError(f"no {self.kind} is called {name!r} ({hint})")
        return self._things[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._things)

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        self._loaded = True
