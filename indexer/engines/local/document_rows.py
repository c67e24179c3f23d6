"""Documents as they are stored: writing, changing, removing and reading back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from indexer.engines.base import Refused
from indexer.engines.local import mined
from indexer.engines.local.facets import replace_codes
from indexer.engines.local.row_ids import doc_numbers, numbers, select
from indexer.engines.local.values import Dictionary, meta_values
from indexer.engines.values import (
    meta_json,
    restored,
    unstorable,
    without_nuls,
)
from indexer.records import Document

_PAGE = 1_000


def store(connection: sqlite3.Connection, documents: Sequence[Document]) -> list[Refused]:
    """Write the documents that are new or changed; the rest is left as it is. The last one of an id counts."""
    refused, taken = [], {}
    for document in documents:
        reason = unstorable(document)
        if reason:
            refused.append(Refused(document.id, reason))
        else:
            taken[document.id] = document
    sql = "SELECT id, doc, hash, source FROM documents WHERE id IN ({})"
    old = {id_: rest for id_, *rest in select(connection, sql, taken)}
    changed = {}
    moved = []
    for document in taken.values():
        doc, hash_, source = old.get(document.id, (None, None, None))
        if hash_ != document.content_hash:
            changed[document.id] = document
        elif source != document.source:
            moved.append((document.source, doc))
    connection.executemany("UPDATE documents SET source = ? WHERE doc = ?", moved)
    (last,) = connection.execute("SELECT coalesce(max(doc), 0) FROM documents").fetchone()
    docs = {id_: old[id_][0] for id_ in changed if id_ in old}
    _remove(connection, list(docs.values()))
    docs |= {id_: doc for doc, id_ in enumerate((id_ for id_ in changed if id_ not in old), last + 1)}
    _insert(connection, [(docs[id_], document) for id_, document in changed.items()])
    return refused


def _insert(connection: sqlite3.Connection, documents: Sequence[tuple[int, Document]]) -> None:
    rows, texts = [], []
    for doc, document in documents:
        title, text, nuls = without_nuls(document.title, document.text)
        meta = meta_json(document.meta)
        rows.append((doc, document.id, document.content_hash, document.source, meta))
        texts.append((doc, nuls, title, text))
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO texts(doc, nuls, title, text) VALUES (?, ?, ?, ?)", texts)
    connection.executemany(
        "INSERT INTO words(rowid, title, text) VALUES (?, ?, ?)", [(doc, *both) for doc, _, *both in texts]
    )
    values = {doc: list(meta_values(document.meta)) for doc, document in documents}
    dictionary = Dictionary(connection)
    dictionary.learn(pair for pairs in values.values() for pair in pairs)
    replace_codes(
        connection,
        "meta",
        {doc: {dictionary.code(*pair): None for pair in pairs} for doc, pairs in values.items()},
    )


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Remove documents and all that hangs on them; returns how many there were."""
    docs = list(doc_numbers(connection, ids).values())
    _remove(connection, docs)
    replace_codes(connection, "meta", {doc: {} for doc in docs})
    return len(docs)


def _remove(connection: sqlite3.Connection, docs: Sequence[int]) -> None:
    """All but the codes of the user's fields, which may stay the same."""
    # The word index needs the old text to take it out again.
    connection.executemany(
        "INSERT INTO words(words, rowid, title, text, absent) SELECT 'delete', doc, title, text, absent FROM texts "
        "WHERE doc = ?",
        [(doc,) for doc in docs],
    )
    mined.forget(connection, docs)
    replace_codes(connection, "mined", {doc: {} for doc in docs})
    for table in ("documents", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", [(doc,) for doc in docs])


def all_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """One page of ids, ascending."""
    rows = connection.execute("SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?", (after, _PAGE))
    return [id_ for (id_,) in rows]


def read(connection: sqlite3.Connection, docs: Sequence[int]) -> Iterator[tuple[int, Document]]:
    rows = connection.execute(
        "SELECT doc, id, source, meta, nuls, title, text FROM documents JOIN texts USING (doc) "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (numbers(docs),),
    )
    for doc, id_, source, meta, nuls, title, text in rows:
        title, text = restored(title, text, nuls)
        yield doc, Document(id_, text, title, json.loads(meta), source)
