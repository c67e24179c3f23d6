"""A server in a thread that behaves like an OpenAI-compatible API, or like a broken or hostile one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Shown = dict[str, Any]


def completion(content: object) -> bytes:
    """The body of a chat completion."""
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


def saying(name: str) -> str:
    """What a model says that keeps to the instructions."""
    return json.dumps({"name": name})


@dataclass
class FakeModel:
    """What the server does, and what it was sent.

    Attributes:
        says: Shown data ► the content of the answer.
        respond: Writes the whole response instead.
        requests: Headers and body of each request.
    """

    url: str = ""
    says: Callable[[Shown], str] = lambda shown: saying(f"About {shown['phrases'][0]}")
    respond: Callable[[BaseHTTPRequestHandler], None] | None = None
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def shown(self) -> list[Shown]:
        """The data of all requests."""
        return [json.loads(body["messages"][1]["content"]) for _, body in self.requests]


def answer(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in ({"Content_Type": "application/json"} | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def fake_model() -> Iterator[FakeModel]:
    """Serve until the block ends."""
    fake = FakeModel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append((dict(self.headers), {"path": self.path, **body}))
            try:
                if fake.respond:
                    fake.respond(self)
                else:
                    answer(self, completion(fake.says(json.loads(body["messages"][1]["content"]))))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has read enough

        def do_GET(self) -> None:
            fake.requests.append(
                (dict(self.headers), {"path": self.path, "messages": ["", {"content": "{}"}]})
            )
            answer(self, completion(saying("Followed")))

        def log_message(self, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield fake
        finally:
            server.shutdown()
