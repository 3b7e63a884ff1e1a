"""The sources a recipe can name. Each section lists its candidates; a new source is one more section here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from repoformer.code.licences import spdx
from repoformer.code.sources.archives import GUARD, Guard, archive_candidates
from repoformer.code.sources.candidate import Candidate
from repoformer.code.sources.file_rows import row_candidates
from repoformer.code.sources.folders import folder_candidates
from repoformer.code.sources.git import git_candidates
from repoformer.code.sources.installed import installed_candidates
from repoformer.code.sources.manifest import Manifest, Use, manifest_candidates
from repoformer.code.sources.repository_lines import line_candidates
from repoformer.code.sources.sdists import sdist_candidates
from repoformer.config import Section, load_recipe


class LicensedSource(Section):
    """A source whose use somebody may answer for."""

    licence: str = ""
    """Your word, as an SPDX expression (``LicenseRef-...`` for your own code), that this source may be used. It is
    then neither looked for in the files nor compared with ``licences``."""

    @field_validator("licence")
    @classmethod
    def _is_spdx(cls, licence: str) -> str:
        return known_licence(licence) if licence else ""


class FolderSource(LicensedSource):
    """Repositories that lie in a folder."""

    kind: Literal["folder"]
    path: str
    each: bool = True
    """Every folder in ``path`` is a repository; ``false`` makes ``path`` itself the only one."""

    def candidates(self) -> Sequence[Candidate]:
        """The folders."""
        return folder_candidates(_place(self.path), each=self.each, granted=self.licence)


class InstalledSource(Section):
    """Python distributions that are installed in an environment, by default the one that runs this."""

    kind: Literal["installed"]
    include: list[str] = []
    """Names of distributions; empty takes all."""
    exclude: list[str] = []
    needed_by: str | None = None
    """Only what this distribution needs to run, directly or not, so that the result is the same whatever else is
    installed; null takes all."""
    site_packages: list[str] = []
    """Folders to look into instead of this environment's."""

    def candidates(self) -> Sequence[Candidate]:
        """The distributions."""
        return installed_candidates(self.include, self.exclude, self.site_packages, self.needed_by)


class GuardedSource(LicensedSource):
    """A source of archives."""

    max_entries: int = Field(default=GUARD.max_entries, ge=1)
    """An archive with more entries is refused."""
    max_unpacked_bytes: int = Field(default=GUARD.max_bytes, ge=1)
    """So is one that unpacks to more."""

    @property
    def guard(self) -> Guard:
        """Both limits."""
        return Guard(self.max_entries, self.max_unpacked_bytes)


class ArchiveSource(GuardedSource):
    """Repositories in archives, one in each: ``.zip .whl .tar.gz .tgz .tar.zst``."""

    kind: Literal["archives"]
    path: str
    """An archive, or a folder of them."""

    def candidates(self) -> Sequence[Candidate]:
        """The archives."""
        return archive_candidates(_place(self.path), granted=self.licence, guard=self.guard)


class GitSource(LicensedSource):
    """Git repositories, bare or not, read at a revision without a checkout."""

    kind: Literal["git"]
    path: str
    each: bool = True
    """Every git repository in ``path``; ``false`` takes ``path`` itself as the only one."""
    revision: str = "HEAD"
    """A branch, a tag or a commit, the same for all."""

    def candidates(self) -> Sequence[Candidate]:
        """The repositories."""
        return git_candidates(_place(self.path), each=self.each, revision=self.revision, granted=self.licence)


class SdistSource(GuardedSource):
    """Source distributions of Python packages by name."""

    kind: Literal["sdists"]
    folder: str
    """Where they lie, and where fetched ones go."""
    names: list[str] = []
    """With a version where it matters (``name==1.2``); empty takes everything in the folder."""
    download: bool = False
    """Have pip fetch what is missing. For that pip runs the build scripts of the packages."""

    def candidates(self) -> Sequence[Candidate]:
        """The distributions."""
        return sdist_candidates(
            _place(self.folder), self.names, download=self.download, granted=self.licence, guard=self.guard
        )


class ManifestSource(Section):
    """Wheels that a manifest names by version and hash, such as the pocket model's: the same code for everybody."""

    kind: Literal["manifest"]
    path: str
    """The manifest."""
    uses: Annotated[list[Use], Field(min_length=1)]
    """Which of its packages."""
    folder: str
    """Where the wheels lie, and where fetched ones go."""
    download: bool = False
    """Have pip fetch what is missing."""

    def candidates(self) -> Sequence[Candidate]:
        """The packages."""
        manifest = load_recipe(Manifest, _place(self.path))
        return manifest_candidates(manifest.used_for(*self.uses), _place(self.folder), download=self.download)


class RowColumns(Section):
    """Which columns of a data set hold what."""

    repository: str
    path: str
    text: str
    licences: str = ""
    """SPDX identifiers, in a list or alone; all that a repository's rows name must be allowed."""
    revision: str = ""


class DatasetSource(LicensedSource):
    """A data set whose rows are files, through `datasets`: The Stack, or one of your own."""

    kind: Literal["dataset"]
    name: str
    """A folder, a ``.parquet`` or ``.jsonl`` file, or a name on the hub."""
    data_dir: str = ""
    """A folder within it, such as ``data/python``."""
    split: str = "train"
    columns: RowColumns | None = None
    """Not needed for The Stack v1, v2 (with its contents fetched) and smol."""
    download: bool = False
    """Fetch it from the hub."""

    def candidates(self) -> Sequence[Candidate]:
        """The repositories that the rows belong to."""
        return row_candidates(
            self.name,
            split=self.split,
            data_dir=self.data_dir,
            columns=self.columns.model_dump() if self.columns else None,
            download=self.download,
            granted=self.licence,
        )


class LinesSource(LicensedSource):
    """JSON Lines with a repository on each line, as in the original Repoformer release."""

    kind: Literal["jsonl"]
    path: str
    """A file, or a folder of ``.jsonl`` files."""

    def candidates(self) -> Sequence[Candidate]:
        """The lines."""
        return line_candidates(_place(self.path), granted=self.licence)


Source = Annotated[
    FolderSource
    | InstalledSource
    | ArchiveSource
    | GitSource
    | SdistSource
    | ManifestSource
    | DatasetSource
    | LinesSource,
    Field(discriminator="kind"),
]


def known_licence(licence: str) -> str:
    """The SPDX expression in canonical form; what is none is refused."""
    canonical = spdx(licence)
    if canonical is None:
        raise ValueError(f"{licence!r} is no SPDX identifier (spdx.org/licenses lists them, for example BSD-3-Clause)")
    return canonical


def _place(path: str) -> Path:
    return Path(path).expanduser()
