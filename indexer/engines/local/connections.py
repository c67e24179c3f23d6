"""Connections to one SQLite file: a pool, snapshots, transactions, and SQLite's errors turned into ours."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from indexer import read_only
from indexer.engines import deadline
from indexer.errors import EngineUnavailable, NotFound

T = TypeVar("T")

STEPS = 20_000  # of SQLite's machine, some milliseconds, between two looks at the clock
RESTORE = "Move the home away and put back a backup: indexer restore FILE. Or index the documents again, in another home."
WORD_PLACES = "CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, words, instance)"  # see `words`
WORD_COUNTS = "CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(main, words, row)"
MAX_CACHED = 100_000_000  # bytes of results that are remembered, for all connections of a process
SMALL = 1_000  # bytes of one whose size does not matter

_OS_TROUBLE = {  # the code of SQLite that means the same
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EROFS: sqlite3.SQLITE_READONLY,
    errno.EACCES: sqlite3.SQLITE_READONLY,
    errno.EPERM: sqlite3.SQLITE_READONLY,
    errno.EIO: sqlite3.SQLITE_IOERR,
    errno.EEXIST: sqlite3.SQLITE_CANTOPEN,
    errno.ENOTDIR: sqlite3.SQLITE_CANTOPEN,
}


@contextmanager
def translated(file: Path, wait: float = 0.0) -> Iterator[None]:
    """Translate errors of SQLite and the file system inside the block to `EngineUnavailable`.

    Any other error (an invalid statement, a violated constraint) is a bug and passes with its traceback.
    """
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if _code(error) == sqlite3.SQLITE_INTERRUPT:
            raise deadline.timeout() from error
        known = _explained(_code(error), file, wait)
        if known is None:
            raise
        raise EngineUnavailable(known[0], hint=known[1], cause=str(error)) from error


def _code(error: sqlite3.DatabaseError | OSError) -> int:
    """The primary result code of SQLite; 0 when there is none."""
    if isinstance(error, OSError):
        return _OS_TROUBLE.get(error.errno or 0, 0)
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _explained(code: int, file: Path, wait: float) -> tuple[str, str] | None:
    """Return message and hint for a result code; None for a code that means a bug."""
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return (
            f"The collection in {file.parent} is being written by another process (waited {wait:g} s).",
            "Run the command again when the other one has finished.",
        )
    if code == sqlite3.SQLITE_FULL:
        return (
            f"There is no space left on the disk of {file.parent}.",
            "Free some space and run the command again: what was written before stays.",
        )
    if code == sqlite3.SQLITE_CANTOPEN and not file.parent.is_dir():
        return (f"{file.parent} is not a folder.", "Choose another folder with INDEXER_HOME.")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}:
        return (
            f"No permission to use the collection in {file.parent} like this.",
            "Check the permissions of the folder, or choose another one with INDEXER_HOME.",
        )
    if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
        return (f"{file} is damaged, or is not a collection.", RESTORE)
    if code == sqlite3.SQLITE_IOERR:
        return (f"{file} could not be read or written.", "Check the disk, and run the command again.")
    return None


class Remembered:
    """Results about the whole file, for all connections of a process, until the file is written.

    What was used last is kept, in `MAX_CACHED` bytes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: int | None = None
        self._known: dict[Hashable, tuple[Any, int]] = {}
        self._bytes = 0

    def get(self, state: int, key: Hashable) -> Any:
        """Return a result for this state of the file, or None."""
        with self._lock:
            if state != self._state or key not in self._known:
                return None
            self._known[key] = found = self._known.pop(key)  # the last one in order
            return found[0]

    def put(self, state: int, key: Hashable, value: Any, size: int) -> None:
        with self._lock:
            if self._state is not None and state < self._state:
                return  # of a snapshot from before the last write
            if state != self._state:
                self._state, self._bytes = state, 0
                self._known.clear()
            if key in self._known or size > MAX_CACHED:
                return
            self._known[key] = value, size
            self._bytes += size
            while self._bytes > MAX_CACHED:
                _, freed = self._known.pop(next(iter(self._known)))
                self._bytes -= freed


class Connection(sqlite3.Connection):
    """A connection that shares results about the whole file with the others of its pool."""

    shared: Remembered
    writes = False  # inside a transaction that writes
    _snapshot: int | None = None  # number of writes, of the transaction that reads

    def remembered(
        self, key: Hashable, find: Callable[[], T], *, size: Callable[[T], int] = lambda _: SMALL
    ) -> T:
        """Return the result of `find`, kept while the file is unchanged.

        The result must depend on key and file only, and must be neither None nor modified.

        Args:
            size: Bytes of a result.
        """
        state = None if self.writes else self._number_of_writes()
        if state is None:
            return find()  # a file of an earlier version does not count its writes
        known: T | None = self.shared.get(state, key)
        if known is None:
            known = find()
            self.shared.put(state, key, known, size(known))
        return known

    def _number_of_writes(self) -> int | None:
        if self._snapshot is None:
            row = self.execute("SELECT value FROM state WHERE key = 'writes'").fetchone()
            self._snapshot = int(row[0]) if row else None
        return self._snapshot

    def begin(self) -> None:
        """Open a transaction that reads: a snapshot."""
        self._snapshot = None
        self.execute("BEGIN")


