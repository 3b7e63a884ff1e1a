"""A model behind an endpoint: a server on this machine that completes with what it was told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Prediction
from repoformer.code.storage import read_json, read_jsonl
from repoformer.errors import UserError
from repoformer.eval import runner
from repoformer.eval.recipe import EvalRecipe

Make = Callable[..., EvalRecipe]


class Server(ThreadingHTTPServer):
    """Writes ``answer`` whatever it is asked, fails the first ``failures`` times, and remembers the prompts."""

    answer = "x = 1<|endoftext|>y = 2"
    failures = 0

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        failing = self.server.failures > 0
        self.server.failures -= failing
        self.server.asked += [] if failing else [asked]
        self.send_response(503 if failing else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"text": self.server.answer}]}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


@pytest.fixture
def recipe(
    recipe_with: Make, recipe_values: dict[str, Any], model_folders: dict[str, Path], server: Server
) -> EvalRecipe:
    """The deciding model as the gate of the served one."""
    endpoint = {"url": f"http://127.0.0.1:{server.server_address[1]}/v1", "model": "big", "dialect": "starcoder"}
    endpoint |= {"tokenizer": str(model_folders["base"]), "preset": "pocket", "pause": 0.01, "retries": 2}
    served = {"name": "served", "endpoint": endpoint, "gate": "deciding"}
    return recipe_with(models=[recipe_values["models"][1], served], control=None, limit=4, latency_blanks=1)


def test_a_served_model_is_gated_like_any_other(recipe: EvalRecipe, server: Server) -> None:
    server.failures = 2
    summary = runner.run(recipe)
    predictions = read_jsonl(Prediction, Path(recipe.out) / "predictions" / "served.jsonl")
    assert {one.text_with for one in predictions} == {"x = 1"}
    policies = {row["policy"] for row in summary["rows"] if row["model"] == "served"}
    assert {"threshold", "greedy", "random", "oracle", "trial-retrieval"} <= policies
    assert not policies & {"trial-entropy", "estimator"}
    model = next(one for one in summary["models"] if one["name"] == "served")
    assert (model["gate"], model["seconds"]["n"]) == ("deciding", 1)


def test_both_arms_are_asked_with_the_same_in_file_text(recipe: EvalRecipe, server: Server) -> None:
    runner.generate(recipe)
    prompts = {asked["prompt"] for asked in server.asked}
    with_context = {prompt for prompt in prompts if "Here are some relevant code fragments" in prompt}
    without = prompts - with_context
    assert len(without) == len(with_context) == 4
    assert all(prompt.startswith("<fim_prefix>") and prompt.endswith("<fim_middle>") for prompt in prompts)
    heads = {prompt.removesuffix("<fim_middle>") for prompt in without}
    assert all(any(prompt.startswith(head) for head in heads) for prompt in with_context)


def test_a_server_that_never_answers_is_named(recipe: EvalRecipe, server: Server) -> None:
    server.failures = 1000
    with pytest.raises(UserError, match=r"http://127.0.0.1:\d+/v1 did not complete it: HTTP 503"):
        runner.run(recipe)
    server.failures = 0
    assert read_json(Path(recipe.out) / "run.json")
    runner.run(recipe)


def test_a_blank_that_spells_control_tokens_is_set_aside_for_every_model(
    recipe: EvalRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repoformer.eval import endpoint

    honest, refused = endpoint.TextPrompts.prompt, []

    def once(self: Any, blank: Any, chunks: Any) -> str:
        refused[:] = refused or [blank.id]
        if blank.id == refused[0]:
            raise endpoint.ControlText("its prompt holds '<fim_middle>' as text")
        return honest(self, blank, chunks)

    monkeypatch.setattr(endpoint.TextPrompts, "prompt", once)
    summary = runner.run(recipe)
    assert {row["n"] for row in summary["rows"] if row["scope"] == "all"} == {3}
    assert "Set aside: 1 (served: its prompt holds '<fim_middle>' as text)." in summary["remarks"]
