"""Documents as they are stored: writing, changing, removing and reading back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from indexer.engines.base import Refused
from indexer.engines.local import mined
from indexer.engines.local.rows import doc_numbers, unencodable
from indexer.engines.local.values import Dictionary, meta_values, replace_codes
from indexer.records import Document

LONGEST = 200_000_000  # characters of a title or text; SQLite takes 10^9 bytes to a row
_PAGE = 1_000


def store(connection: sqlite3.Connection, documents: Sequence[Document]) -> list[Refused]:
    """Write the documents that are new or changed; the rest is left as it is."""
    refused = []
    dictionary = Dictionary(connection)
    for document in documents:
        reason = _unstorable(document)
        if reason:
            refused.append(Refused(document.id, reason))
        else:
            _store_one(connection, document, dictionary)
    return refused


def _store_one(connection: sqlite3.Connection, document: Document, dictionary: Dictionary) -> None:
    hash_ = document.content_hash
    old = connection.execute(
        "SELECT doc, hash, source FROM documents WHERE id = ?", (document.id,)
    ).fetchone()
    if old and old[1] == hash_:
        if old[2] != document.source:
            connection.execute("UPDATE documents SET source = ? WHERE doc = ?", (document.source, old[0]))
        return
    if old:
        _unindex(connection, old[0])
        mined.forget(connection, old[0])
        connection.execute("DELETE FROM documents WHERE doc = ?", (old[0],))
    title, text, nuls = _without_nuls(document.title, document.text)
    doc = connection.execute(
        "INSERT INTO documents(doc, id, hash, source, meta, nuls, title, text) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            old[0] if old else None,
            document.id,
            hash_,
            document.source,
            json.dumps(dict(document.meta), ensure_ascii=False),
            nuls,
            title,
            text,
        ),
    ).lastrowid
    assert doc is not None
    connection.execute("INSERT INTO words(rowid, title, text) VALUES (?, ?, ?)", (doc, title, text))
    codes = {dictionary.code(field, value): None for field, value in meta_values(document.meta)}
    replace_codes(connection, doc, "meta", codes)


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Remove documents and all that hangs on them; returns how many there were."""
    docs = doc_numbers(connection, ids)
    for doc in docs.values():
        _unindex(connection, doc)
        mined.forget(connection, doc)
        replace_codes(connection, doc, "meta", {})
        connection.execute("DELETE FROM doc_codes WHERE doc = ?", (doc,))
        connection.execute("DELETE FROM documents WHERE doc = ?", (doc,))
    return len(docs)


def _unindex(connection: sqlite3.Connection, doc: int) -> None:
    """Take a document out of the word index, which needs the old text for it."""
    connection.execute(
        "INSERT INTO words(words, rowid, title, text) SELECT 'delete', doc, title, text FROM documents "
        "WHERE doc = ?",
        (doc,),
    )


def all_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """One page of ids, ascending."""
    rows = connection.execute("SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?", (after, _PAGE))
    return [id_ for (id_,) in rows]


def read(connection: sqlite3.Connection, docs: Sequence[int]) -> Iterator[tuple[int, Document]]:
    rows = connection.execute(
        "SELECT doc, id, source, meta, nuls, title, text FROM documents "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (json.dumps(list(docs)),),
    )
    for doc, id_, source, meta, nuls, title, text in rows:
        title, text = restored(title, text, nuls)
        yield doc, Document(id_, text, title, json.loads(meta), source)


# -- what can be stored --------------------------------------------------------------------------------------


def _unstorable(document: Document) -> str:
    """Why this document cannot be stored; empty when it can."""
    if not document.id or "\0" in document.id:
        return "the id is empty or has a NUL character in it"
    try:
        meta = json.dumps(dict(document.meta), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        return f"its fields cannot be written as JSON: {error}"
    parts: dict[str, Any] = {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "meta": meta,
        "source": document.source,
    }
    for name, content in parts.items():
        if len(content) > LONGEST:
            return f"{name} has {len(content):,} characters, more than {LONGEST:,}"
        reason = unencodable(content)
        if reason:
            return f"{name} has {reason}"
    return ""


def _without_nuls(title: str, text: str) -> tuple[str, str, str | None]:
    if "\0" not in title and "\0" not in text:
        return title, text, None
    places = [[at for at, char in enumerate(field) if char == "\0"] for field in (title, text)]
    return title.replace("\0", " "), text.replace("\0", " "), json.dumps(places)


def restored(title: str, text: str, nuls: str | None) -> tuple[str, str]:
    """Put NUL characters back where they were."""
    if nuls is None:
        return title, text
    fields = []
    for field, places in zip((title, text), json.loads(nuls), strict=True):
        chars = list(field)
        for at in places:
            chars[at] = "\0"
        fields.append("".join(chars))
    return fields[0], fields[1]
