"""Near duplicates: a column of the documents, empty where a document is a near duplicate of none."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from indexer.engines.local.schema import WITH_DUPLICATES, json_array
from indexer.engines.values import bindable

NAME = "duplicate_of"


def write(connection: sqlite3.Connection, originals: Mapping[str, str | None]) -> None:
    """Set the originals of documents, by their ids; unknown ones are ignored."""
    connection.executemany(
        "UPDATE documents SET duplicate_of = ? WHERE id = ?",
        [(original, bindable(id_)) for id_, original in originals.items()],
    )


def read(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the original of each near duplicate, by their ids."""
    return dict(connection.execute(f"SELECT id, original FROM {_table(connection)}"))


def of(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, str]:
    """Return the originals of those of these documents that are near duplicates."""
    sql = f"SELECT doc, original FROM {_table(connection)} WHERE doc IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, (json_array(docs),)))


def condition(connection: sqlite3.Connection, operator: str, original: str) -> tuple[str, list[Any]]:
    """Return SQL for the near duplicates of an original; without one, for all."""
    if not original:
        return f"SELECT doc FROM {_table(connection)}", []
    return f"SELECT doc FROM {_table(connection)} WHERE original {operator} ?", [bindable(original)]


def counts(
    connection: sqlite3.Connection, docs: np.ndarray[Any, Any] | None, size: int
) -> tuple[tuple[str, int], ...]:
    """Return the originals with most near duplicates among these documents, or all; ties by id."""
    rows = connection.execute(f"SELECT doc, original FROM {_table(connection)}").fetchall()
    within = np.ones(len(rows), np.bool_) if docs is None else np.isin([doc for doc, _ in rows], docs)
    counted = Counter(original for (_, original), inside in zip(rows, within, strict=True) if inside)
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:size])


def _table(connection: sqlite3.Connection) -> str:
    """Return the near duplicates as a table; empty in a file of an earlier version, which readers do not upgrade."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < WITH_DUPLICATES:
        return "(SELECT 0 AS doc, '' AS id, '' AS original WHERE 0)"
    return "(SELECT doc, id, duplicate_of AS original FROM documents WHERE duplicate_of IS NOT NULL)"
