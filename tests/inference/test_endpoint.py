"""The client against a server that does what real ones do on bad days."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from repoformer.errors import UserError
from repoformer.inference.endpoint import CompletionsEndpoint, EndpointSettings, NoCompletion, Request

Answer = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says; remembers what it was asked."""

    answer: Answer
    asked: list[tuple[dict[str, Any], dict[str, str]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append((body, dict(self.headers)))
        type(self).answer(self, body)

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def complete(self, text: object) -> None:
        self.say(200, json.dumps({"choices": [{"text": text}]}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[type[Handler]]:
    handler = type("OneHandler", (Handler,), {"asked": []})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.url = f"http://127.0.0.1:{running.server_port}/v1"  # type: ignore[attr-defined]
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield handler
    running.shutdown()
    running.server_close()


def client(server: Any, **changes: Any) -> CompletionsEndpoint:
    values = {"url": server.url, "model": "m", "dialect": "starcoder", "pause": 0.0, "timeout": 5.0, "retries": 2}
    return CompletionsEndpoint(EndpointSettings(**{**values, **changes}))


REQUEST = Request("<fim_prefix>a<fim_suffix><fim_middle>", 7, ("\n",))


def test_a_request_says_what_to_generate_greedily(server: Any) -> None:
    server.answer = lambda handler, body: handler.complete("done")
    assert client(server).complete(REQUEST) == "done"
    ((body, _),) = server.asked
    assert body == {"model": "m", "prompt": REQUEST.prompt, "max_tokens": 7, "temperature": 0, "stop": ["\n"]}


def test_the_key_comes_from_the_environment_and_goes_to_no_other_place(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    server.answer = lambda handler, body: handler.say(307, b"", Location="http://127.0.0.1:1/elsewhere")
    with pytest.raises(UserError, match="HTTP 307"):
        client(server, key_variable="SOME_KEY").complete(REQUEST)
    assert [headers["Authorization"] for _, headers in server.asked] == ["Bearer secret"]


def test_a_key_that_is_not_set_is_named() -> None:
    settings = EndpointSettings(url="http://h/v1", model="m", dialect="starcoder", key_variable="NOT_SET_HERE")
    with pytest.raises(UserError, match="NOT_SET_HERE is not set"):
        CompletionsEndpoint(settings)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(server: Any, status: int) -> None:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        if len(server.asked) < 3:
            handler.say(status, b"busy", Retry_After="0")
        else:
            handler.complete("late")

    server.answer = answer
    assert client(server).complete(REQUEST) == "late"
    assert len(server.asked) == 3


def test_a_server_that_is_silent_is_given_up_on_after_all_tries(server: Any) -> None:
    server.answer = lambda handler, body: time.sleep(0.6)
    started = time.monotonic()
    with pytest.raises(NoCompletion, match=r"no answer within 0.2 s \(3 tries\)"):
        client(server, timeout=0.2).complete(REQUEST)
    assert time.monotonic() - started < 5


def test_a_server_that_trickles_is_given_up_on(server: Any) -> None:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(30):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    server.answer = answer
    with pytest.raises(NoCompletion, match="no answer within"):
        client(server, timeout=0.3, retries=0).complete(REQUEST)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"text": 3}]}', b"\xff\xfe", b"null"]
)
def test_nonsense_is_no_completion(server: Any, body: bytes) -> None:
    server.answer = lambda handler, _: handler.say(200, body)
    with pytest.raises(NoCompletion, match="no completion in the answer"):
        client(server, retries=1).complete(REQUEST)
    assert len(server.asked) == 2


def test_a_prompt_that_the_server_refuses_is_not_sent_again(server: Any) -> None:
    server.answer = lambda handler, body: handler.say(400, b"too\nlong")
    with pytest.raises(NoCompletion, match="HTTP 400: too long"):
        client(server).complete(REQUEST)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_the_user_can_put_right_is_told(server: Any, status: int) -> None:
    server.answer = lambda handler, body: handler.say(status, b"no such model")
    with pytest.raises(UserError, match=f"HTTP {status} for model 'm' .*check url, model and key_variable"):
        client(server).complete(REQUEST)


def test_nobody_there_is_no_connection() -> None:
    settings = EndpointSettings(url="http://127.0.0.1:9/v1", model="m", dialect="starcoder", retries=0)
    with pytest.raises(NoCompletion, match="no connection"):
        CompletionsEndpoint(settings).complete(REQUEST)


def test_answers_come_in_the_order_of_the_requests_and_failures_stand_among_them(server: Any) -> None:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        number = int(body["prompt"])
        time.sleep(0.05 * (5 - number))
        handler.say(400, b"odd") if number == 2 else handler.complete(f"answer {number}")

    server.answer = answer
    answers = client(server, parallel=5).complete_all([Request(str(number), 1) for number in range(5)])
    assert [str(one) for one in answers] == ["answer 0", "answer 1", "HTTP 400: odd", "answer 3", "answer 4"]
    assert isinstance(answers[2], NoCompletion)


@pytest.mark.parametrize(
    ("key", "value", "said"), [("url", "file:///etc", "http://"), ("dialect", "none", "unknown"), ("timeout", 0, "0")]
)
def test_settings_are_checked(key: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EndpointSettings(**{"url": "http://h/v1", "model": "m", "dialect": "starcoder", key: value})
