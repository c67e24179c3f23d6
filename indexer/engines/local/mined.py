"""What mining adds to documents: vector, keyphrases, topics, and a mention row for each kept phrase."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import Refused
from indexer.engines.local.rows import doc_numbers, unencodable
from indexer.engines.local.schema import FIELD_BITS, TOPIC, TOPIC_FIELD
from indexer.engines.local.values import Dictionary, Value, mined_values, replace_codes, topic_number
from indexer.engines.local.vectors import Vectors, unit
from indexer.records import Keyphrase, MentionRow, MinedDocument, Place, Refinement, TopicWeight, Vector

_FIELDS = ("title", "text")
PHRASES_AT_ONCE = 128  # of the stream by phrase; bounds its memory
_NO_VECTOR = np.empty(0, np.float32)

_MENTION_COLUMNS = """
    m.position, d.id, n.id, n.phrase, coalesce(m.surface, n.phrase), m.score, m.places, s.text, t.value,
    g.first
"""
_MENTION_TABLES = f"""
    mentions m
    JOIN mined g ON g.doc = m.doc
    JOIN documents d ON d.doc = m.doc
    JOIN names n ON n.code = m.phrase
    JOIN sentences s ON s.doc = m.doc AND s.position = m.sentence
    LEFT JOIN facet_values t ON t.code = ({TOPIC_FIELD << FIELD_BITS} | m.topic)
"""


# -- writing -------------------------------------------------------------------------------------------------


def write(connection: sqlite3.Connection, vectors: Vectors, rows: Sequence[MinedDocument]) -> list[Refused]:
    """Replace what is stored of these documents; the last row of an id counts."""
    docs = doc_numbers(connection, [row.id for row in rows])
    refused, taken = [], {}
    for row in rows:
        reason = "there is no such document" if row.id not in docs else _unstorable(row, vectors.dims)
        if reason:
            refused.append(Refused(row.id, reason))
        else:
            taken[row.id] = row
    if not taken:
        return refused
    batch = list(taken.values())
    mentions = [list({mention.phrase_id: mention for mention in row.mentions}.values()) for row in batch]
    slot = vectors.append(connection, "documents", np.stack([row.vector for row in batch]))
    flat = [mention.vector for kept in mentions for mention in kept]
    first = vectors.append(connection, "mentions", np.stack(flat)) if flat else 0
    dictionary = Dictionary(connection)
    names = Names(connection)
    for row, kept in zip(batch, mentions, strict=True):
        doc = docs[row.id]
        forget(connection, doc, values=False)
        connection.execute(
            "INSERT INTO mined VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (doc, slot, first if kept else None, len(kept), row.bundle, row.run, *_summary(row)),
        )
        _write_values(connection, doc, row, dictionary)
        _write_mentions(connection, doc, kept, dictionary, names)
        slot += 1
        first += len(kept)
    return refused


def refine(connection: sqlite3.Connection, rows: Sequence[Refinement]) -> list[Refused]:
    """Replace keyphrases and topics; the vectors stay."""
    docs = doc_numbers(connection, [row.id for row in rows])
    dictionary = Dictionary(connection)
    names = Names(connection)
    refused = []
    for row in rows:
        reason = "there is no such document" if row.id not in docs else _unencodable(row)
        if not reason:
            changed = connection.execute(
                "UPDATE mined SET run = ?, keyphrases = ?, topics = ? WHERE doc = ?",
                (row.run, *_summary(row), docs[row.id]),
            ).rowcount
            reason = "" if changed else "it has not been mined"
        if reason:
            refused.append(Refused(row.id, reason))
            continue
        doc = docs[row.id]
        _write_values(connection, doc, row, dictionary)
        connection.executemany(
            "UPDATE mentions SET topic = ? WHERE doc = ? AND phrase = ?",
            [
                (_topic(dictionary, topic), doc, names.known(phrase))
                for phrase, topic in row.mention_topics.items()
            ],
        )
    return refused


def forget(connection: sqlite3.Connection, doc: int, *, values: bool = True) -> None:
    """Remove what was mined of a document. Its vectors become dead rows."""
    connection.execute("DELETE FROM mined WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM mentions WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM sentences WHERE doc = ?", (doc,))
    if values:
        replace_codes(connection, doc, "mined", {})


def _write_values(
    connection: sqlite3.Connection, doc: int, row: MinedDocument | Refinement, dictionary: Dictionary
) -> None:
    codes: dict[int, float | None] = {}
    for field, value, weight in mined_values(row.keyphrases, row.topics):
        codes[dictionary.code(field, value)] = weight
    replace_codes(connection, doc, "mined", codes)


def _write_mentions(
    connection: sqlite3.Connection,
    doc: int,
    rows: Sequence[MentionRow],
    dictionary: Dictionary,
    names: Names,
) -> None:
    sentences: dict[str, int] = {}
    for row in rows:
        sentences.setdefault(row.sentence, len(sentences))
    connection.executemany(
        "INSERT INTO sentences VALUES (?, ?, ?)", [(doc, at, text) for text, at in sentences.items()]
    )
    connection.executemany(
        "INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                doc,
                names.code(row.phrase_id, row.phrase),
                position,
                row.score,
                _topic(dictionary, row.topic),
                sentences[row.sentence],
                None if row.surface == row.phrase else row.surface,
                _packed_places(row.places),
            )
            for position, row in enumerate(rows)
        ],
    )


def _topic(dictionary: Dictionary, topic: str | None) -> int | None:
    return None if topic is None else topic_number(dictionary.code(TOPIC, Value(topic, topic)))


class Names:
    """Row numbers of phrases, made when they are new. For one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._codes: dict[str, int | None] = {}

    def known(self, id_: str) -> int | None:
        """None for a phrase that was never stored."""
        if id_ not in self._codes:
            row = self._connection.execute("SELECT code FROM names WHERE id = ?", (id_,)).fetchone()
            self._codes[id_] = row[0] if row else None
        return self._codes[id_]

    def code(self, id_: str, phrase: str) -> int:
        code = self.known(id_)
        if code is None:
            code = self._connection.execute(
                "INSERT INTO names(id, phrase) VALUES (?, ?)", (id_, phrase)
            ).lastrowid
            assert code is not None
            self._codes[id_] = code
        return code


