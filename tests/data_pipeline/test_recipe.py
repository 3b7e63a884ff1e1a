"""A data recipe that cannot work is refused before any work, by the field to change."""

from __future__ import annotations

from typing import Any

import pytest

from repoformer.config import parse_recipe
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.errors import UserError


def parse(**changes: Any) -> DataRecipe:
    values: dict[str, Any] = {"out": "o", "sources": [{"kind": "installed"}], "licences": ["MIT"]}
    return parse_recipe(DataRecipe, values | changes, "recipe")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sources": []}, "sources"),
        ({"sources": [{"kind": "github"}]}, "sources.0"),
        ({"sources": [{"kind": "folder", "path": "d", "licence": "mine"}]}, "sources.0.licence"),
        ({"licences": []}, "licences"),
        ({"licences": ["MIT", "Some Licence"]}, "licences"),
        ({"filter": {"files": 5, "max_files": 3}}, "filter.max_files"),
        ({"filter": {"repositories": 2}}, "filter.repositories"),
        ({"split": {"validation": 0.5, "test": 0.5}}, "split.test"),
        ({"split": {"validation": 0.9}}, "split.test"),
        ({"sample": {"chunks_per_repository": 0, "functions_per_repository": 0}}, "sample.functions_per_repository"),
        ({"sample": {"function_lines": [30, 3]}}, "sample.function_lines"),
        ({"retrieve": {"window": 10, "stride": 20}}, "retrieve.stride"),
        ({"retrieve": {"function_window": 10}}, "retrieve.function_stride"),
        ({"retrieve": {"query_holds_target": 1.5}}, "retrieve.query_holds_target"),
        ({"shards": 0}, "shards"),
        ({"preset": "huge"}, "preset"),
    ],
)
def test_what_cannot_work_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(UserError, match=rf"^recipe: {field}") as caught:
        parse(**changes)
    assert "\n" not in str(caught.value)


def test_licences_are_read_as_spdx_writes_them() -> None:
    assert parse(licences=["mit", "apache-2.0"]).licences == ["MIT", "Apache-2.0"]
