"""Who may do what: keys with scopes for programs, sessions for people, tokens in forms, and a limit on requests.

A server that listens on this machine only needs no keys. Any other server requires them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Form, Request

from indexer.web.api_keys import Key, Keys, Scope
from indexer.web.errors import Refusal

COOKIE = "indexer"
SESSION_LASTS = 12 * 3600.0  # seconds
REMEMBERED = 10_000  # sessions, and callers whose requests are counted
BURST = 3.0  # seconds' worth of requests that may come at once
TRIES = 1.0  # a second, of keys that are none, from one address


@dataclass(frozen=True)
class Visitor:
    """Whose request it is."""

    name: str  # of the key; empty where none is needed
    scope: Scope
    by_cookie: bool = False

    def may(self, scope: Scope) -> bool:
        return Key(self.name, self.scope, "", "").may(scope)


class RateLimit:
    """A bucket for each caller, from which every request takes one and into which `rate` come back each second."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # caller ► left, at
        self._lock = threading.Lock()

    def wait(self, caller: str) -> float:
        """Take one; 0 when there was one, otherwise the seconds until there is."""
        now, most = self._clock(), max(1.0, self.rate * BURST)
        with self._lock:
            left, at = self._buckets.pop(caller, (most, now))
            left = min(most, left + (now - at) * self.rate)
            enough = left >= 1
            self._buckets[caller] = (left - enough, now)
            while len(self._buckets) > REMEMBERED:
                self._buckets.popitem(last=False)
        return 0.0 if enough else (1 - left) / self.rate


class Access:
    """Decides about requests.

    Args:
        keys: None if no key is required.
        rate: Requests a second for each key.
    """

    def __init__(self, keys: Keys | None, *, rate: float) -> None:
        self.keys = keys
        self._rate = RateLimit(rate)
        self._tries = RateLimit(TRIES)
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # cookie ► hash of the key, until

    def visitor(self, request: Request) -> Visitor:
        """Whose request this is.

        Raises:
            Refusal: The key is unknown, or there were too many requests.
        """
        if self.keys is None:
            return Visitor("", "admin")
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(COOKIE, "")
        key = self._known(request, secret.strip()) if scheme.lower() == "bearer" else self._of_session(cookie)
        if key is None:
            sent = scheme.lower() == "bearer"
            raise Refusal(
                401,
                "The key is not valid." if sent else "A key is needed.",
                hint="Ask the administrator for an API key."
                if sent
                else 'Send it as "Authorization: Bearer KEY".',
                WWW_Authenticate="Bearer",
            )
        _refuse(self._rate.wait(key.name))
        return Visitor(key.name, key.scope, by_cookie=scheme.lower() != "bearer")

    def log_in(self, request: Request, secret: str) -> str | None:
        """Begin a session; returns the cookie, or None if the key is not valid."""
        key = self._known(request, secret.strip())
        if key is None:
            return None
        cookie = secrets.token_urlsafe(24)
        self._sessions[cookie] = key.hash, time.monotonic() + SESSION_LASTS
        while len(self._sessions) > REMEMBERED:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, cookie: str) -> None:
        self._sessions.pop(cookie, None)

    def _known(self, request: Request, secret: str) -> Key | None:
        """The key that this is. Who tries many that are none has to wait."""
        key = self.keys.find(secret) if self.keys else None
        if key is None:
            _refuse(self._tries.wait(request.client.host if request.client else ""))
        return key

    def _of_session(self, cookie: str) -> Key | None:
        """A session ends with its key."""
        digest, until = self._sessions.get(cookie, ("", 0.0))
        if self.keys is None or until < time.monotonic():
            return None
        return next((key for key in self.keys.all() if key.hash == digest), None)

    # -- forms -----------------------------------------------------------------------------------------------

    def token(self, cookie: str) -> str:
        """What a form must send back: only a page of ours can know it."""
        return hmac.new(self._secret, cookie.encode(), hashlib.sha256).hexdigest()

    def check_token(self, request: Request, token: str) -> None:
        """Refuse a form that did not come from a page of ours.

        Raises:
            Refusal: It has another token, or none.
        """
        cookie = request.cookies.get(COOKIE, "")
        given = token.encode("utf-8", "replace")
        if not cookie or not hmac.compare_digest(self.token(cookie).encode(), given):
            raise Refusal(403, "This form is too old, or is not of this page.", hint="Load the page again.")


def new_cookie() -> str:
    """For visitors without a session, so that their forms have a token."""
    return secrets.token_urlsafe(24)


def _refuse(wait: float) -> None:
    if wait:
        raise Refusal(429, "Too many requests.", hint="Wait a little.", Retry_After=str(int(wait) + 1))


def may(scope: Scope) -> Callable[[Request], Awaitable[Visitor]]:
    """A dependency: the request's visitor, who may do this."""

    async def check(request: Request) -> Visitor:
        access: Access = request.app.state.served.access
        visitor = access.visitor(request)
        if not visitor.may(scope):
            raise Refusal(403, f"The key '{visitor.name}' may {visitor.scope}, and this needs {scope}.")
        # A form of another site can send a cookie along, but no key.
        if visitor.by_cookie and request.method != "GET" and request.url.path.startswith("/api/"):
            raise Refusal(403, "Changes through the API need a key, not a session.")
        return visitor

    return check


Reader = Annotated[Visitor, Depends(may("read"))]
Writer = Annotated[Visitor, Depends(may("write"))]
Admin = Annotated[Visitor, Depends(may("admin"))]


async def form_sender(request: Request, writer: Writer, token: Annotated[str, Form()] = "") -> Visitor:
    """A dependency: who may write, and has sent a form of a page of ours."""
    access: Access = request.app.state.served.access
    access.check_token(request, token)
    return writer


FormWriter = Annotated[Visitor, Depends(form_sender)]
