"""Phrases, topics and mentions: the rows, and the list of phrases whose row is out of date."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.local.facets import Dictionary, topic_number, topic_value
from indexer.engines.local.schema import (
    FIELD_BITS,
    MENTION_BITS,
    TOPIC_FIELD,
    doc_numbers,
    json_array,
    select,
    storable_ids,
)
from indexer.engines.local.vectors import Vectors, bad_vector, from_half
from indexer.engines.values import unencodable
from indexer.errors import WriteRefused
from indexer.records import MentionRow, Outline, PhraseRow, Place, Vector

_PAGE = 1_000
_FIELDS = ("title", "text")
_FIELD_NUMBERS = {"title": 0, "text": 1}
_PLACE = struct.Struct("<3i")  # field, start, end
MAX_MENTIONS = (1 << MENTION_BITS) - 1

PHRASES_AT_ONCE = 128  # of the stream by phrase; bounds its memory
_NO_VECTOR = np.empty(0, np.float32)

# The keyphrases of a document are JSON, [["id", "text", …], …]. A quote in a text is escaped there, so the searched
# string occurs only where a keyphrase begins. Parsing the list for each mention would take far longer.
_COLUMNS = f"""
    m.mention & {MAX_MENTIONS}, d.id, n.id, n.phrase, coalesce(m.surface, n.phrase), m.score, m.places, s.text, t.value,
    instr(k.keyphrases, '["' || n.id || '", '), g.first
"""
_TABLES = f"""
    mentions m
    JOIN mined g ON g.doc = m.mention >> {MENTION_BITS}
    JOIN keyphrases k ON k.doc = m.mention >> {MENTION_BITS}
    JOIN documents d ON d.doc = m.mention >> {MENTION_BITS}
    JOIN names n ON n.code = m.phrase
    JOIN sentences s ON s.sentence = (m.mention & ~{MAX_MENTIONS} | m.sentence)
    LEFT JOIN facet_values t ON t.code = ({TOPIC_FIELD << FIELD_BITS} | m.topic)
"""


# -- phrases -------------------------------------------------------------------------------------------------


def known_names(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Return the row numbers of phrases that are stored."""
    return dict(select(connection, "SELECT id, code FROM names WHERE id IN ({})", storable_ids(ids)))


def name_codes(connection: sqlite3.Connection, phrases: Mapping[str, str]) -> dict[str, int]:
    """Return the row numbers of phrases (id ► normal form), assigned when they are new."""
    codes = known_names(connection, phrases)
    (last,) = connection.execute("SELECT coalesce(max(code), 0) FROM names").fetchone()
    new = [
        (code, id_, phrases[id_])
        for code, id_ in enumerate(sorted(id_ for id_ in phrases if id_ not in codes), last + 1)
    ]
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", new)
    return codes | {id_: code for code, id_, _ in new}


def change_count(connection: sqlite3.Connection) -> int:
    """Return a counter that increases whenever mentions are removed, and their phrases marked as changed."""
    found = connection.execute("SELECT value FROM state WHERE key = 'marks'").fetchone()
    return int(found[0]) if found else 0


def write_phrases(
    connection: sqlite3.Connection,
    vectors: Vectors,
    rows: Sequence[PhraseRow],
    still_changed: Collection[str],
) -> None:
    """Write or overwrite rows; an unchanged vector is not written again.

    Args:
        still_changed: Phrases that stay marked as changed.
    """
    batch = list({row.phrase_id: row for row in rows}.values())
    for row in batch:
        reason = bad_vector(row.vector, vectors.dims) or unencodable(
            "\n".join([row.phrase_id, row.phrase, *row.surfaces, *row.topics])
        )
        if reason:
            raise WriteRefused(f"Phrase {row.phrase_id} was refused: {reason}.")
    names = name_codes(connection, {row.phrase_id: row.phrase for row in batch})
    codes = [names[row.phrase_id] for row in batch]
    old = dict(
        connection.execute(
            "SELECT code, slot FROM phrases WHERE code IN (SELECT value FROM json_each(?))",
            (json_array(codes),),
        )
    )
    stored = vectors.rows(connection, "phrases")
    changed = [
        at
        for at, (code, row) in enumerate(zip(codes, batch, strict=True))
        if code not in old or not np.array_equal(stored[old[code]], row.vector.astype(np.float16))
    ]
    slots = [old.get(code, -1) for code in codes]
    if changed:
        first = vectors.append(connection, "phrases", np.stack([batch[at].vector for at in changed]))
        for slot, at in enumerate(changed, first):
            slots[at] = slot
    connection.executemany(
        "INSERT OR REPLACE INTO phrases VALUES (?, ?, ?, ?, ?)",
        [
            (code, slot, row.documents, _json(row.surfaces), _json(row.topics))
            for code, slot, row in zip(codes, slots, batch, strict=True)
        ],
    )
    unmarked = [(names[row.phrase_id],) for row in batch if row.phrase_id not in still_changed]
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", unmarked)


