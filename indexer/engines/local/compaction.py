"""Compaction: reclaim the space of dead rows.

A crash at any moment leaves the collection as before or after: new vector files are written under new names, one
transaction switches to them, and only then are the old ones removed.
"""

from __future__ import annotations

import sqlite3

import numpy as np

from indexer.engines.local.connections import Connections
from indexer.engines.local.facets import column
from indexer.engines.local.schema import TOPIC_FIELD
from indexer.engines.local.vectors import Vectors

DEAD = 0.2  # share of dead rows at which a file is rewritten: scans read them, a rewrite costs a full copy

_UNUSED = f"""
DELETE FROM facet_values WHERE field <> {TOPIC_FIELD}
    AND NOT EXISTS (SELECT 1 FROM doc_values d WHERE d.code = facet_values.code);
DELETE FROM names WHERE NOT EXISTS (SELECT 1 FROM mentions m WHERE m.phrase = names.code)
    AND NOT EXISTS (SELECT 1 FROM phrases p WHERE p.code = names.code)
    AND NOT EXISTS (SELECT 1 FROM changed_phrases c WHERE c.code = names.code);
INSERT INTO words(words) VALUES ('optimize')
"""


def compact(connections: Connections, vectors: Vectors) -> None:
    """Write vector files without their dead rows, drop unused dictionary entries, merge the word index."""
    with connections.writing(durable=True) as connection:
        _rewrite_documents(connection, vectors)
        _rewrite_mentions(connection, vectors)
        _rewrite_phrases(connection, vectors)
        for statement in _UNUSED.split(";"):
            connection.execute(statement)
    with connections.writing() as connection:
        vectors.remove_unused(connection)
    with connections.outside_transaction() as connection:
        connection.execute("PRAGMA analysis_limit = 1000")
        connection.execute("ANALYZE")
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        if free > DEAD * pages:
            connection.execute("VACUUM")
        # Readers of older snapshots hold the log open; SQLite truncates it later, when they have ended.
        connection.execute("PRAGMA busy_timeout = 200")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA busy_timeout = {int(connections.wait * 1000)}")


def is_worthwhile(connection: sqlite3.Connection) -> bool:
    """Return whether a vector file would be rewritten."""
    living = (
        ("documents", "SELECT count(*) FROM mined"),
        ("mentions", "SELECT coalesce(sum(mentions), 0) FROM mined"),
        ("phrases", "SELECT count(*) FROM phrases"),
    )
    return any(
        _is_worthwhile(connection, kind, *connection.execute(query).fetchone()) for kind, query in living
    )


def _is_worthwhile(connection: sqlite3.Connection, kind: str, living: int) -> bool:
    (rows,) = connection.execute("SELECT rows FROM vector_files WHERE kind = ?", (kind,)).fetchone()
    return bool(rows - living > DEAD * rows)


# In each of these, rows move towards the start, in order: a new slot is never that of a row still to move.


def _rewrite_documents(connection: sqlite3.Connection, vectors: Vectors) -> None:
    table = column(connection.execute("SELECT doc, slot FROM mined ORDER BY slot")).reshape(-1, 2)
    if _is_worthwhile(connection, "documents", len(table)):
        vectors.rewrite(connection, "documents", table[:, 1])
        connection.executemany(
            "UPDATE mined SET slot = ? WHERE doc = ?", list(enumerate(table[:, 0].tolist()))
        )


def _rewrite_mentions(connection: sqlite3.Connection, vectors: Vectors) -> None:
    cursor = connection.execute(
        "SELECT doc, first, mentions FROM mined WHERE first IS NOT NULL ORDER BY first"
    )
    docs, first, count = column(cursor).reshape(-1, 3).T
    if _is_worthwhile(connection, "mentions", int(count.sum())):
        moved = np.cumsum(count) - count
        slots = np.repeat(first - moved, count) + np.arange(int(count.sum()))
        vectors.rewrite(connection, "mentions", slots)
        connection.executemany(
            "UPDATE mined SET first = ? WHERE doc = ?", list(zip(moved.tolist(), docs.tolist(), strict=True))
        )


def _rewrite_phrases(connection: sqlite3.Connection, vectors: Vectors) -> None:
    table = column(connection.execute("SELECT code, slot FROM phrases ORDER BY slot")).reshape(-1, 2)
    if _is_worthwhile(connection, "phrases", len(table)):
        vectors.rewrite(connection, "phrases", table[:, 1])
        connection.executemany(
            "UPDATE phrases SET slot = ? WHERE code = ?", list(enumerate(table[:, 0].tolist()))
        )
