"""The connection to the catalog: opening, upgrading the schema, transactions, errors.

SQLite runs in WAL mode, and a writing transaction takes the write lock at its beginning (`BEGIN IMMEDIATE`):
a transaction that began by reading could not wait for another writer and would fail.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError

from indexer import read_only
from indexer.catalog.tables import SCHEMA, Base
from indexer.errors import UPGRADE, CatalogError
from indexer.log import masked
from indexer.read_only import may_write

VERSION_TABLE = "catalog_version"  # the database may hold the tables of another program that uses Alembic
BUSY_SECONDS = 30  # a writer waits for another one
RESTORE = (
    "Move the home away and put back a backup: indexer restore FILE. "
    "Or move the catalog away, and have the documents of the collections "
    "added to a new one: indexer doctor --repair"
)
BATCH = 1000  # rows per transaction and ids per query
UPGRADE_LOCK = 0x1DE8_CA7A  # PostgreSQL's advisory lock: of two processes that open at once, one upgrades


class Database:
    """An open catalog database. The parts of `Catalog` build on `_reading` and `_writing`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(catalog_writes=True)
        self._is_postgres = engine.dialect.name == "postgresql"
        _ENGINES.add(engine)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _translated(self._engine.url), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _translated(self._engine.url), self._writer.begin() as connection:
            yield connection

    def _insert(self, row: type[Base]) -> Any:
        """An INSERT that knows ON CONFLICT: SQLAlchemy has one per database, with equal methods."""
        return postgresql.insert(row) if self._is_postgres else sqlite.insert(row)

    def _upsert(self, row: type[Base], *, update: Sequence[str]) -> Any:
        """INSERT, or UPDATE these columns where the primary key is there already."""
        statement = self._insert(row)
        return statement.on_conflict_do_update(
            index_elements=list(inspect(row).primary_key),
            set_={column: statement.excluded[column] for column in update},
        )


def now() -> datetime:
    return datetime.now(UTC)


def storable(message: str) -> str:
    """Return an external text (a reason, a file name) without NUL and lone surrogates, which databases refuse."""
    return message.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


# -- opening -------------------------------------------------------------------------------------------------


