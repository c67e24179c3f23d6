"""Reading SQLite files where no file may be created: a home on a read-only disk can be searched."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, TypeVar

C = TypeVar("C", bound=sqlite3.Connection)


def may_write(folder: Path) -> bool:
    """Return whether this process may create files in a folder."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def connect(file: Path, factory: type[C], **options: Any) -> C:
    """Connect to a file that this connection does not write to; options as for `sqlite3.connect`.

    Where no file may be created, SQLite cannot make its lock files either: there the file counts as immutable, and what
    a killed process left in its write-ahead log is not seen.
    """
    uri = file.absolute().as_uri()
    try:
        return _opened(f"{uri}?mode=ro", factory, options)
    except sqlite3.OperationalError:
        if may_write(file.parent):
            raise
        return _opened(f"{uri}?immutable=1", factory, options)


def _opened(uri: str, factory: type[C], options: dict[str, Any]) -> C:
    connection = sqlite3.connect(uri, uri=True, factory=factory, **options)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # reads the header: fails here
    except BaseException:
        connection.close()
        raise
    return connection
