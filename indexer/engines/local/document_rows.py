"""Documents as they are stored, and what mining adds to them: vector, keyphrases, topics and mentions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indexer.engines.base import CHANGED, NO_DOCUMENT, Refused, Why
from indexer.engines.local import phrase_rows
from indexer.engines.local.facets import Dictionary, meta_values, mined_values, replace_codes
from indexer.engines.local.schema import doc_numbers, json_array, select
from indexer.engines.local.schema import storable_ids as storable_ids
from indexer.engines.local.vectors import Vectors, bad_vector, storable
from indexer.engines.values import meta_json, restored, unstorable, unstorable_mined, without_nuls
from indexer.records import Document, Keyphrase, MinedDocument, Place, Refinement, TopicWeight

_PAGE = 1_000
SEPARATOR = "\uf8ff"  # a private-use character, which the tokenizer treats as a word
_JSON = json.JSONEncoder(ensure_ascii=False)


def store(connection: sqlite3.Connection, documents: Sequence[Document]) -> list[Refused]:
    """Write new and changed documents. Of several with one id, the last one is written."""
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
    connection.executemany("INSERT INTO documents(doc, id, hash, source, meta) VALUES (?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO texts(doc, nuls, title, text) VALUES (?, ?, ?, ?)", texts)
    connection.executemany(
        "INSERT INTO words(rowid, title, text) VALUES (?, ?, ?)", [(doc, *both) for doc, _, *both in texts]
    )
    values = {doc: list(meta_values(document.meta)) for doc, document in documents}
    dictionary = Dictionary(connection)
    dictionary.add(pair for pairs in values.values() for pair in pairs)
    replace_codes(
        connection,
        "meta",
        {doc: {dictionary.code(*pair): None for pair in pairs} for doc, pairs in values.items()},
    )


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Remove documents with all their rows; returns the number removed."""
    docs = list(doc_numbers(connection, ids).values())
    _remove(connection, docs)
    replace_codes(connection, "meta", {doc: {} for doc in docs})
    return len(docs)


def _remove(connection: sqlite3.Connection, docs: Sequence[int]) -> None:
    """Remove all rows but the codes of the user's fields, which may stay the same."""
    # To remove a row, the word index needs its old text.
    connection.executemany(
        "INSERT INTO words(words, rowid, title, text, absent) SELECT 'delete', doc, title, text, absent FROM texts "
        "WHERE doc = ?",
        [(doc,) for doc in docs],
    )
    forget(connection, docs)
    replace_codes(connection, "mined", {doc: {} for doc in docs})
    for table in ("documents", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", [(doc,) for doc in docs])


def all_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """Return one page of ids, ascending."""
    rows = connection.execute("SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?", (after, _PAGE))
    return [id_ for (id_,) in rows]


def read(connection: sqlite3.Connection, docs: Sequence[int]) -> Iterator[tuple[int, Document]]:
    rows = connection.execute(
        "SELECT doc, id, source, meta, nuls, title, text FROM documents JOIN texts USING (doc) "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (json_array(docs),),
    )
    for doc, id_, source, meta, nuls, title, text in rows:
        title, text = restored(title, text, nuls)
        yield doc, Document(id_, text, title, json.loads(meta), source)


# -- mined: writing ------------------------------------------------------------------------------------------


def write_mined(
    connection: sqlite3.Connection, vectors: Vectors, rows: Sequence[MinedDocument]
) -> list[Refused]:
    """Replace the mined data of these documents. Of several rows with one id, the last one is written."""
    found = select(
        connection,
        "SELECT id, doc, hash FROM documents WHERE id IN ({})",
        storable_ids([row.id for row in rows]),
    )
    docs, hashes = {}, {}
    for id_, doc, hash_ in found:
        docs[id_], hashes[id_] = doc, hash_
    batch, refused = _valid_rows(rows, hashes, vectors.dims)
    if not batch:
        return refused
    kept = [list({mention.phrase_id: mention for mention in row.mentions}.values()) for row in batch]
    flat = [mention for rows_ in kept for mention in rows_]
    matrix = np.stack([*(row.vector for row in batch), *(mention.vector for mention in flat)])
    if not storable(matrix):
        reasons = {row.id: _bad_vectors(row, vectors.dims) for row in batch}
        refused += [Refused(id_, reason) for id_, reason in reasons.items() if reason]
        return refused + write_mined(connection, vectors, [row for row in batch if not reasons[row.id]])
    forget(connection, [docs[row.id] for row in batch])
    slot = vectors.append(connection, "documents", matrix[: len(batch)])
    first = vectors.append(connection, "mentions", matrix[len(batch) :])
    counts = list(map(len, kept))
    starts = (first + np.cumsum(counts) - counts).tolist()
    connection.executemany(
        "INSERT INTO mined VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                docs[row.id],
                slot + at,
                starts[at] if counts[at] else None,
                counts[at],
                row.bundle,
                row.run,
                _topics(row),
            )
            for at, row in enumerate(batch)
        ],
    )
    _write_values(connection, {docs[row.id]: row for row in batch}, Dictionary(connection))
    phrase_rows.insert_mentions(
        connection, {docs[row.id]: rows for row, rows in zip(batch, kept, strict=True)}
    )
    return refused


