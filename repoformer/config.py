"""Recipes: YAML files loaded into typed, frozen configuration, with every mistake reported at once.

Precedence: a field's default < the recipe < ``section.key=value`` on the command line. An override's value is parsed as
YAML and then coerced by the field's type, so ``train.learning_rate=2e-5`` is a number. A recipe may begin with
``extends: other.yaml``, the path of another one from its own folder, and then says only what differs.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from repoformer.code.storage import read_json, write_json
from repoformer.errors import UserError

Recipe = TypeVar("Recipe", bound="Section")

_EXTENDS = "extends"


class Section(BaseModel):
    """A part of a recipe: frozen, and strict about keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def load_recipe(schema: type[Recipe], path: Path, overrides: Sequence[str] = (), prefix: str = "") -> Recipe:
    """The recipe at ``path`` with ``overrides`` applied; one :class:`UserError` names all that is wrong with it.

    ``prefix`` stood before the keys of the overrides where they were typed, as ``data.`` in those of a quickstart.
    """
    values = _read(path)
    for override in overrides:
        _apply(values, override, prefix)
    keys = [override.partition("=")[0].strip() for override in overrides]
    return parse_recipe(schema, values, str(path), {key: prefix + key for key in keys})


def parse_recipe(
    schema: type[Recipe], values: dict[str, Any], where: str, typed: Mapping[str, str] | None = None
) -> Recipe:
    """Validated configuration from plain values; ``where`` names their origin in errors.

    ``typed``: how somebody who set a key called it.
    """
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        problems = [_explain(schema, values, problem, typed or {}) for problem in error.errors()]
        raise UserError("\n".join(f"{where}: {problem}" for problem in problems)) from None


def config_hash(*parts: Any) -> str:
    """A short hash of configuration values, the same in every process: what a finished shard was made with."""
    plain = [part.model_dump(mode="json") if isinstance(part, BaseModel) else part for part in parts]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:16]


def write_run_record(directory: Path, config: Section) -> None:
    """``run.json``: the resolved configuration and what it ran with, written before any work starts.

    What earlier runs in the folder wrote is kept under ``earlier``, the first one first.
    """
    path = directory / "run.json"
    before = read_json(path) if path.exists() else {}
    earlier = [*before.pop("earlier", []), before] if before else []
    packages = ("repoformer", "torch", "transformers", "accelerate", "datasets", "peft", "tokenizers", "deepspeed")
    write_json(
        path,
        {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "config": config.model_dump(mode="json"),
            "argv": sys.argv,
            "git": _git_state(),
            "python": platform.python_version(),
            "packages": {name: _version(name) for name in packages},
            "cpus": os.cpu_count(),
            **({"earlier": earlier} if earlier else {}),
        },
    )


def _read(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The values of a recipe, over those of the recipe that it extends; ``above`` are those that led to it."""
    chain = (*above, path.resolve())
    if chain[-1] in above:
        raise UserError(f"{path}: extends itself ({' -> '.join(one.name for one in chain)}); break the circle")
    values = _read_alone(path, f" that {above[-1]} extends" if above else "")
    base = values.pop(_EXTENDS, None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise UserError(f"{path}: {_EXTENDS}: the path of one recipe, from the folder of this one (got {base!r})")
    return _laid_over(_read(path.parent / base, chain), values)


def _read_alone(path: Path, whose: str) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: cannot read this recipe{whose} ({error}); see recipes/ for the ones that come along"
        ) from None
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: a recipe is a mapping of keys to values, this is {type(values).__name__}")
    return values


def _laid_over(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Sections are merged key by key; every other value, a list too, replaces the base's."""
    merged = dict(base)
    for key, value in values.items():
        sections = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _laid_over(base[key], value) if sections else value
    return merged


def _apply(values: dict[str, Any], override: str, prefix: str) -> None:
    key, equals, text = override.partition("=")
    override = prefix + override  # as it was typed
    if not equals or not key.strip():
        raise UserError(f"override {override!r}: write section.key=value")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"override {override!r}: the value is not YAML ({' '.join(str(error).split())})") from None
    *sections, last = key.strip().split(".")
    node: Any = values
    for section in sections:
        node = _child(node, section, override, create=True)
    if isinstance(node, list):
        node[_position(node, last, override)] = value
    else:
        node[last] = value


