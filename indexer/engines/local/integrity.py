"""SQLite's own checks of its file and of the word index, and what it can rebuild of them."""

from __future__ import annotations

import sqlite3

from indexer.errors import EngineUnavailable

# A full check reads each index entry; both stop at the first fault.
_QUICK, _FULL = "PRAGMA quick_check(1)", "PRAGMA integrity_check(1)"
_SOUND = "ok"
_WORDS = "INSERT INTO words(words, rank) VALUES ('integrity-check', 1)"  # compares it with the texts, too


def faults(connection: sqlite3.Connection, *, deep: bool) -> list[str]:
    """Return what is wrong, a sentence each. `deep` needs a connection that may write, and writes nothing."""
    found = []
    fault = _fault_of_file(connection, deep=deep)
    if fault:
        found.append(f"the SQLite file is damaged: {fault}")
    elif deep and not _words_fit(connection):
        found.append("the word index does not fit the texts")
    return found


def tables_damaged(connection: sqlite3.Connection) -> bool:
    """Return whether more than indexes is damaged: those can be rebuilt."""
    return bool(_fault_of_file(connection, deep=False))


def mend(connection: sqlite3.Connection, restore: str) -> None:
    """Rebuild indexes and the word index where they are damaged.

    Raises:
        EngineUnavailable: The tables themselves are damaged; the hint is `restore`.
    """
    if _fault_of_file(connection, deep=True):
        connection.execute("REINDEX")
        if fault := _fault_of_file(connection, deep=True):
            raise EngineUnavailable(f"The SQLite file cannot be repaired: {fault}", hint=restore)
    if not _words_fit(connection):
        connection.execute("INSERT INTO words(words) VALUES ('rebuild')")


def _fault_of_file(connection: sqlite3.Connection, *, deep: bool) -> str:
    try:
        (answer,) = connection.execute(_FULL if deep else _QUICK).fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        return str(error)
    return "" if answer == _SOUND else str(answer)


def _words_fit(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute(_WORDS)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return False
    return True
