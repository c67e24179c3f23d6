"""Mention rows: a phrase kept for a document, with its places, its sentence and its topic."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.local.phrase_rows import known_names, mark_changed, name_codes
from indexer.engines.local.row_ids import doc_numbers
from indexer.engines.local.schema import FIELD_BITS, MENTION_BITS, TOPIC_FIELD
from indexer.engines.local.values import Dictionary, topic_number, topic_value
from indexer.engines.local.vectors import Vectors, unit
from indexer.records import MentionRow, Place

_FIELDS = ("title", "text")
_FIELD_NUMBERS = {"title": 0, "text": 1}
_PLACE = struct.Struct("<3i")  # field, start, end
LAST = (1 << MENTION_BITS) - 1

PHRASES_AT_ONCE = 128  # of the stream by phrase; bounds its memory
_NO_VECTOR = np.empty(0, np.float32)

# The keyphrases of a document are JSON, [["id", "text", …], …]: a quote in a text is escaped there, so what is looked
# for stands only where a keyphrase begins. Parsing each list for each of its mentions would take far longer.
_COLUMNS = f"""
    m.mention & {LAST}, d.id, n.id, n.phrase, coalesce(m.surface, n.phrase), m.score, m.places, s.text, t.value,
    instr(k.keyphrases, '["' || n.id || '", '), g.first
"""
_TABLES = f"""
    mentions m
    JOIN mined g ON g.doc = m.mention >> {MENTION_BITS}
    JOIN keyphrases k ON k.doc = m.mention >> {MENTION_BITS}
    JOIN documents d ON d.doc = m.mention >> {MENTION_BITS}
    JOIN names n ON n.code = m.phrase
    JOIN sentences s ON s.sentence = (m.mention & ~{LAST} | m.sentence)
    LEFT JOIN facet_values t ON t.code = ({TOPIC_FIELD << FIELD_BITS} | m.topic)