class Connections:
    """A pool of connections, each used by one thread at a time, so that several threads can search concurrently.

    A pool rather than one connection per thread: the connections of a web server's ended threads would stay open. After
    a fork the child opens its own, because a SQLite connection must not cross it.
    """

    def __init__(self, file: Path, *, read_only: bool, wait: float) -> None:
        self.file = file
        self.read_only = read_only
        self.wait = wait  # seconds to wait for another process's write
        self._shared = Remembered()
        self._idle: list[Connection] = []
        self._inherited: list[Connection] = []  # the parent's, after a fork: kept, never used or closed
        self._pid = os.getpid()
        self._closed = False
        self._pool_lock = threading.Lock()
        self._write_lock = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a snapshot: everything read in the block is of the same moment."""
        with translated(self.file, self.wait):
            connection = self._take()
            limited = deadline.remaining() is not None
            try:
                if limited:
                    connection.set_progress_handler(deadline.expired, STEPS)
                connection.begin()
                yield connection
            finally:
                if limited:
                    connection.set_progress_handler(None, STEPS)
                self._give(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Connection]:
        """Open a transaction; `BEGIN IMMEDIATE` admits one writer among all processes.

        `durable`: it is on the disk when the block ends, so that the caller can delete what it replaces.
        """
        with translated(self.file, self.wait), self._write_lock:
            connection = self._take()
            try:
                if durable:
                    connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                connection.writes = True
                before = connection.total_changes
                yield connection
                if connection.total_changes != before:
                    connection.execute("UPDATE state SET value = value + 1 WHERE key = 'writes'")
                connection.execute("COMMIT")
                if durable:
                    connection.execute("PRAGMA synchronous = NORMAL")
            finally:
                self._give(connection)

    @contextmanager
    def outside_transaction(self) -> Iterator[Connection]:
        """For VACUUM and checkpoints, which cannot run inside a transaction."""
        with translated(self.file, self.wait), self._write_lock:
            connection = self._take()
            connection.writes = True
            try:
                yield connection
            finally:
                self._give(connection)

    def close(self) -> None:
        with self._pool_lock:
            self._forget_after_fork()
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _take(self) -> Connection:
        with self._pool_lock:
            self._forget_after_fork()
            if self._closed:
                raise EngineUnavailable(f"The collection in {self.file.parent} was closed.")
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give(self, connection: Connection) -> None:
        connection.writes = False
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            raise
        with self._pool_lock:
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)

    def _forget_after_fork(self) -> None:
        if os.getpid() != self._pid:
            self._inherited += self._idle
            self._idle = []
            self._pid = os.getpid()

    def _open(self) -> Connection:
        if self.read_only and not self.file.exists():
            raise NotFound(
                f"There is no collection in {self.file.parent}.", hint="Make one: indexer index SOURCE"
            )
        options: dict[str, Any] = {"timeout": self.wait, "isolation_level": None, "check_same_thread": False}
        if self.read_only:
            connection = read_only.connect(self.file, Connection, **options)
        else:
            uri = f"{self.file.absolute().as_uri()}?mode=rwc"
            connection = sqlite3.connect(uri, uri=True, factory=Connection, **options)
        connection.shared = self._shared
        return self._configured(connection)

    def _configured(self, connection: Connection) -> Connection:
        try:
            if not self.read_only:
                self._write_ahead(connection)
                # Syncs at checkpoints only. A power cut may lose the last commits, never the consistency of
                # the file; a killed process loses nothing. Indexing again repairs the rest: ids are stable.
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
                connection.execute("PRAGMA wal_autocheckpoint = 16384")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -32768")  # KiB
            with suppress(sqlite3.OperationalError):  # without FTS5, `schema` says so
                connection.execute(WORD_PLACES)
                connection.execute(WORD_COUNTS)
            connection.execute(
                "SELECT count(*) FROM sqlite_master"
            ).fetchone()  # reads the header: fails here
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: Connection) -> None:
        """Keep a write-ahead log, so that readers and a writer do not wait for each other.

        The first process to open a new file changes its format; SQLite does not wait for that lock, so others retry.
        """
        deadline = time.monotonic() + self.wait
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