# -- what can be stored --------------------------------------------------------------------------------------


def _unstorable(row: MinedDocument, dims: int) -> str:
    for vector in (row.vector, *(mention.vector for mention in row.mentions)):
        reason = bad_vector(vector, dims)
        if reason:
            return reason
    return _unencodable(row)


def bad_vector(vector: Vector, dims: int) -> str:
    """Why a vector cannot be stored; empty when it can."""
    if vector.shape != (dims,):
        return f"a vector has {vector.size} numbers, the collection has {dims}"
    # One product instead of a test of each number: NaN and infinity survive it.
    return "" if np.isfinite(np.dot(vector, vector)) else "a vector has NaN or infinity in it"


def _unencodable(row: MinedDocument | Refinement) -> str:
    parts = [row.run, *_summary(row)]
    if isinstance(row, MinedDocument):
        parts.append(row.bundle)
        for mention in row.mentions:
            parts += [
                mention.phrase_id,
                mention.phrase,
                mention.surface,
                mention.sentence,
                mention.topic or "",
            ]
    else:
        parts += [part for pair in row.mention_topics.items() for part in pair if part]
    reason = unencodable("\n".join(parts))
    return f"what was mined has {reason}" if reason else ""


# -- how it is stored ----------------------------------------------------------------------------------------


def _summary(row: MinedDocument | Refinement) -> tuple[str, str]:
    """Keyphrases and topics as JSON."""
    keyphrases = [
        [k.phrase_id, k.text, k.score, [[p.field, p.start, p.end] for p in k.places]] for k in row.keyphrases
    ]
    topics = [[t.topic_id, t.weight] for t in row.topics]
    return json.dumps(keyphrases, ensure_ascii=False), json.dumps(topics, ensure_ascii=False)


def _read_keyphrases(stored: str) -> tuple[Keyphrase, ...]:
    return tuple(
        Keyphrase(id_, text, score, tuple(Place(*place) for place in places))
        for id_, text, score, places in json.loads(stored)
    )


def _read_topics(stored: str) -> tuple[TopicWeight, ...]:
    return tuple(TopicWeight(id_, weight) for id_, weight in json.loads(stored))


def _packed_places(places: Sequence[Place]) -> bytes:
    """Three int32 a place: field (0 title, 1 text), start, end."""
    numbers = [number for p in places for number in (_FIELDS.index(p.field), p.start, p.end)]
    return struct.pack(f"<{len(numbers)}i", *numbers)


def _unpacked_places(blob: bytes) -> tuple[Place, ...]:
    return tuple(Place(_FIELDS[field], start, end) for field, start, end in struct.iter_unpack("<3i", blob))


