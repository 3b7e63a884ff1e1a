"""Pushing to the hub: on request only, the model and nothing else, and never over the network here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from repoformer.errors import UserError
from repoformer.training import hub
from repoformer.training.cli import main


class FakeHub:
    """Stands for ``HfApi``: remembers what it was asked."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.uploaded: dict[str, int] = {}
        self.fails = False

    def __call__(self) -> FakeHub:
        return self

    def create_repo(self, name: str, **values: Any) -> Any:
        self.made.append({"name": name, **values})

        class Url(str):
            repo_id = name

        return Url(f"https://hub/{name}")

    def create_commit(self, name: str, operations: list[Any], **_: Any) -> None:
        if self.fails:
            raise ConnectionError("no route\nto the hub")
        self.uploaded |= {one.path_in_repo: Path(one.path_or_fileobj).stat().st_size for one in operations}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    api = FakeHub()
    monkeypatch.setattr(hub, "HfApi", api)
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "get_token", lambda: "a token")
    return api


@pytest.fixture
def recipe(make_recipe: Any, tmp_path: Path) -> str:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(make_recipe(epochs=1).model_dump(mode="json")))
    return str(path)


def test_nothing_is_pushed_unless_asked_for(recipe: str, fake: FakeHub) -> None:
    assert main([recipe]) == 0
    assert (fake.made, fake.uploaded) == ([], {})


def test_the_model_is_pushed_into_a_private_repository_and_nothing_of_the_run(
    recipe: str, fake: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([recipe, "--push-to-hub", "me/model"]) == 0
    assert fake.made == [{"name": "me/model", "private": True, "exist_ok": True}]
    needed = {"config.json", "model.safetensors", "tokenizer.json", "repoformer.json", "README.md"}
    assert needed <= fake.uploaded.keys()
    theirs = ("checkpoints", "metrics.jsonl", "run.json", "training.json", "validation", "wandb", "stop")
    assert not [name for name in fake.uploaded if name.startswith(theirs)]
    assert fake.uploaded["model.safetensors"] == (tmp_path / "out" / "model.safetensors").stat().st_size
    assert "pushed to https://hub/me/model" in capsys.readouterr().err


def test_every_file_of_the_export_is_pushed(recipe: str, tmp_path: Path) -> None:
    """Whatever the run leaves at the top of its folder is either its own or the model's."""
    main([recipe])
    pushed = {path.name for path in hub.exported_files(tmp_path / "out")}
    own = {".lock", "metrics.jsonl", "run.json", "training.json"}
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_file()} - own == pushed


def test_a_push_that_fails_is_one_line_and_can_be_made_up_for(
    recipe: str, fake: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.fails = True
    assert main([recipe, "--push-to-hub", "me/model"]) == 2
    assert "--push-to-hub me/model: no route to the hub; the model is whole" in capsys.readouterr().err
    fake.fails = False
    assert main([recipe, "--push-to-hub", "me/model"]) == 0
    assert "already finished" in capsys.readouterr().err
    assert fake.uploaded


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("a/b/c", {}, "write OWNER/NAME"),
        ("me/model", {"HF_HUB_OFFLINE": True}, "HF_HUB_OFFLINE is set"),
        ("me/model", {"get_token": lambda: None}, "not logged in"),
    ],
)
def test_what_cannot_be_pushed_is_refused_before_training(
    name: str, changes: dict[str, Any], message: str, fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for attribute, value in changes.items():
        monkeypatch.setattr(hub, attribute, value)
    with pytest.raises(UserError, match=message):
        hub.check_can_push(name)
