"""Where repositories come from. Each source is a module: a `Candidate` and a function that lists what there is.

A new source is one such module and its section in a data recipe.
"""

from repoformer.code.sources.archives import ArchiveCandidate, archive_candidates
from repoformer.code.sources.candidate import Candidate, Refused
from repoformer.code.sources.folders import FolderCandidate, folder_candidates
from repoformer.code.sources.git import GitCandidate, git_candidates
from repoformer.code.sources.installed import InstalledCandidate, installed_candidates
from repoformer.code.sources.manifest import manifest_candidates
from repoformer.code.sources.repository_lines import LineCandidate, line_candidates
from repoformer.code.sources.sdists import sdist_candidates

__all__ = [
    "ArchiveCandidate",
    "Candidate",
    "FolderCandidate",
    "GitCandidate",
    "InstalledCandidate",
    "LineCandidate",
    "Refused",
    "archive_candidates",
    "folder_candidates",
    "git_candidates",
    "installed_candidates",
    "line_candidates",
    "manifest_candidates",
    "sdist_candidates",
]