def refine(connection: sqlite3.Connection, rows: Sequence[Refinement]) -> list[Refused]:
    """Replace keyphrases and topics; the vectors stay."""
    docs = doc_numbers(connection, [row.id for row in rows])
    mined = set(_already(connection, docs.values()))
    refused, taken = [], {}
    for row in rows:
        why: Why = "unsound"
        if row.id not in docs:
            reason, why = NO_DOCUMENT, "missing"
        elif docs[row.id] not in mined:
            reason = "it has not been mined"
        else:
            reason = unstorable_mined(row)
        if reason:
            refused.append(Refused(row.id, reason, why))
        else:
            taken[docs[row.id]] = row
    connection.executemany(
        "UPDATE mined SET run = ?, topics = ? WHERE doc = ?",
        [(row.run, _topics(row), doc) for doc, row in taken.items()],
    )
    _write_values(connection, taken, Dictionary(connection))
    phrase_rows.set_topics(connection, {doc: row.mention_topics for doc, row in taken.items()})
    return refused


def forget(connection: sqlite3.Connection, docs: Collection[int]) -> None:
    """Remove the mined data of documents except their codes. Their vectors become dead rows."""
    there = [(doc,) for doc in {*_already(connection, docs), *phrase_rows.with_mentions(connection, docs)}]
    phrase_rows.remove_mentions(connection, [doc for (doc,) in there])
    for table in ("mined", "keyphrases"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", there)


def _already(connection: sqlite3.Connection, docs: Iterable[int]) -> list[int]:
    """Return which of these documents are mined."""
    sql = "SELECT doc FROM mined WHERE doc IN (SELECT value FROM json_each(?))"
    return [doc for (doc,) in connection.execute(sql, (json_array(docs),))]


def _write_values(
    connection: sqlite3.Connection, rows: Mapping[int, MinedDocument | Refinement], dictionary: Dictionary
) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO keyphrases VALUES (?, ?)",
        [(doc, _keyphrases(row)) for doc, row in rows.items()],
    )
    _write_absent(connection, {doc: _absent(row) for doc, row in rows.items()})
    values = {doc: list(mined_values(row.keyphrases, row.topics)) for doc, row in rows.items()}
    dictionary.add((field, value) for triples in values.values() for field, value, _ in triples)
    replace_codes(
        connection,
        "mined",
        {
            doc: {dictionary.code(field, value): weight for field, value, weight in triples}
            for doc, triples in values.items()
        },
    )


