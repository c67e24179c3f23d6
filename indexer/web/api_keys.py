"""Keys of programs and people that may use the page and the API from elsewhere: names, scopes, and hashes of the keys.

A key is 256 bits of chance, so that a plain hash of it is enough: no dictionary of likely keys exists. The key itself
is shown once, when it is made.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from indexer.errors import NotFound, QueryError, SettingsError

Scope = Literal["read", "write", "admin"]  # each may do what those before it may

SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "ixk_"  # so that a key that was left somewhere is known for one
FILE = "keys.json"
NAME = re.compile(r"[\w.@-]{1,64}")


@dataclass(frozen=True)
class Key:
    """What is kept of a key."""

    name: str
    scope: Scope
    hash: str  # SHA-256, hexadecimal
    made: str  # ISO 8601, UTC

    def may(self, scope: Scope) -> bool:
        """Whether its scope is this one or more."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


class Keys:
    """The keys in a home. Read again when the file has changed, so that a removed key ends at once."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE
        self._read_at: tuple[int, int] = (0, 0)
        self._keys: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """All keys, by name.

        Raises:
            SettingsError: The file is damaged.
        """
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return ()
        if (found.st_mtime_ns, found.st_size) != self._read_at:
            try:
                self._keys = tuple(Key(**row) for row in json.loads(self._file.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise SettingsError(
                    f"{self._file} is damaged: {error}.",
                    hint="Remove it, and make the keys again: indexer keys add",
                ) from error
            self._read_at = found.st_mtime_ns, found.st_size
        return self._keys

    def add(self, name: str, scope: Scope) -> str:
        """Make a key; returns it. It cannot be read again.

        Raises:
            QueryError: The name is taken, or cannot be one.
        """
        if not NAME.fullmatch(name):
            raise QueryError(f"The name {name!r} must have 1 to 64 letters, digits, '.', '@', '-' or '_'.")
        if any(key.name == name for key in self.all()):
            raise QueryError(
                f"There is a key '{name}' already.", hint=f"Remove it first: indexer keys remove {name}"
            )
        secret = PREFIX + secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._write([*self.all(), Key(name, scope, hashed(secret), made)])
        return secret

    def remove(self, name: str) -> None:
        """Forget a key: from now on it opens nothing.

        Raises:
            NotFound: There is none of that name.
        """
        left = [key for key in self.all() if key.name != name]
        if len(left) == len(self.all()):
            raise NotFound(f"Key '{name}' does not exist.", hint="indexer keys lists them.")
        self._write(left)

    def find(self, secret: str) -> Key | None:
        """The key that this is; None when it is none."""
        sought = hashed(secret)
        return next((key for key in self.all() if hmac.compare_digest(key.hash, sought)), None)

    def _write(self, keys: list[Key]) -> None:
        part = self._file.with_name(f"{FILE}.part")
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps([asdict(key) for key in sorted(keys, key=lambda key: key.name)], indent=2)
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as stream:
            stream.write(text)
        part.replace(self._file)


def hashed(secret: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
