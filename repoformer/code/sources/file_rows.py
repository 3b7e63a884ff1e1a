"""Data sets whose rows are files, such as The Stack, grouped into repositories.

Rows of a repository may stand anywhere. Only their names are held in memory; paths and texts are read from the data
set's memory-mapped tables when the repository is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repoformer.code.licences import LicenceEvidence
from repoformer.code.reading import Limits, Reading, SetAside
from repoformer.code.sources.candidate import read_loaded, source_files
from repoformer.errors import UserError

Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what. Licences are SPDX identifiers, in a list or alone; all of a repository's must hold."""

    repository: str
    path: str
    text: str
    licences: str
    revision: str = ""

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that must be there; without licences every repository is refused, unless they are granted."""
        return self.repository, self.path, self.text


KNOWN = {
    "The Stack v1": Columns(
        "max_stars_repo_name",
        "max_stars_repo_path",
        "content",
        "max_stars_repo_licenses",
        "max_stars_repo_head_hexsha",
    ),
    "The Stack v2": Columns("repo_name", "path", "content", "detected_licenses", "revision_id"),
    "the-stack-smol": Columns("repository_name", "path", "content", "licenses"),
}


@dataclass(frozen=True, slots=True)
class RowsCandidate:
    """The rows of one repository."""

    id: str
    dataset: Any
    columns: Columns
    rows: Positions
    granted: str = ""

    @property
    def revision(self) -> str:
        """The commit that the first row names."""
        if self.columns.revision not in self.dataset.column_names:
            return ""
        return str(self._column(self.columns.revision, self.rows[:1])[0] or "")

    def stamp(self) -> object:
        """The data set's own fingerprint and what is read of it."""
        return self.dataset._fingerprint, self.columns

    def evidence(self) -> LicenceEvidence:
        """The licences that were detected in the repository's files."""
        if self.columns.licences not in self.dataset.column_names:
            return LicenceEvidence()
        detected: dict[str, None] = {}
        for value in self._column(self.columns.licences, self.rows):
            detected |= dict.fromkeys([value] if isinstance(value, str) else value or ())
        return LicenceEvidence(detected=tuple(detected))

    def read(self, limits: Limits) -> Reading:
        """The rows that are source files; of several with one path the first."""
        row_of: dict[str, int] = {}
        for path, row in zip(self._column(self.columns.path, self.rows), self.rows, strict=True):
            row_of.setdefault(str(path), int(row))
        paths = source_files(row_of, limits)
        texts = self._column(self.columns.text, np.array([row_of[path] for path in paths], dtype=np.intp))
        reading = read_loaded({path: text_bytes(text, limits) for path, text in zip(paths, texts, strict=True)})
        again = Counter({"path stands twice": len(self.rows) - len(row_of)})
        return replace(reading, dropped=reading.dropped + again)

    def _column(self, name: str, rows: Positions) -> Sequence[Any]:
        values: Sequence[Any] = self.dataset.select_columns([name])[rows.tolist()][name] if len(rows) else ()
        return values


def text_bytes(text: object, limits: Limits) -> bytes | SetAside:
    """A text as the bytes of a file, or why it is none."""
    if not isinstance(text, str):
        return SetAside("no text")
    try:
        data = text.encode()
        limits.check_size(len(data))
    except UnicodeEncodeError:
        return SetAside("not UTF-8")
    except SetAside as reason:
        return reason
    return data


def row_candidates(
    name: str,
    *,
    split: str = "train",
    data_dir: str = "",
    columns: Mapping[str, str] | None = None,
    download: bool = False,
    granted: str = "",
) -> list[RowsCandidate]:
    """The repositories of a data set: a folder or a file on disk, or with ``download`` a name on the hub."""
    dataset = _load(name, split, data_dir, download)
    chosen = _columns(name, dataset.column_names, columns)
    return [
        RowsCandidate(repository, dataset, chosen, rows, granted)
        for repository, rows in _grouped(dataset, chosen.repository).items()
    ]


def _load(name: str, split: str, data_dir: str, download: bool) -> Any:
    import datasets

    place = Path(name).expanduser()
    try:
        if (place / "state.json").is_file():
            return datasets.load_from_disk(str(place))
        if (place / "dataset_dict.json").is_file():
            return datasets.load_from_disk(str(place))[split]
        if place.exists():
            kind, files = _data_files(place / data_dir)
            return datasets.load_dataset(kind, data_files=files, split="train")
        if not download:
            raise UserError(f"{name}: no such folder or file; a name on the hub needs download: true")
        return datasets.load_dataset(name, data_dir=data_dir or None, split=split)
    except (OSError, KeyError, ValueError, datasets.exceptions.DatasetsError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{name}: not readable as a data set ({' '.join(str(error).split())[:200]})") from None


def _data_files(place: Path) -> tuple[str, list[str]]:
    """The files of a folder that hold rows, and the name of their format."""
    for kind, patterns in {"parquet": ("*.parquet",), "json": ("*.jsonl", "*.json", "*.jsonl.gz")}.items():
        files = [place] if place.is_file() else [file for pattern in patterns for file in place.rglob(pattern)]
        files = [file for file in files if any(file.match(pattern) for pattern in patterns)]
        if files:
            return kind, sorted(map(str, files))
    raise UserError(f"{place}: no .parquet or .jsonl file in it")


def _columns(name: str, present: Sequence[str], given: Mapping[str, str] | None) -> Columns:
    if given:
        chosen = Columns(**{"repository": "", "path": "", "text": "", "licences": ""} | dict(given))
        candidates = [chosen]
    else:
        candidates = [columns for columns in KNOWN.values() if columns.repository in present]
    for columns in candidates:
        missing = [column for column in columns.needed if column not in present]
        if not missing:
            return columns
    if not candidates:
        raise UserError(
            f"{name}: columns {', '.join(present)} are those of none of {', '.join(KNOWN)}; name them in columns"
        )
    hint = "; some releases hold ids only: fetch the contents as their card says" if "content" in missing else ""
    raise UserError(f"{name}: no column {missing[0]!r} among {', '.join(present)}{hint}")


def _grouped(dataset: Any, column: str) -> dict[str, Positions]:
    """The rows of each repository, in order of the repositories' names."""
    names = dataset.select_columns([column]).with_format("arrow")[:][column].combine_chunks().dictionary_encode()
    codes = names.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names.dictionary) + 1))
    found = {str(name): code for code, name in enumerate(names.dictionary.to_pylist())}
    return {name: order[starts[code] : starts[code + 1]] for name, code in sorted(found.items())}