"""


# -- writing -------------------------------------------------------------------------------------------------


def insert(connection: sqlite3.Connection, rows: Mapping[int, Sequence[MentionRow]]) -> None:
    """Write the mentions of documents that have none, in the order of their vectors."""
    flat = [row for kept in rows.values() for row in kept]
    names = name_codes(connection, {row.phrase_id: row.phrase for row in flat})
    topics = _topic_numbers(connection, {row.topic for row in flat})
    texts, mentions = [], []
    for doc, kept in rows.items():
        sentences: dict[str, int] = {}
        for position, row in enumerate(kept):
            mentions.append(
                (
                    doc << MENTION_BITS | position,
                    names[row.phrase_id],
                    row.score,
                    topics[row.topic],
                    sentences.setdefault(row.sentence, len(sentences)),
                    None if row.surface == row.phrase else row.surface,
                    _packed_places(row.places),
                )
            )
        texts += [(doc << MENTION_BITS | number, text) for text, number in sentences.items()]
    connection.executemany("INSERT INTO sentences VALUES (?, ?)", texts)
    connection.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?, ?)", mentions)
    mark_changed(connection, names.values())


def remove(connection: sqlite3.Connection, docs: Sequence[int]) -> None:
    ranges = [_range(doc) for doc in docs]
    connection.executemany(
        "INSERT OR IGNORE INTO changed_phrases SELECT phrase FROM mentions WHERE mention BETWEEN ? AND ?",
        ranges,
    )
    connection.executemany("DELETE FROM mentions WHERE mention BETWEEN ? AND ?", ranges)
    connection.executemany("DELETE FROM sentences WHERE sentence BETWEEN ? AND ?", ranges)


def set_topics(connection: sqlite3.Connection, rows: Mapping[int, Mapping[str, str | None]]) -> None:
    """Set the topics of some mentions (phrase id ► topic id) where they differ from what is stored."""
    names = known_names(connection, {phrase for row in rows.values() for phrase in row})
    topics = _topic_numbers(connection, {topic for row in rows.values() for topic in row.values()})
    changes, changed = [], set()
    for doc, row in rows.items():
        wanted = {names[phrase]: topics[topic] for phrase, topic in row.items() if phrase in names}
        for mention, code, topic in connection.execute(
            "SELECT mention, phrase, topic FROM mentions WHERE mention BETWEEN ? AND ?", _range(doc)
        ):
            if wanted.get(code, topic) != topic:
                changes.append((wanted[code], mention))
                changed.add(code)
    connection.executemany("UPDATE mentions SET topic = ? WHERE mention = ?", changes)
    mark_changed(connection, changed)


def _range(doc: int) -> tuple[int, int]:
    """First and last number that a mention or sentence of the document can have."""
    return doc << MENTION_BITS, doc << MENTION_BITS | LAST


def _topic_numbers(
    connection: sqlite3.Connection, topics: Collection[str | None]
) -> dict[str | None, int | None]:
    """Topics as mention rows refer to them."""
    values = {topic: topic_value(topic) for topic in topics if topic is not None}
    dictionary = Dictionary(connection)
    dictionary.learn(values.values())
    return {None: None} | {topic: topic_number(dictionary.code(*value)) for topic, value in values.items()}


def _packed_places(places: Sequence[Place]) -> bytes:
    return b"".join([_PLACE.pack(_FIELD_NUMBERS[place.field], place.start, place.end) for place in places])


def _unpacked_places(blob: bytes) -> tuple[Place, ...]:
    return tuple([Place(_FIELDS[field], start, end) for field, start, end in _PLACE.iter_unpack(blob)])


# -- reading -------------------------------------------------------------------------------------------------


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
            f"SELECT {_COLUMNS} FROM {_TABLES} WHERE m.mention BETWEEN ? AND ? ORDER BY m.score DESC, n.id",
            _range(docs[id_]),
        ).fetchall()
        if found:
            yield to_rows(found, unit(rows[[record[-1] + record[0] for record in found]]))


def by_slot(
    connection: sqlite3.Connection, vectors: Vectors, owners: Iterable[tuple[int, int]]
) -> list[MentionRow]:
    """Mention rows from (document row, position), in this order."""
    found = [
        connection.execute(
            f"SELECT {_COLUMNS} FROM {_TABLES} WHERE m.mention = ?",
            (doc << MENTION_BITS | at,),
        ).fetchone()
        for doc, at in owners
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
        f"SELECT {_COLUMNS} FROM (SELECT code AS wanted FROM names "
        f"WHERE id IN (SELECT value FROM json_each(?))) CROSS JOIN {_TABLES} WHERE m.phrase = wanted",
        (json.dumps(list(found)),),
    )
    for record in cursor:
        if record[2] in found:
            found[record[2]].append(record)
    groups = [records for records in found.values() if records]
    for records in groups:
        if len(records) > limit:
            records.sort(key=lambda record: _chance(record[1]))
    # One gather for the page: rows with a vector from all groups, one group behind the other.
    slots = [record[-1] + record[0] for records in groups for record in records[:limit]]
    matrix = unit(vectors.rows(connection, "mentions")[slots])
    rows, start = [], 0
    for records in groups:
        end = start + min(limit, len(records))
        rows.append(to_rows(records, matrix[start:end]))
        start = end
    return rows


def _chance(document_id: str) -> bytes:
    """An order of documents that depends on nothing but their ids."""
    return blake2b(document_id.encode("utf-8"), digest_size=8).digest()


def to_rows(records: Sequence[Any], vectors: NDArray[np.float32]) -> list[MentionRow]:
    """Records of `_COLUMNS` as rows; those past the end of `vectors` get an empty one."""
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
            keyphrase=bool(chosen),
        )
        for number, (
            _, document, phrase_id, phrase, surface, score, places, sentence, topic, chosen, _
        ) in enumerate(records)
    ]  # fmt: skip


def frequencies(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """In how many documents each phrase has a mention row."""
    rows = connection.execute(
        "SELECT n.id, (SELECT count(*) FROM mentions WHERE phrase = n.code) FROM names n "
        "WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    known = dict(rows)
    return {id_: known.get(id_, 0) for id_ in ids}
