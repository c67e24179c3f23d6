"""Who may do what: keys with scopes for programs, sessions for people, tokens in forms, and a limit on requests.

A server that listens on this machine only needs no keys. Any other server requires them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Form, Request

from indexer.web.api_keys import Key, Keys, Scope, hashed
from indexer.web.errors import Refusal
from indexer.web.server_state import ServerState

COOKIE = "indexer"
SESSION_LASTS = 12 * 3600.0  # seconds
REMEMBERED = 10_000  # sessions
BURST = 3.0  # seconds' worth of requests that may come at once
TRIES = 1.0  # a second, of keys that are none, from one address
ROUNDING = 1e-6  # of a request


@dataclass(frozen=True)
class Visitor:
    """Whose request it is."""

    name: str  # of the key; empty where none is needed
    scope: Scope
    by_cookie: bool = False

    def may(self, scope: Scope) -> bool:
        return Key(self.name, self.scope, "", "").may(scope)


class RateLimit:
    """A bucket for each caller, from which every request takes one and into which `rate` come back each second.

    Args:
        name: Of the limit: each has buckets of its own.
        clock: The same in all processes of this machine.
    """

    def __init__(
        self, state: ServerState, name: str, rate: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate = rate
        self._state = state
        self._name = name
        self._clock = clock

    def wait(self, caller: str) -> float:
        """Take one; 0 when there was one, otherwise the seconds until there is."""
        now, most = self._clock(), max(1.0, self.rate * BURST)
        with self._state.changing() as connection:
            # A full bucket is as good as none.
            connection.execute("DELETE FROM buckets WHERE name = ? AND full_at <= ?", (self._name, now))
            row = connection.execute(
                "SELECT full_at FROM buckets WHERE name = ? AND caller = ?", (self._name, caller)
            ).fetchone()
            missing = (row[0] - now) * self.rate if row else 0.0
            if most - missing < 1 - ROUNDING:
                return (1 - most + missing) / self.rate
            full_at = now + (missing + 1) / self.rate
            connection.execute(
                "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", (self._name, caller, full_at)
            )
        return 0.0


class Access:
    """Decides about requests.

    Args:
        keys: None if no key is required.
        rate: Requests a second for each key.
        state: Of the server: a session that began in one process is known in all.
    """

    def __init__(self, keys: Keys | None, *, rate: float, state: ServerState) -> None:
        self.keys = keys
        self._state = state
        self._rate = RateLimit(state, "keys", rate)
        self._tries = RateLimit(state, "tries", TRIES)

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
        cookie, now = secrets.token_urlsafe(24), time.monotonic()
        with self._state.changing() as connection:
            connection.execute("DELETE FROM sessions WHERE until < ?", (now,))
            connection.execute(
                "DELETE FROM sessions WHERE cookie IN "
                "(SELECT cookie FROM sessions ORDER BY until DESC LIMIT -1 OFFSET ?)",
                (REMEMBERED - 1,),
            )
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?)", (hashed(cookie), key.hash, now + SESSION_LASTS)
            )
        return cookie

    def log_out(self, cookie: str) -> None:
        with self._state.changing() as connection:
            connection.execute("DELETE FROM sessions WHERE cookie = ?", (hashed(cookie),))

    def _known(self, request: Request, secret: str) -> Key | None:
        """The key that this is. Who tries many that are none has to wait."""
        key = self.keys.find(secret) if self.keys else None
        if key is None:
            _refuse(self._tries.wait(request.client.host if request.client else ""))
        return key

    def _of_session(self, cookie: str) -> Key | None:
        """A session ends with its key."""
        with self._state.reading() as connection:
            row = connection.execute(
                "SELECT key, until FROM sessions WHERE cookie = ?", (hashed(cookie),)
            ).fetchone()
        if self.keys is None or row is None or row[1] < time.monotonic():
            return None
        return next((key for key in self.keys.all() if key.hash == row[0]), None)

    # -- forms -----------------------------------------------------------------------------------------------

    def token(self, cookie: str) -> str:
        """What a form must send back: only a page of ours can know it."""
        return hmac.new(self._state.secret, cookie.encode(), hashlib.sha256).hexdigest()

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
