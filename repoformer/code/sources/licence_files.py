"""Where a repository says its licence: licence files, and what the manifests of its packages declare."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from pathlib import PurePosixPath
from typing import Any

from repoformer.code.licences import LicenceEvidence

MAX_LICENCE_BYTES = 1_000_000
_NAMES = ("licen[cs]e*", "copying*", "unlicen[cs]e*")
_NO_TEXT = {".py", ".js", ".ts", ".json", ".html"}


def tells_licence(path: str) -> bool:
    """Whether a file of a repository says something about its licence: in its root, or beside a wheel's metadata."""
    file = PurePosixPath(path)
    if len(file.parts) < 2:
        return is_licence_file(file) or path in _MANIFESTS
    if len(file.parts) <= 3 and file.parts[0].endswith(".dist-info"):
        return is_licence_file(file) or file.name == "METADATA"
    return False


def is_licence_file(path: PurePosixPath) -> bool:
    """Whether a file's name says that it holds a licence's text."""
    name = PurePosixPath(path.name.lower())
    return name.suffix not in _NO_TEXT and any(name.match(pattern) for pattern in _NAMES)


def evidence_in(files: Mapping[str, bytes]) -> LicenceEvidence:
    """What the files of a repository for which `tells_licence` holds say, by path; a manifest that is broken is silent.

    Of several manifests the first that says anything counts: one that a tool wrote, then those that people write.
    """
    manifests = {PurePosixPath(path).name: data for path, data in files.items()}
    declared, classifiers = "", tuple[str, ...]()
    for name, read in _MANIFESTS.items():
        if name in manifests and not (declared or classifiers):
            declared, classifiers = read(manifests[name])
    texts = [data.decode("utf-8", "replace") for path, data in sorted(files.items()) if _holds_text(path)]
    return LicenceEvidence(declared, classifiers, tuple(texts))


def metadata_evidence(fields: Message | Any) -> tuple[str, tuple[str, ...]]:
    """What the core metadata of a Python distribution declare, and the licences among their classifiers."""
    declared = fields["License-Expression"] if "License-Expression" in fields else fields["License"]
    return str(declared or ""), _licence_classifiers(fields.get_all("Classifier") or ())


def _holds_text(path: str) -> bool:
    return is_licence_file(PurePosixPath(path))


def _metadata(data: bytes) -> tuple[str, tuple[str, ...]]:
    return metadata_evidence(BytesParser(policy=compat32).parsebytes(data, headersonly=True))


def _pyproject(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        values = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return "", ()
    tool = values.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for table in (values.get("project"), poetry):
        if isinstance(table, dict) and ("license" in table or "classifiers" in table):
            classifiers = table.get("classifiers")
            named = [str(entry) for entry in classifiers] if isinstance(classifiers, list) else []
            return _named(table.get("license"), "text"), _licence_classifiers(named)
    return "", ()


def _package_json(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        values = json.loads(data.decode())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return "", ()
    return (_named(values.get("license"), "type") if isinstance(values, dict) else ""), ()


def _named(value: object, key: str) -> str:
    """A licence that is given as text, or as a table with the text under ``key``."""
    text = value.get(key, "") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _licence_classifiers(classifiers: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry for entry in classifiers if entry.startswith("License ::") and entry.count("::") > 1)


_MANIFESTS: dict[str, Callable[[bytes], tuple[str, tuple[str, ...]]]] = {
    "METADATA": _metadata,
    "PKG-INFO": _metadata,
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
}