def delete_phrases(
    connection: sqlite3.Connection, ids: Sequence[str], still_changed: Collection[str]
) -> None:
    codes = known_names(connection, ids)
    connection.executemany("DELETE FROM phrases WHERE code = ?", [(code,) for code in codes.values()])
    unmarked = [(code,) for id_, code in codes.items() if id_ not in still_changed]
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", unmarked)


def page_of_changed(connection: sqlite3.Connection, after: int) -> list[tuple[int, str]]:
    """Return the next phrases whose row is out of date, as (number, id)."""
    return connection.execute(
        "SELECT c.code, n.id FROM changed_phrases c JOIN names n ON n.code = c.code WHERE c.code > ? "
        "ORDER BY c.code LIMIT ?",
        (after, _PAGE),
    ).fetchall()


def read_phrases(connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str]) -> list[PhraseRow]:
    """Return rows in the order given; unknown ids are skipped."""
    records = connection.execute(
        "SELECT n.id, n.phrase, p.surfaces, p.documents, p.topics, p.slot FROM names n "
        "JOIN phrases p ON p.code = n.code WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).fetchall()
    matrix = from_half(vectors.rows(connection, "phrases")[[record[-1] for record in records]])
    rows = {
        id_: PhraseRow(
            id_, phrase, tuple(json.loads(surfaces)), documents, tuple(json.loads(topics)), matrix[number]
        )
        for number, (id_, phrase, surfaces, documents, topics, _) in enumerate(records)
    }
    return [rows[id_] for id_ in ids if id_ in rows]


def ids_by_slot(connection: sqlite3.Connection, slots: Sequence[int]) -> dict[int, str]:
    """Map slots that hold the vector of a phrase to the phrase id; dead slots are skipped."""
    rows = connection.execute(
        "SELECT p.slot, n.id FROM phrases p JOIN names n ON n.code = p.code "
        "WHERE p.slot IN (SELECT value FROM json_each(?))",
        (json_array(slots),),
    )
    return dict(rows)


def page_of_phrase_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """Return the next ids, ascending."""
    rows = connection.execute(
        "SELECT n.id FROM names n WHERE n.id > ? AND EXISTS (SELECT 1 FROM phrases WHERE code = n.code) "
        "ORDER BY n.id LIMIT ?",
        (after, _PAGE),
    )
    return [id_ for (id_,) in rows]


def _json(items: Sequence[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)


# -- mentions: writing ---------------------------------------------------------------------------------------


def insert_mentions(connection: sqlite3.Connection, rows: Mapping[int, Sequence[MentionRow]]) -> None:
    """Insert the mentions of documents without mentions, in the order of their vectors."""
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


def with_mentions(connection: sqlite3.Connection, docs: Iterable[int]) -> list[int]:
    """Return which of these documents have mentions, with or without a row in `mined`."""
    numbers = f"BETWEEN value << {MENTION_BITS} AND value << {MENTION_BITS} | {MAX_MENTIONS}"
    rows = connection.execute(
        "SELECT value FROM json_each(?) WHERE "
        f"EXISTS (SELECT 1 FROM mentions WHERE mention {numbers}) OR "
        f"EXISTS (SELECT 1 FROM sentences WHERE sentence {numbers})",
        (json_array(docs),),
    )
    return [doc for (doc,) in rows]


def remove_mentions(connection: sqlite3.Connection, docs: Sequence[int]) -> None:
    ranges = [_range(doc) for doc in docs]
    connection.executemany(
        "INSERT OR IGNORE INTO changed_phrases SELECT phrase FROM mentions WHERE mention BETWEEN ? AND ?",
        ranges,
    )
    connection.execute(
        "INSERT INTO state VALUES ('marks', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
    )
    connection.executemany("DELETE FROM mentions WHERE mention BETWEEN ? AND ?", ranges)
    connection.executemany("DELETE FROM sentences WHERE sentence BETWEEN ? AND ?", ranges)


def set_topics(connection: sqlite3.Connection, rows: Mapping[int, Mapping[str, str | None]]) -> None:
    """Update the topics of mentions (phrase id ► topic id) where they differ from the stored ones."""
    names = known_names(connection, {phrase for row in rows.values() for phrase in row})
    topics = _topic_numbers(connection, {topic for row in rows.values() for topic in row.values()})
    changes = []
    for doc, row in rows.items():
        requested = {names[phrase]: topics[topic] for phrase, topic in row.items() if phrase in names}
        for mention, code, topic in connection.execute(
            "SELECT mention, phrase, topic FROM mentions WHERE mention BETWEEN ? AND ?", _range(doc)
        ):
            if requested.get(code, topic) != topic:
                changes.append((requested[code], mention))
    connection.executemany("UPDATE mentions SET topic = ? WHERE mention = ?", changes)


def _range(doc: int) -> tuple[int, int]:
    """Return the first and last possible number of a mention or sentence of the document."""
    return doc << MENTION_BITS, doc << MENTION_BITS | MAX_MENTIONS


def _topic_numbers(
    connection: sqlite3.Connection, topics: Collection[str | None]
) -> dict[str | None, int | None]:
    """Map topics to the numbers by which mention rows refer to them."""
    values = {topic: topic_value(topic) for topic in topics if topic is not None}
    dictionary = Dictionary(connection)
    dictionary.add(values.values())
    return {None: None} | {topic: topic_number(dictionary.code(*value)) for topic, value in values.items()}


def _packed_places(places: Sequence[Place]) -> bytes:
    return b"".join([_PLACE.pack(_FIELD_NUMBERS[place.field], place.start, place.end) for place in places])


def _unpacked_places(blob: bytes) -> tuple[Place, ...]:
    return tuple([Place(_FIELDS[field], start, end) for field, start, end in _PLACE.iter_unpack(blob)])


# -- mentions: reading ---------------------------------------------------------------------------------------


def mentions_of_documents(
    connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str]
) -> Iterator[list[MentionRow]]:
    """Iterate over the mention rows of each document, best first."""
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
            yield to_mentions(found, from_half(rows[[record[-1] + record[0] for record in found]]))


def outlines(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Outline]:
    """Return the phrases and topics of those documents that are mined."""
    docs = json_array(doc_numbers(connection, ids).values())
    phrases: dict[int, list[str]] = {}
    for doc, id_ in connection.execute(
        f"SELECT g.doc, n.id FROM (SELECT value AS wanted FROM json_each(?)) CROSS JOIN mined g ON g.doc = wanted "
        f"JOIN mentions m ON m.mention BETWEEN g.doc << {MENTION_BITS} AND g.doc << {MENTION_BITS} | {MAX_MENTIONS} "
        "JOIN names n ON n.code = m.phrase",
        (docs,),
    ):
        phrases.setdefault(doc, []).append(id_)
    mined = connection.execute(
        "SELECT doc, topics FROM mined WHERE doc IN (SELECT value FROM json_each(?))", (docs,)
    )
    return [
        Outline(tuple(phrases.get(doc, ())), tuple(id_ for id_, _ in json.loads(topics)))
        for doc, topics in mined
    ]


def near_sentences(
    connection: sqlite3.Connection, vectors: Vectors, query: Vector, ids: Sequence[str]
) -> Iterator[tuple[str, str, float]]:
    """Iterate over document id, sentence and cosine of each mention of some documents."""
    names = {doc: id_ for id_, doc in doc_numbers(connection, ids).items()}
    found = connection.execute(
        "SELECT d.value, s.text, g.first + (m.mention & ?) FROM json_each(?) d "
        "JOIN mined g ON g.doc = d.value "
        f"CROSS JOIN mentions m ON m.mention BETWEEN d.value << {MENTION_BITS} AND d.value << {MENTION_BITS} | ? "
        "JOIN sentences s ON s.sentence = (m.mention & ~? | m.sentence)",
        (MAX_MENTIONS, json.dumps(list(names)), MAX_MENTIONS, MAX_MENTIONS),
    ).fetchall()
    if found:
        rows = vectors.rows(connection, "mentions")[[slot for _, _, slot in found]]
        cosines = (from_half(rows) @ query).tolist()
        yield from ((names[doc], text, near) for (doc, text, _), near in zip(found, cosines, strict=True))


def mentions_by_slot(
    connection: sqlite3.Connection, vectors: Vectors, owners: Iterable[tuple[int, int]]
) -> list[MentionRow]:
    """Return the mention rows of (document row, position) pairs, in this order."""
    found = [
        connection.execute(
            f"SELECT {_COLUMNS} FROM {_TABLES} WHERE m.mention = ?", (doc << MENTION_BITS | at,)
        ).fetchone()
        for doc, at in owners
    ]
    rows = vectors.rows(connection, "mentions")
    return to_mentions(found, from_half(rows[[record[-1] + record[0] for record in found]])) if found else []


def page_of_phrases(connection: sqlite3.Connection, after: str) -> list[str]:
    """Return the next ids of phrases with mentions, ascending."""
    rows = connection.execute(
        "SELECT id FROM names n WHERE id > ? AND EXISTS (SELECT 1 FROM mentions WHERE phrase = n.code) "
        "ORDER BY id LIMIT ?",
        (after, PHRASES_AT_ONCE),
    )
    return [id_ for (id_,) in rows]


def mentions_by_phrase(
    connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str], limit: int
) -> list[list[MentionRow]]:
    """Return the mention rows of each of these phrases, in the order given; phrases without mentions are skipped."""
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
    # One gather for the page: the vectors of all groups, concatenated.
    slots = [record[-1] + record[0] for records in groups for record in records[:limit]]
    matrix = from_half(vectors.rows(connection, "mentions")[slots])
    rows, start = [], 0
    for records in groups:
        end = start + min(limit, len(records))
        rows.append(to_mentions(records, matrix[start:end]))
        start = end
    return rows


def _chance(document_id: str) -> bytes:
    """Return a sort key of documents that depends on their ids only."""
    return blake2b(document_id.encode("utf-8"), digest_size=8).digest()


def to_mentions(records: Sequence[Any], vectors: NDArray[np.float32]) -> list[MentionRow]:
    """Convert records of `_COLUMNS` to rows; those past the end of `vectors` get an empty vector."""
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
