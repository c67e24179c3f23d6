"""What every request passes: its id, limits of size, where it may come from, headers of the answer, a log line."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from indexer.log import get_logger
from indexer.web import metrics
from indexer.web.errors import Refusal

REQUEST_ID = re.compile(r"[\w.-]{1,64}")
SMALL = 64_000  # bytes of a body, where nothing else is said
# The processes of a server take connections as they come, and one may get them all. While it works on several requests,
# it ends the connection of every so many answers: that client connects again, to the one that is free first.
MOVED = 10
SAFE = ("GET", "HEAD", "OPTIONS")
LOCAL = ("localhost", "127.0.0.1", "::1")

# No inline scripts or styles, nothing from elsewhere, no frames: the text of a document is never run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

logger = get_logger(__name__)


class Guard:
    """Middleware around the whole application.

    Args:
        sizes: Largest body in bytes, by path; `SMALL` for all others.
        local: Whether anybody on this machine may do everything: then requests must be for this machine by name. A
            page elsewhere could otherwise give its own name our address, and read along.
        failed: Makes an answer of an error.
        one_of_several: Whether other processes serve from the same port.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        sizes: dict[str, int],
        local: bool,
        failed: Callable[[Request, Exception], Response],
        one_of_several: bool = False,
    ) -> None:
        self._app = app
        self._sizes = sizes
        self._local = local
        self._failed = failed
        self._one_of_several = one_of_several
        self._answers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        said = headers.get("x-request-id", "")
        request_id = said if REQUEST_ID.fullmatch(said) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        start, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = MutableHeaders(scope=message)
                own["X-Request-ID"] = request_id
                for name, value in HEADERS.items():
                    own.setdefault(name, value)
                # Addresses of our files change when the files do.
                kept = scope["path"].startswith("/static/") and status == 200
                own.setdefault("Cache-Control", "public, max-age=31536000, immutable" if kept else "no-store")
                if self._moves():
                    own["Connection"] = "close"
            await send(message)

        with bound_contextvars(request=request_id):
            try:
                self._check(scope["method"], headers, (scope.get("server") or ("", 80))[1])
                body = self._limited(receive, headers, self._sizes.get(scope["path"], SMALL))
                await self._app(scope, body, answer)
            except Exception as error:
                if not isinstance(error, Refusal):
                    logger.exception("request_failed", method=scope["method"], path=scope["path"])
                if status:
                    raise  # half of the answer is gone already
                await self._failed(Request(scope), error)(scope, receive, answer)
            seconds = round(time.perf_counter() - start, 4)
            route = getattr(scope.get("route"), "path", "other")  # not the path: of those there are many
            metrics.REQUESTS.labels(route, str(status)).inc()
            metrics.REQUEST_SECONDS.labels(route).observe(seconds)
            logger.info("request", method=scope["method"], path=scope["path"], status=status, seconds=seconds)

    def _moves(self) -> bool:
        """Whether the client that is answered shall connect again."""
        self._answers += 1
        busy = current_default_thread_limiter().statistics().borrowed_tokens
        return self._one_of_several and busy > 0 and self._answers % MOVED == 0

    def _check(self, method: str, headers: Headers, port: int) -> None:
        host = _place(f"//{headers.get('host', '')}")
        if host is None:
            raise Refusal(400, "The header Host is not the name of a host.")
        if self._local and host.hostname not in LOCAL:
            raise Refusal(
                421, f"This server is for this machine only, and not for '{host.hostname}'.",
                hint=f"Open it at http://localhost:{port}.",
            )  # fmt: skip
        if method in SAFE:
            return
        origin = _place(headers["origin"]) if "origin" in headers else host
        if (
            origin is None
            or origin.netloc != host.netloc
            or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        ):
            raise Refusal(403, "This request comes from the page of another site.")

    def _limited(self, receive: Receive, headers: Headers, most: int) -> Receive:
        """The body, as long as it is not too large."""
        said = headers.get("content-length", "0")
        if said.isdecimal() and int(said) > most:
            raise _too_large(most)
        got = 0

        async def counted() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > most:
                raise _too_large(most)
            return message

        return counted


def _place(address: str) -> SplitResult | None:
    """The parts of an address; None when it is none, such as ``http://[``."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"The body is larger than {most:,} bytes.")
