"""What all processes of one server share: sessions, counts of requests, tasks, and who stores which upload.

A SQLite file in a temporary folder, which lives as long as the server; in memory where one process serves. It is not part
of the catalog: that may be on another machine, and a limit on requests would then cost a round trip for each of them.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

from indexer.catalog.locks import Process, this_process

BUSY_S = 10.0  # a process waits for another one that is writing
TABLES = """
CREATE TABLE IF NOT EXISTS secret(one INTEGER PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions(cookie TEXT PRIMARY KEY, key TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS buckets(
    name TEXT, caller TEXT, full_at REAL NOT NULL, PRIMARY KEY(name, caller)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS buckets_full ON buckets(name, full_at);
CREATE TABLE IF NOT EXISTS tasks(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, state TEXT NOT NULL,
    task TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS tasks_state ON tasks(state);
CREATE TABLE IF NOT EXISTS claims(upload TEXT PRIMARY KEY, owner TEXT NOT NULL);
"""


class ServerState:
    """The shared state of one server.

    Args:
        file: Where it is, for several processes; None keeps it in memory.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.is_shared = file is not None
        self.owner = json.dumps(astuple(this_process()))
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            file or ":memory:", timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")  # nothing of it is needed after a power cut
        with self.changing() as connection:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
            (self.secret,) = connection.execute("SELECT value FROM secret").fetchone()

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; one process at a time has one."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._connection

    def claim(self, upload: str) -> bool:
        """Make this process the one that stores an upload; False when another one that lives does."""
        with self.changing() as connection:
            row = connection.execute("SELECT owner FROM claims WHERE upload = ?", (upload,)).fetchone()
            if row is not None and not is_dead(row[0]):
                return False
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (upload, self.owner))
            return True


def is_dead(owner: str) -> bool:
    """Whether a process that wrote something here has ended."""
    return Process(*json.loads(owner)).is_dead()
