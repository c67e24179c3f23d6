"""One question to a language model behind an OpenAI-compatible API, and its answer.

The server is not trusted: an answer is read up to a limit of bytes and time, redirects are not followed (they would
carry the key elsewhere), and no text of an error is passed on, since it may repeat the key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from indexer.errors import NoAnswer, SettingsError
from indexer.settings import Settings, secret_of

MAX_BYTES = 65_536  # of an answer
CHUNK = 8_192  # bytes read at once
MAX_TOKENS = 100  # of an answer: a name and its JSON have 10 to 30
HIDDEN = "***"  # instead of the key, where an answer repeats it


@dataclass(frozen=True)
class LanguageModel:
    """A language model as the settings name it.

    Attributes:
        url: Of the API; ``/chat/completions`` is appended.
        timeout: Seconds that an answer may take, from the connection to the last byte.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 30.0

    @classmethod
    def of(cls, settings: Settings) -> LanguageModel | None:
        """The one of the settings; None where they name none.

        Raises:
            SettingsError: The name of the model is missing, or the file of the key cannot be read.
        """
        if not settings.naming_url:
            return None
        if not settings.naming_model:
            raise SettingsError(
                "INDEXER_NAMING_URL is set, but INDEXER_NAMING_MODEL is empty.",
                hint="Name the model that is to name topics, or unset INDEXER_NAMING_URL.",
            )
        key = secret_of(settings.naming_key.get_secret_value())
        return cls(settings.naming_url, settings.naming_model, key, settings.naming_timeout)

    def ask(self, instructions: str, data: str) -> str:
        """What the model says to instructions (the system message) and data (the user message).

        Raises:
            NoAnswer: The server does not answer in time, refuses, or answers something else than a chat completion.
        """
        body = _within(self.timeout, lambda: self._post(instructions, data))
        said = _content(body)
        return said.replace(self.key, HIDDEN) if self.key else said

    def _post(self, instructions: str, data: str) -> bytes:
        until = time.monotonic() + self.timeout
        body = {
            "model": self.model,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": data}],
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
        }
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "indexer"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        url = f"{self.url.rstrip('/')}/chat/completions"
        request = Request(url, json.dumps(body).encode(), headers)
        with build_opener(_NoRedirects).open(request, timeout=self.timeout) as response:
            if "json" not in response.headers.get_content_type():
                raise NoAnswer("the answer is not JSON")
            return _limited(response, until)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        """None makes urllib raise an HTTPError."""


def _limited(response: Any, until: float) -> bytes:
    """The body, if it ends within the limits."""
    found = b""
    while some := response.read1(CHUNK):
        found += some
        if len(found) > MAX_BYTES:
            raise NoAnswer(f"the answer has more than {MAX_BYTES:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError
    return found


def _within(seconds: float, call: Callable[[], bytes]) -> bytes:
    """The result of a call that may take so long.

    The timeout of a socket is of each read, so a server that sends a byte a second would never exceed it. Nor would one
    that does so in its headers, where only leaving the thread behind helps; it does not keep the process alive.
    """
    outcome: SimpleQueue[bytes | Exception] = SimpleQueue()

    def work() -> None:
        try:
            outcome.put(call())
        except Exception as error:  # handled by the waiting thread
            outcome.put(error)

    Thread(target=work, name="language-model", daemon=True).start()
    try:
        found = outcome.get(timeout=seconds)
    except Empty:
        found = TimeoutError()
    if isinstance(found, Exception):
        raise _reason(found, seconds) from None
    return found


def _reason(error: Exception, seconds: float) -> NoAnswer:
    """A sentence that names the error without its text: this may hold the header with the key."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    match error:
        case NoAnswer():
            return error
        case HTTPError():
            error.close()
            return NoAnswer(f"the server answered with status {error.code}")
        case TimeoutError():
            return NoAnswer(f"no answer within {seconds:g} seconds")
        case OSError() | HTTPException() | ValueError():
            return NoAnswer(f"no answer: {type(error).__name__}")
    raise error


def _content(body: bytes) -> str:
    """The text in a chat completion."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise NoAnswer("the answer is not a chat completion") from None
    if not isinstance(content, str):
        raise NoAnswer("the answer has no text")
    return content