def _write_absent(connection: sqlite3.Connection, requested: Mapping[int, str]) -> None:
    """Update absent keyphrases in the word index, for documents where they changed."""
    sql = "SELECT doc, absent FROM texts WHERE doc IN (SELECT value FROM json_each(?))"
    old = dict(connection.execute(sql, (json_array(requested),)))
    changed = [(absent, doc) for doc, absent in requested.items() if old[doc] != absent]
    docs = [(doc,) for _, doc in changed]
    row = "doc, title, text, absent FROM texts WHERE doc = ?"
    # To remove a row, the word index needs its old text.
    connection.executemany(
        f"INSERT INTO words(words, rowid, title, text, absent) SELECT 'delete', {row}", docs
    )
    connection.executemany("UPDATE texts SET absent = ? WHERE doc = ?", changed)
    connection.executemany(f"INSERT INTO words(rowid, title, text, absent) SELECT {row}", docs)


def _absent(row: MinedDocument | Refinement) -> str:
    """Join absent keyphrases with a separator word that no query contains, so that no phrase spans two of them."""
    return f" {SEPARATOR} ".join(keyphrase.text for keyphrase in row.keyphrases if not keyphrase.present)


# -- validation --------------------------------------------------------------------------------------


def _valid_rows(
    rows: Sequence[MinedDocument], hashes: Mapping[str, str], dims: int
) -> tuple[list[MinedDocument], list[Refused]]:
    """Return the rows with valid shapes and texts, the last one of each id, and the refused ones."""
    refused, taken = [], {}
    for row in rows:
        why: Why = "unsound"
        if row.id not in hashes:
            reason, why = NO_DOCUMENT, "missing"
        elif row.content_hash != hashes[row.id]:
            reason, why = CHANGED, "changed"
        elif len(row.mentions) > phrase_rows.MAX_MENTIONS:
            reason = f"it has {len(row.mentions)} mentions, more than {phrase_rows.MAX_MENTIONS}"
        elif {row.vector.shape, *(mention.vector.shape for mention in row.mentions)} != {(dims,)}:
            reason = _bad_vectors(row, dims)
        else:
            reason = unstorable_mined(row)
        if reason:
            refused.append(Refused(row.id, reason, why))
        else:
            taken[row.id] = row
    return list(taken.values()), refused


def _bad_vectors(row: MinedDocument, dims: int) -> str:
    """Return the reason that one of its vectors cannot be stored; empty when all can."""
    vectors = [row.vector, *(mention.vector for mention in row.mentions)]
    return next(filter(None, (bad_vector(vector, dims) for vector in vectors)), "")


# -- serialization ----------------------------------------------------------------------------------------


def _keyphrases(row: MinedDocument | Refinement) -> str:
    rows = [
        [k.phrase_id, k.text, k.score, [[p.field, p.start, p.end] for p in k.places]] for k in row.keyphrases
    ]
    return _JSON.encode(rows)


def _topics(row: MinedDocument | Refinement) -> str:
    return _JSON.encode([[topic.topic_id, topic.weight] for topic in row.topics])


def _read_keyphrases(stored: str) -> tuple[Keyphrase, ...]:
    return tuple(
        Keyphrase(id_, text, score, tuple(Place(*place) for place in places))
        for id_, text, score, places in json.loads(stored)
    )


def _read_topics(stored: str) -> tuple[TopicWeight, ...]:
    return tuple(TopicWeight(id_, weight) for id_, weight in json.loads(stored))


# -- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Mined data of a document as a whole."""

    slot: int
    bundle: str
    run: str
    keyphrases: tuple[Keyphrase, ...]
    topics: tuple[TopicWeight, ...]


def summaries(connection: sqlite3.Connection, docs: Sequence[int]) -> dict[int, Summary]:
    """Map document rows to summaries; documents that are not mined are skipped."""
    rows = connection.execute(
        "SELECT doc, slot, bundle, run, keyphrases, topics FROM mined JOIN keyphrases USING (doc) "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (json_array(docs),),
    )
    return {
        doc: Summary(slot, bundle, run, _read_keyphrases(keyphrases), _read_topics(topics))
        for doc, slot, bundle, run, keyphrases, topics in rows
    }
