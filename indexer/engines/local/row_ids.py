"""The few things that all tables share: document ids to row numbers and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from indexer.engines.values import unencodable

_CHUNK = 500  # values bound to one statement; SQLite took 999 at most before 3.32


def select(connection: sqlite3.Connection, sql: str, keys: Collection[Any], *before: Any) -> Iterator[Any]:
    """Rows of `sql`, in which ``IN ({})`` stands for all the keys; `before` is bound to what stands before it."""
    rest = list(keys)
    statement = sql.format(", ".join("?" * _CHUNK))
    for start in range(0, len(rest), _CHUNK):
        chunk = rest[start : start + _CHUNK]
        # Always as many as in the statement, so that SQLite prepares it once.
        yield from connection.execute(statement, [*before, *chunk, *[None] * (_CHUNK - len(chunk))])


def numbers(values: Iterable[int]) -> str:
    """Row numbers for ``IN (SELECT value FROM json_each(?))``: one value to bind, however many they are."""
    return json.dumps(list(values))


def doc_numbers(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Row numbers of the documents that there are."""
    return dict(select(connection, "SELECT id, doc FROM documents WHERE id IN ({})", storable(ids)))


def doc_ids(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, str]:
    """Ids of rows."""
    sql = "SELECT doc, id FROM documents WHERE doc IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, (numbers(docs),)))


def storable(ids: Collection[str]) -> list[str]:
    """The different ones of these ids without those that nothing can be stored under."""
    wanted = list(dict.fromkeys(ids))
    if not unencodable("".join(wanted)):
        return wanted
    return [id_ for id_ in wanted if not unencodable(id_)]
