"""The few things that all tables share: document ids to row numbers and back, and what text can be stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence


def doc_numbers(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Row numbers of the documents that there are."""
    wanted = set(ids)
    rows = connection.execute(
        "SELECT id, doc FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(wanted)),),
    )
    return {id_: doc for id_, doc in rows if id_ in wanted}


def doc_ids(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, str]:
    """Ids of rows."""
    rows = connection.execute(
        "SELECT doc, id FROM documents WHERE doc IN (SELECT value FROM json_each(?))",
        (json.dumps(list(docs)),),
    )
    return dict(rows)


def unencodable(text: str) -> str:
    """What keeps a text from being stored; empty when nothing does.

    Half a character of UTF-16 comes from broken JSON and from file names, and has no UTF-8.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a lone surrogate (U+{ord(text[error.start]):04X}) at {error.start}, which is no character"
    return ""
