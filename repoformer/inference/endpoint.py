"""A client for completions endpoints that speak OpenAI's protocol, as vLLM and ``transformers serve`` do.

Greedy decoding, one prompt a request, several requests at a time. What goes wrong on the way is tried again; what stays
wrong is told in one line, for this prompt (:class:`NoCompletion`) or for all of them (``UserError``).
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import Message
from typing import Any

from pydantic import Field, field_validator

from repoformer.config import Section
from repoformer.errors import UserError
from repoformer.prompt.dialects import dialect_named

_MOST_BYTES = 4_000_000
"""Of an answer: a completion is a thousandth of it."""
_LONGEST_PAUSE = 30.0


class EndpointSettings(Section):
    """A served model."""

    url: str
    """Up to and with the version, for example ``http://127.0.0.1:8000/v1``."""
    model: str
    """As the server calls it."""
    dialect: str
    """How its family spells fill-in-the-middle (``repoformer/prompt/dialects.py``)."""
    key_variable: str = ""
    """The environment variable that holds the key; the key itself belongs into no recipe."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds for one answer, from the first byte sent to the last received."""
    retries: int = Field(default=3, ge=0)
    """So many more times is a request sent that was not answered, or not with sense."""
    pause: float = Field(default=1.0, ge=0)
    """Seconds before the first retry; they double with each."""
    parallel: int = Field(default=8, ge=1)
    """Requests at a time."""

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return url.rstrip("/")

    @field_validator("dialect")
    @classmethod
    def _is_known(cls, dialect: str) -> str:
        dialect_named(dialect)
        return dialect


class NoCompletion(Exception):
    """This prompt got no usable answer, after all retries."""


class _Again(Exception):
    """Worth another try."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt, the most tokens to generate, and texts that end the completion."""

    prompt: str
    max_tokens: int
    stop: tuple[str, ...] = ()


class CompletionsEndpoint:
    """``POST URL/completions``."""

    def __init__(self, settings: EndpointSettings) -> None:
        self.settings = settings
        self._headers = {"Content-Type": "application/json", **_authorization(settings)}
        # A redirect would carry the key and the code to another place.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def complete_all(self, requests: Iterable[Request]) -> list[str | NoCompletion]:
        """The completions of all requests, or why there is none, in order."""
        with ThreadPoolExecutor(self.settings.parallel) as pool:
            return list(pool.map(self._completed, requests))

    def complete(self, request: Request) -> str:
        """The completion of one request."""
        pause = self.settings.pause
        for left in reversed(range(self.settings.retries + 1)):
            try:
                return _text(self._post(request))
            except _Again as error:
                if not left:
                    tries = self.settings.retries + 1
                    raise NoCompletion(f"{error} ({tries} {'try' if tries == 1 else 'tries'})") from None
                time.sleep(min(max(pause, error.after), _LONGEST_PAUSE))
                pause *= 2
        raise AssertionError("unreachable")

    def _completed(self, request: Request) -> str | NoCompletion:
        try:
            return self.complete(request)
        except NoCompletion as error:
            return error

    def _post(self, request: Request) -> bytes:
        body: dict[str, Any] = {
            "model": self.settings.model,
            "prompt": request.prompt,
            "max_tokens": request.max_tokens,
            "temperature": 0,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        url = f"{self.settings.url}/completions"
        call = urllib.request.Request(url, json.dumps(body).encode(), self._headers, method="POST")
        deadline = time.monotonic() + self.settings.timeout
        try:
            with self._opener.open(call, timeout=self.settings.timeout) as answer:
                return _read(answer, deadline)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from None
        except TimeoutError:
            raise _Again(f"no answer within {self.settings.timeout:g} s") from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise _Again(f"no answer within {self.settings.timeout:g} s") from None
            raise _Again(f"no connection ({reason})") from None

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        said = " ".join(error.read(2_000).decode("utf-8", "replace").split())[:200]
        if error.code in (408, 409, 425, 429) or error.code >= 500:
            return _Again(f"HTTP {error.code}", _retry_after(error.headers))
        if error.code in (400, 413, 422):  # this prompt; others may pass
            return NoCompletion(f"HTTP {error.code}: {said}")
        return UserError(
            f"endpoint {self.settings.url}: HTTP {error.code} for model {self.settings.model!r} ({said}); "
            "check url, model and key_variable"
        )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _read(answer: Any, deadline: float) -> bytes:
    """The body of an answer; a server that trickles, or does not end, is given up on."""
    body = b""
    while piece := answer.read1(65_536):
        body += piece
        if len(body) > _MOST_BYTES:
            raise _Again(f"an answer of more than {_MOST_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    return body


def _text(body: bytes) -> str:
    """The completion in an answer."""
    try:
        answer = json.loads(body)
        text = answer["choices"][0]["text"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise _Again(f"no completion in the answer {body[:80]!r}") from None
    if not isinstance(text, str):
        raise _Again(f"no completion in the answer {body[:80]!r}")
    return text


def _authorization(settings: EndpointSettings) -> dict[str, str]:
    if not settings.key_variable:
        return {}
    key = os.environ.get(settings.key_variable)
    if not key:
        raise UserError(f"endpoint {settings.url}: the environment variable {settings.key_variable} is not set")
    return {"Authorization": f"Bearer {key}"}


def _retry_after(headers: Message) -> float:
    value = headers.get("Retry-After", "")
    return float(value) if value.isdigit() else 0.0
