"""What a distribution needs to run is a corpus that does not depend on what else is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from repoformer.code.sources.installed import installed_candidates
from repoformer.errors import UserError


def install(site: Path, name: str, *requires: str) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in requires)]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")


def needed(site: Path, name: str) -> list[str]:
    return [candidate.id for candidate in installed_candidates(site_packages=[str(site)], needed_by=name)]


def test_requirements_of_requirements_are_needed_and_bystanders_are_not(tmp_path: Path) -> None:
    install(tmp_path, "app", "direct>=1")
    install(tmp_path, "direct", "indirect")
    install(tmp_path, "indirect", "direct")  # a circle ends
    install(tmp_path, "bystander")
    assert needed(tmp_path, "app") == ["direct", "indirect"]


def test_an_extra_counts_only_where_it_is_asked_for(tmp_path: Path) -> None:
    install(tmp_path, "app", "library[fast]", 'checker; extra == "dev"')
    install(tmp_path, "library", 'engine; extra == "fast"', 'oven; extra == "slow"')
    for name in ("checker", "engine", "oven"):
        install(tmp_path, name)
    assert needed(tmp_path, "app") == ["engine", "library"]


def test_a_requirement_for_another_platform_is_not_needed(tmp_path: Path) -> None:
    install(tmp_path, "app", 'other; sys_platform == "nowhere"')
    install(tmp_path, "other")
    assert needed(tmp_path, "app") == []


def test_an_unknown_distribution_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'app' is not installed"):
        needed(tmp_path, "app")
