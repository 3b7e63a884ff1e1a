"""Let a code model decide for itself when to look around the repository before it completes.

The public API; its parts are imported when they are first used:

    from repoformer import SelectiveCompleter
    completer = SelectiveCompleter.load("runs/quickstart/repoformer")
    completion = completer.complete_at("path/to/repository", "package/module.py:120")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repoformer.errors import UserError
    from repoformer.inference.completer import Completion, SelectiveCompleter
    from repoformer.inference.policies import Always, Greedy, Never, Threshold
    from repoformer.models.loading import load_model

__all__ = [
    "Always",
    "Completion",
    "Greedy",
    "Never",
    "SelectiveCompleter",
    "Threshold",
    "UserError",
    "load_model",
]

_HOMES = {
    "Always": "repoformer.inference.policies",
    "Completion": "repoformer.inference.completer",
    "Greedy": "repoformer.inference.policies",
    "Never": "repoformer.inference.policies",
    "SelectiveCompleter": "repoformer.inference.completer",
    "Threshold": "repoformer.inference.policies",
    "UserError": "repoformer.errors",
    "load_model": "repoformer.models.loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