# -- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """What mining says of a document as a whole."""

    slot: int
    bundle: str
    run: str
    keyphrases: tuple[Keyphrase, ...]
    topics: tuple[TopicWeight, ...]


def of_docs(connection: sqlite3.Connection, docs: Sequence[int]) -> dict[int, Summary]:
    """By document row; those that were not mined are left out."""
    rows = connection.execute(
        "SELECT doc, slot, bundle, run, keyphrases, topics FROM mined "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (json.dumps(list(docs)),),
    )
    return {
        doc: Summary(slot, bundle, run, _read_keyphrases(keyphrases), _read_topics(topics))
        for doc, slot, bundle, run, keyphrases, topics in rows
    }


def of_documents(
    connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str]
) -> Iterator[list[MentionRow]]:
    """The mention rows of each document in turn, best first."""
    docs = doc_numbers(connection, ids)
    rows = vectors.rows(connection, "mentions")
    for id_ in ids:
        if id_ not in docs:
            continue
        found = connection.execute(
            f"SELECT {_MENTION_COLUMNS} FROM {_MENTION_TABLES} WHERE m.doc = ? ORDER BY m.score DESC, n.id",
            (docs[id_],),
        ).fetchall()
        if found:
            yield to_rows(found, unit(rows[[record[-1] + record[0] for record in found]]))


def by_slot(
    connection: sqlite3.Connection, vectors: Vectors, owners: Iterable[tuple[int, int]]
) -> list[MentionRow]:
    """Mention rows from (document row, position), in this order."""
    found = [
        connection.execute(
            f"SELECT {_MENTION_COLUMNS} FROM {_MENTION_TABLES} WHERE m.doc = ? AND m.position = ?", owner
        ).fetchone()
        for owner in owners
    ]
    rows = vectors.rows(connection, "mentions")
    return to_rows(found, unit(rows[[record[-1] + record[0] for record in found]])) if found else []


def page_of_phrases(connection: sqlite3.Connection, after: str) -> list[str]:
    """The next ids of phrases that have mentions, ascending."""
    rows = connection.execute(
        "SELECT id FROM names n WHERE id > ? AND EXISTS (SELECT 1 FROM mentions WHERE phrase = n.code) "
        "ORDER BY id LIMIT ?",
        (after, PHRASES_AT_ONCE),
    )
    return [id_ for (id_,) in rows]


def by_phrase(
    connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str], limit: int
) -> list[list[MentionRow]]:
    """Mention rows of each of these phrases, in the order given; phrases without any are left out."""
    found: dict[str, list[Any]] = {id_: [] for id_ in ids}
    cursor = connection.execute(
        f"SELECT {_MENTION_COLUMNS} FROM (SELECT code AS wanted FROM names "
        f"WHERE id IN (SELECT value FROM json_each(?))) CROSS JOIN {_MENTION_TABLES} WHERE m.phrase = wanted",
        (json.dumps(list(found)),),
    )
    for record in cursor:
        if record[2] in found:
            found[record[2]].append(record)
    rows = vectors.rows(connection, "mentions")
    groups = []
    for records in found.values():
        if records:
            records.sort(key=lambda record: _chance(record[1]))
            kept = unit(rows[[record[-1] + record[0] for record in records[:limit]]])
            groups.append(to_rows(records, kept))
    return groups


def _chance(document_id: str) -> bytes:
    """An order of documents that depends on nothing but their ids."""
    return blake2b(document_id.encode("utf-8"), digest_size=8).digest()


def to_rows(records: Sequence[Any], vectors: NDArray[np.float32]) -> list[MentionRow]:
    """Records of `_MENTION_COLUMNS` as rows; those past the end of `vectors` get an empty one."""
    return [
        MentionRow(
            document_id=document,
            phrase_id=phrase_id,
            phrase=phrase,
            surface=surface,
            score=score,
            places=_unpacked_places(places),
            sentence=sentence,
            vector=vectors[number] if number < len(vectors) else _NO_VECTOR,
            topic=topic,
        )
        for number, (_, document, phrase_id, phrase, surface, score, places, sentence, topic, _) in enumerate(
            records
        )
    ]


def frequencies(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """In how many documents each phrase has a mention row."""
    rows = connection.execute(
        "SELECT n.id, (SELECT count(*) FROM mentions WHERE phrase = n.code) FROM names n "
        "WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    known = dict(rows)
    return {id_: known.get(id_, 0) for id_ in ids}