def open_engine(address: str) -> Engine:
    """Connect to the database at the SQLAlchemy URL `address` and bring its schema up to date.

    Raises:
        CatalogError: The URL is unusable, the database does not answer, or a newer version of this program wrote it.
    """
    url = _parsed(address)
    engine = _sqlite_engine(url) if url.get_backend_name() == "sqlite" else _postgres_engine(url)
    try:
        with _translated(url):
            _upgrade(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def look(address: str) -> str:
    """Return the schema version of the catalog at this URL; empty when it does not exist. Changes nothing.

    Raises:
        CatalogError: The URL is unusable, the database does not answer, is damaged, or a newer version of this program
            wrote it.
    """
    url = _parsed(address)
    if url.get_backend_name() == "sqlite":
        if not Path(url.database or "").exists():
            return ""
        engine = _sqlite_engine(url)
    else:
        engine = _postgres_engine(url)
    try:
        with _translated(url), engine.connect() as connection:
            version = _version(connection)
            if url.get_backend_name() == "sqlite":
                _check_sound(connection, url)
        _check_known(engine, version)
        return version or ""
    finally:
        engine.dispose()


def _check_sound(connection: Connection, url: URL) -> None:
    fault = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    if fault != "ok":
        raise CatalogError(f"The catalog {url.database} is damaged: {fault}", hint=RESTORE)


def _parsed(address: str) -> URL:
    try:
        url = make_url(address)
    except (SQLAlchemyError, ValueError) as error:
        raise CatalogError(
            f"The catalog's address '{masked(address)}' is not an SQLAlchemy URL.",
            hint="Set INDEXER_DATABASE to sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE.",
        ) from error
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise CatalogError(
            f"The catalog cannot live in {url.get_backend_name()}; it can in SQLite and in PostgreSQL.",
            hint="Set INDEXER_DATABASE to sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE.",
        )
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise CatalogError(
            "The catalog must be a file: every connection to an SQLite database in memory sees another one.",
            hint="Set INDEXER_DATABASE to sqlite:///FILE.",
        )
    return url


def _sqlite_engine(url: URL) -> Engine:
    folder = Path(url.database or "").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CatalogError(
            f"The folder {folder} for the catalog cannot be made: {error.strerror}."
        ) from error
    file = Path(url.database or "")
    if file.exists() and not may_write(folder):
        return _locked_engine(url, file)
    engine = create_engine(
        url,
        # None: transactions begin at our BEGIN, not at the first INSERT as Python's sqlite3 would have it.
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        json_serializer=_to_json,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        _use_wal(connection)
        connection.execute(
            "PRAGMA synchronous=NORMAL"
        )  # a power cut may cost the last transactions, never the file
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("catalog_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _locked_engine(url: URL, file: Path) -> Engine:
    """Open a file that can only be read."""
    options: dict[str, Any] = {"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False}
    return create_engine(
        url, creator=lambda: read_only.connect(file, sqlite3.Connection, **options), json_serializer=_to_json
    )


def _use_wal(connection: Any) -> None:
    """Switch the file to WAL. SQLite does not wait when two processes switch a new file at once, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _postgres_engine(url: URL) -> Engine:
    try:
        return create_engine(
            url, pool_pre_ping=True, connect_args={"connect_timeout": 10}, json_serializer=_to_json
        )
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise CatalogError(
            f"The driver for {masked(url.drivername)} is not installed: {error}.",
            hint='In the folder of the program: make install, or pip install ".[postgres]"',
        ) from error


def _upgrade(engine: Engine) -> None:
    with engine.connect() as connection:
        if _version(connection) == SCHEMA:
            return  # the usual case, without the time that importing Alembic takes
    with engine.execution_options(catalog_writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
        version = _version(connection)
        if version is None:
            _create(connection)
        elif version != SCHEMA:  # otherwise another process has upgraded it concurrently
            _check_known(engine, version)
            from indexer.catalog import migrations

            migrations.upgrade(connection)


def _create(connection: Connection) -> None:
    """Make the tables of a new catalog at once; the migrations would take ten times as long for the same tables."""
    Base.metadata.create_all(connection, checkfirst=False)
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:schema)"), {"schema": SCHEMA})


def _check_known(engine: Engine, version: str | None) -> None:
    from indexer.catalog import migrations

    known = migrations.known()
    if version is not None and version not in known:
        old = version < min(known)
        raise CatalogError(
            f"The catalog {_place(engine.url)} has schema {version}; this version reads {min(known)} to {SCHEMA}.",
            hint="It is older than version 0.1.0: index into a new home." if old else UPGRADE,
            found=version,
        )


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))
    return version


# -- errors --------------------------------------------------------------------------------------------------


@contextmanager
def _translated(url: URL) -> Iterator[None]:
    """Turn database errors inside the block into ours."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _ours(error, url) from error
    except UnicodeEncodeError as error:
        raise CatalogError(
            f"The catalog cannot hold {error.object!r}: it has characters that are not valid Unicode."
        ) from error


def _ours(error: SQLAlchemyError, url: URL) -> CatalogError:
    cause = str(error.orig) if isinstance(error, DBAPIError) and error.orig else str(error)
    reason = masked(" ".join(cause.split())).rstrip(".")
    hint = ""
    if "database is locked" in reason:
        hint = f"Another program has been writing for more than {BUSY_SECONDS} s. Wait for it, or stop it."
    elif "unable to open database file" in reason or "readonly database" in reason:
        hint = "Check that the folder exists and may be written, or set INDEXER_HOME."
    elif "malformed" in reason or "not a database" in reason:
        hint = RESTORE
    elif "disk I/O error" in reason or "disk is full" in reason:
        hint = "Check that there is space left on its disk, and run the command again."
    elif isinstance(error, OperationalError) and url.get_backend_name() == "postgresql":
        hint = "Check INDEXER_DATABASE, and that the server is up."
    return CatalogError(f"The catalog {_place(url)} cannot be used: {reason}.", hint=hint)


def _place(url: URL) -> str:
    return (
        str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    )


# -- JSON ----------------------------------------------------------------------------------------------------


def _to_json(value: Any) -> str:
    """JSON for options, counts and scores: NaN as null (PostgreSQL refuses it), numpy numbers as numbers."""
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy numbers and arrays
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


# -- fork ----------------------------------------------------------------------------------------------------

_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


def _forget_connections() -> None:
    """In a forked child: leave the parent's connections alone and make new ones."""
    for engine in _ENGINES:
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connections)