def _child(node: Any, name: str, override: str, *, create: bool) -> Any:
    if isinstance(node, list):
        return node[_position(node, name, override)]
    if node.get(name) is None and create:
        node[name] = {}
    if not isinstance(node[name], dict | list):
        raise UserError(f"override {override!r}: {name} is a value, not a section")
    return node[name]


def _position(node: list[Any], name: str, override: str) -> int:
    if not name.isdigit() or int(name) >= len(node):
        raise UserError(f"override {override!r}: {name!r} is no position of a list of {len(node)}")
    return int(name)


def _explain(schema: type[BaseModel], values: Any, problem: Any, typed: Mapping[str, str]) -> str:
    place = _as_typed(_dotted_key(values, problem["loc"]), typed) or "recipe"
    if problem["type"] == "extra_forbidden":
        known = _known_keys(schema, problem["loc"][:-1])
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}" if known else "delete it"
        return f"{place}: unknown key ({hint})"
    if problem["type"] == "missing":
        return f"{place}: this key is required"
    if problem["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return _explain_tag(place, problem["ctx"])
    message = problem["msg"].removeprefix("Value error, ")
    seen = repr(problem["input"])
    return f"{place}: {message} (got {seen if len(seen) <= 80 else seen[:77] + '...'})"


def _dotted_key(values: Any, path: tuple[Any, ...]) -> str:
    """The key at a path in which pydantic also names the ``kind`` of a section, as if it were one more section."""
    keys: list[str] = []
    told = False
    for part in path:
        if isinstance(values, dict) and part == values.get("kind") and not told:
            told = True
            continue
        keys.append(str(part))
        inside = part in values if isinstance(values, dict) else isinstance(values, list) and isinstance(part, int)
        values, told = values[part] if inside else None, False
    return ".".join(keys)


def _as_typed(place: str, typed: Mapping[str, str]) -> str:
    for key, name in typed.items():
        if place == key or place.startswith(f"{key}."):
            return name + place.removeprefix(key)
    return place


def _explain_tag(place: str, context: dict[str, Any]) -> str:
    """About the key of a section that says which of several kinds it is."""
    key = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{place}.{key}: this key is required"
    known = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
    close = difflib.get_close_matches(context["tag"], known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{place}.{key}: {context['tag']!r} is none of {', '.join(known)}{hint}"


def _known_keys(schema: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """The keys of the section at ``path``; also through lists and unions, whose variants are named in the path."""
    candidates: list[Any] = [schema]
    for part in path:
        following: list[Any] = []
        for candidate in candidates:
            fields = candidate.model_fields
            if part in fields:
                following += _models_in(fields[part].annotation)
        # A position in a list, or the tag of a union's variant, stays among the same candidates.
        candidates = following or candidates
    fields = [item for candidate in candidates for item in candidate.model_fields.items()]
    return sorted({field.alias or name for name, field in fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _git_state() -> dict[str, Any]:
    """Commit and dirty flag of the checkout that this package lies in, as in its `.venv`; empty where there is none."""
    root = next(filter(_is_checkout, Path(__file__).resolve().parents), None)
    if root is None:
        return {}
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10)
        status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return {}
    if commit.returncode:
        return {}
    return {"commit": commit.stdout.strip(), "dirty": bool(status.stdout.strip())}


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is a checkout of this project, and not of one that has it installed."""
    project = folder / "pyproject.toml"
    if not ((folder / ".git").exists() and project.is_file()):
        return False
    try:
        return bool(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"] == "repoformer")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
