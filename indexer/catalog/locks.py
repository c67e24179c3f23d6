"""One writer per collection: a row in the database that its holder renews, and the identity of processes.

A pid alone does not identify a process: the system reuses pids, each container counts its own, and two machines may have
one name. A process is therefore identified by host, boot with container, and start time as well, where the system has
them (Linux does).
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, select, update

from indexer.catalog.database import Database, now
from indexer.catalog.entries import LockHolder
from indexer.catalog.tables import LockRow as L
from indexer.errors import CatalogError
from indexer.log import get_logger


@dataclass(frozen=True)
class Process:
    pid: int
    host: str
    boot: str  # boot of the machine, and container; "" where unknown
    birth: str  # ticks since boot; "" where unknown

    def is_dead(self) -> bool:
        """Return True only when it is certain: a process of another boot may live on a machine of the same name."""
        if self.pid <= 0 or self.host != socket.gethostname() or self.boot != _boot():
            return False
        return not _exists(self.pid) or self.birth != _birth(self.pid)

    def is_probably_dead(self) -> bool:
        """Return True also for a process of this host from before its last boot."""
        rebooted = self.boot.split()[:1] != _boot().split()[:1]
        return self.is_dead() or (self.pid > 0 and self.host == socket.gethostname() and rebooted)


def this_process() -> Process:
    pid = os.getpid()
    return Process(pid, socket.gethostname(), _boot(), _birth(pid))


def this_user() -> str:
    """Return USER@HOST, which is recorded with each run."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under an id without a name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _boot() -> str:
    try:
        return f"{_read('/proc/sys/kernel/random/boot_id').strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _birth(pid: int) -> str:
    stat = _read(f"/proc/{pid}/stat")
    # The second field is the program's name in brackets and may hold anything; the time of birth is field 22.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _exists(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 is Ctrl-C there; the time limit of the lock must do
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists, but belongs to another user
        return True
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


TTL = 120.0  # seconds after which a lock that is not renewed may be taken by another process


def retraining(collection: str) -> str:
    """Return the name of the lock for building the next generation, and for rollbacks."""
    return f"{collection}@retrain"


def watching(collection: str) -> str:
    """Return the name of the lock for watching a user's index."""
    return f"{collection}@watch"


def _held(lock: str) -> str:
    """Describe the activity of the holder of a lock."""
    name = _collection_of(lock)
    if lock == retraining(name):
        return f"Generations of '{name}' are being made or removed"
    return f"Collection '{name}' is being written"


def _collection_of(lock: str) -> str:
    """Return the collection of a lock, for messages."""
    return lock.partition("@")[0]


class Lock:
    """A held lock. A thread renews it; long work calls `Locks.check_locks` before each write."""

    def __init__(self, database: Locks, collection: str, token: str, ttl: float) -> None:
        self.token = token
        self._database, self._collection, self._ttl = database, collection, ttl
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lock-{collection}", daemon=True)
        self.lost = False  # another process has it, because it was not renewed in time
        self._renewed = time.time()  # wall time, which includes the time that the machine sleeps

    def renew(self) -> None:
        """Hold it for another `ttl` seconds.

        Raises:
            CatalogError: Another process holds it now.
        """
        at = time.time()
        if self.lost or not self._database._renew(self._collection, self.token, self._ttl):
            self.lost = True
        self._renewed = at
        self.check()

    def check(self) -> None:
        """Raise CatalogError when another process holds the lock: stop writing."""
        if not self.lost and time.time() - self._renewed > self._ttl / 2:  # the thread was delayed
            self.renew()
        if self.lost:
            raise CatalogError(
                f"The lock on collection '{_collection_of(self._collection)}' was lost: it was not renewed for "
                f"{self._ttl:g} s, and another process holds it now.",
                hint="Run again: what was written stays, and only the rest is done.",
            )

    def _keep(self) -> None:
        while not self._stop.wait(self._ttl / 4):
            try:
                self.renew()
            except CatalogError as error:
                get_logger(__name__).warning(
                    "lock_not_renewed", collection=self._collection, lost=self.lost, reason=str(error)
                )
                if self.lost:
                    return

    def _end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


class Locks(Database):
    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._locks: list[Lock] = []  # held by this object

    @contextmanager
    def lock(self, collection: str, owner: str, ttl: float = TTL) -> Iterator[Lock]:
        """Hold the write lock of a collection for the length of a with block.

        The lock of a dead process is free: at once when it was on this host, otherwise `ttl` seconds after its last
        renewal.

        Args:
            owner: Shown to other processes, e.g. "indexer index".
            ttl: Seconds; the lock is renewed four times as often.

        Raises:
            CatalogError: Another process holds it; message and `facts["holder"]` name it.
        """
        token = secrets.token_hex(16)
        self._take(collection, owner, token, ttl)
        held = Lock(self, collection, token, ttl)
        try:
            held._thread.start()
            self._locks.append(held)
            yield held
        finally:
            held._end()
            self._locks.remove(held)
            self._release(collection, token)

    def check_locks(self) -> None:
        """Raise CatalogError when another process holds one of our locks. Called before each write."""
        for held in list(self._locks):
            held.check()

    def lock_holder(self, collection: str) -> LockHolder | None:
        """Return the holder of the lock; None when it is free or its holder is dead."""
        with self._reading() as connection:
            row = connection.execute(select(L.__table__).where(L.collection == collection)).first()
            if row is None or is_stale(row, self._clock(connection)):
                return None
        return _holder(row)

    def _held_tokens(self, connection: Connection) -> set[str]:
        at = self._clock(connection)
        rows = connection.execute(select(L.__table__)).all()
        return {row.token for row in rows if not is_stale(row, at)}

    def _take(self, collection: str, owner: str, token: str, ttl: float) -> None:
        me = this_process()
        with self._writing() as connection:
            at = self._clock(connection)
            values = {
                **{"token": token, "owner": owner, "since": at, "expires_at": at + timedelta(seconds=ttl)},
                **{"pid": me.pid, "host": me.host, "boot": me.boot, "birth": me.birth},
            }
            new = self._insert(L).values(collection=collection, **values).on_conflict_do_nothing()
            if connection.scalar(new.returning(L.token)) == token:
                return
            row = connection.execute(
                select(L.__table__).where(L.collection == collection).with_for_update()
            ).first()
            if row is not None and not is_stale(row, at):
                raise CatalogError(
                    f"{_held(collection)} by {_holder(row)}.",
                    hint="Wait until it is done. If that process is gone, its lock ends by itself.",
                    holder=_holder(row),
                )
            connection.execute(update(L).where(L.collection == collection).values(**values))

    def _renew(self, collection: str, token: str, ttl: float) -> bool:
        with self._writing() as connection:
            until = self._clock(connection) + timedelta(seconds=ttl)
            statement = update(L).where(L.collection == collection, L.token == token)
            return connection.execute(statement.values(expires_at=until)).rowcount == 1

    def _release(self, collection: str, token: str) -> None:
        with self._writing() as connection:
            connection.execute(delete(L).where(L.collection == collection, L.token == token))

    def _clock(self, connection: Connection) -> datetime:
        """Return the time of the server, which all hosts share; SQLite has one host only."""
        if self._is_postgres:
            at: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            return at
        return now()


def is_stale(row: Row[Any], at: datetime) -> bool:
    """Return whether a lock or lease has expired at this time, or its process is certainly dead."""
    return row.expires_at <= at or Process(row.pid, row.host, row.boot, row.birth).is_dead()


def _holder(row: Row[Any]) -> LockHolder:
    return LockHolder(row.owner, row.pid, row.host, row.since, row.expires_at)
