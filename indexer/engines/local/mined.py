"""What mining adds to documents: vector, keyphrases, topics, and a mention row for each kept phrase."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import Refused
from indexer.engines.local.facets import replace_codes
from indexer.engines.local.rows import doc_numbers, numbers, select, unencodable
from indexer.engines.local.schema import FIELD_BITS, MENTION_BITS, TOPIC_FIELD
from indexer.engines.local.values import (
    Dictionary,
    mined_values,
    topic_number,
    topic_value,
)
from indexer.engines.local.vectors import Vectors, unit
from indexer.records import Keyphrase, MentionRow, MinedDocument, Place, Refinement, TopicWeight, Vector

_FIELDS = ("title", "text")
_FIELD_NUMBERS = {"title": 0, "text": 1}
_PLACE = struct.Struct("<3i")  # field, start, end
LAST_MENTION = (1 << MENTION_BITS) - 1

PHRASES_AT_ONCE = 128  # of the stream by phrase; bounds its memory
_JSON = json.JSONEncoder(ensure_ascii=False)
_NO_VECTOR = np.empty(0, np.float32)

_MENTION_COLUMNS = f"""
    m.mention & {LAST_MENTION}, d.id, n.id, n.phrase, coalesce(m.surface, n.phrase), m.score, m.places, s.text, t.value,
    g.first
"""
_MENTION_TABLES = f"""
    mentions m
    JOIN mined g ON g.doc = m.mention >> {MENTION_BITS}
    JOIN documents d ON d.doc = m.mention >> {MENTION_BITS}
    JOIN names n ON n.code = m.phrase
    JOIN sentences s ON s.sentence = (m.mention & ~{LAST_MENTION} | m.sentence)
    LEFT JOIN facet_values t ON t.code = ({TOPIC_FIELD << FIELD_BITS} | m.topic)
"""


# -- writing -------------------------------------------------------------------------------------------------


def write(connection: sqlite3.Connection, vectors: Vectors, rows: Sequence[MinedDocument]) -> list[Refused]:
    """Replace what is stored of these documents; the last row of an id counts."""
    docs = doc_numbers(connection, [row.id for row in rows])
    batch, refused = _sound(rows, docs, vectors.dims)
    if not batch:
        return refused
    mentions = [list({mention.phrase_id: mention for mention in row.mentions}.values()) for row in batch]
    flat = [mention for kept in mentions for mention in kept]
    matrix = np.stack([*(row.vector for row in batch), *(mention.vector for mention in flat)])
    if not np.isfinite(matrix.sum(axis=1)).all():  # NaN and infinity survive a sum; now find whose they are
        reasons = {row.id: _bad_vectors(row, vectors.dims) for row in batch}
        refused += [Refused(id_, reason) for id_, reason in reasons.items() if reason]
        return refused + write(connection, vectors, [row for row in batch if not reasons[row.id]])
    _mark_choices(connection, {docs[row.id]: _chosen(row) for row in batch})
    forget(connection, [docs[row.id] for row in batch])
    slot = vectors.append(connection, "documents", matrix[: len(batch)])
    first = vectors.append(connection, "mentions", matrix[len(batch) :])
    ends = np.cumsum([len(kept) for kept in mentions]).tolist()
    connection.executemany(
        "INSERT INTO mined VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                docs[row.id],
                slot + number,
                first + end - len(kept) if kept else None,
                len(kept),
                row.bundle,
                row.run,
                _topics(row),
            )
            for number, (row, kept, end) in enumerate(zip(batch, mentions, ends, strict=True))
        ],
    )
    dictionary = Dictionary(connection)
    _write_values(connection, {docs[row.id]: row for row in batch}, dictionary)
    names = name_codes(connection, {mention.phrase_id: mention.phrase for mention in flat})
    mark_changed(connection, names.values())
    topics = _topic_numbers(dictionary, {mention.topic for mention in flat})
    _write_mentions(
        connection, {docs[row.id]: kept for row, kept in zip(batch, mentions, strict=True)}, topics, names
    )
    return refused


def refine(connection: sqlite3.Connection, rows: Sequence[Refinement]) -> list[Refused]:
    """Replace keyphrases and topics; the vectors stay."""
    docs = doc_numbers(connection, [row.id for row in rows])
    mined = set(_already(connection, docs.values()))
    refused, taken = [], {}
    for row in rows:
        if row.id not in docs:
            reason = "there is no such document"
        elif docs[row.id] not in mined:
            reason = "it has not been mined"
        else:
            reason = _unencodable(row)
        if reason:
            refused.append(Refused(row.id, reason))
        else:
            taken[docs[row.id]] = row
    _mark_choices(connection, {doc: _chosen(row) for doc, row in taken.items()})
    connection.executemany(
        "UPDATE mined SET run = ?, topics = ? WHERE doc = ?",
        [(row.run, _topics(row), doc) for doc, row in taken.items()],
    )
    dictionary = Dictionary(connection)
    _write_values(connection, taken, dictionary)
    _write_topics(connection, taken, dictionary)
    return refused


def _write_topics(
    connection: sqlite3.Connection, rows: Mapping[int, Refinement], dictionary: Dictionary
) -> None:
    """Set the topics of mentions where they differ from what is stored."""
    names = known_names(connection, {phrase for row in rows.values() for phrase in row.mention_topics})
    topics = _topic_numbers(
        dictionary, {topic for row in rows.values() for topic in row.mention_topics.values()}
    )
    changes, changed = [], set()
    for doc, row in rows.items():
        wanted = {names[id_]: topics[topic] for id_, topic in row.mention_topics.items() if id_ in names}
        for mention, code, topic in connection.execute(
            "SELECT mention, phrase, topic FROM mentions WHERE mention BETWEEN ? AND ?", _range(doc)
        ):
            if wanted.get(code, topic) != topic:
                changes.append((wanted[code], mention))
                changed.add(code)
    connection.executemany("UPDATE mentions SET topic = ? WHERE mention = ?", changes)
    mark_changed(connection, changed)


def forget(connection: sqlite3.Connection, docs: Collection[int]) -> None:
    """Remove what was mined of documents, but for their codes. Their vectors become dead rows."""
    mined = _already(connection, docs)
    connection.executemany(
        "INSERT OR IGNORE INTO changed_phrases SELECT phrase FROM mentions WHERE mention BETWEEN ? AND ?",
        map(_range, mined),
    )
    for table in ("mined", "keyphrases"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", [(doc,) for doc in mined])
    connection.executemany("DELETE FROM mentions WHERE mention BETWEEN ? AND ?", map(_range, mined))
    connection.executemany("DELETE FROM sentences WHERE sentence BETWEEN ? AND ?", map(_range, mined))


def _range(doc: int) -> tuple[int, int]:
    """First and last number that a mention or sentence of the document can have."""
    return doc << MENTION_BITS, doc << MENTION_BITS | LAST_MENTION


def mark_changed(connection: sqlite3.Connection, codes: Iterable[int]) -> None:
    """Put phrases on the list of those whose row in `phrases` is out of date."""
    connection.executemany(
        "INSERT OR IGNORE INTO changed_phrases VALUES (?)", [(code,) for code in sorted(codes)]
    )


def _chosen(row: MinedDocument | Refinement) -> set[str]:
    return {keyphrase.phrase_id for keyphrase in row.keyphrases}


def _mark_choices(connection: sqlite3.Connection, wanted: Mapping[int, set[str]]) -> None:
    """Mark phrases that become a keyphrase of a document, or stop being one, before that is written."""
    sql = "SELECT doc, keyphrases FROM keyphrases WHERE doc IN (SELECT value FROM json_each(?))"
    old = {
        doc: {id_ for id_, *_ in json.loads(stored)}
        for doc, stored in connection.execute(sql, (numbers(wanted),))
    }
    differing = set[str]().union(*(chosen ^ old.get(doc, set()) for doc, chosen in wanted.items()))
    mark_changed(connection, known_names(connection, differing).values())


def _already(connection: sqlite3.Connection, docs: Iterable[int]) -> list[int]:
    """Which of these documents are mined."""
    sql = "SELECT doc FROM mined WHERE doc IN (SELECT value FROM json_each(?))"
    return [doc for (doc,) in connection.execute(sql, (numbers(docs),))]


def _write_values(
    connection: sqlite3.Connection, rows: Mapping[int, MinedDocument | Refinement], dictionary: Dictionary
) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO keyphrases VALUES (?, ?)",
        [(doc, _keyphrases(row)) for doc, row in rows.items()],
    )
    values = {doc: list(mined_values(row.keyphrases, row.topics)) for doc, row in rows.items()}
    dictionary.learn((field, value) for triples in values.values() for field, value, _ in triples)
    replace_codes(
        connection,
        "mined",
        {
            doc: {dictionary.code(field, value): weight for field, value, weight in triples}
            for doc, triples in values.items()
        },
    )


def _write_mentions(
    connection: sqlite3.Connection,
    rows: Mapping[int, Sequence[MentionRow]],
    topics: Mapping[str | None, int | None],
    names: Mapping[str, int],
) -> None:
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


def _topic_numbers(dictionary: Dictionary, topics: Collection[str | None]) -> dict[str | None, int | None]:
    """Topics as mention rows refer to them."""
    values = {topic: topic_value(topic) for topic in topics if topic is not None}
    dictionary.learn(values.values())
    return {None: None} | {topic: topic_number(dictionary.code(*value)) for topic, value in values.items()}


def known_names(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Row numbers of the phrases that were stored before."""
    known = [id_ for id_ in ids if not unencodable(id_)]
    return dict(select(connection, "SELECT id, code FROM names WHERE id IN ({})", known))


def name_codes(connection: sqlite3.Connection, phrases: Mapping[str, str]) -> dict[str, int]:
    """Row numbers of phrases (id ► normal form), made when they are new."""
    codes = known_names(connection, phrases)
    (last,) = connection.execute("SELECT coalesce(max(code), 0) FROM names").fetchone()
    new = [
        (code, id_, phrases[id_])
        for code, id_ in enumerate(sorted(id_ for id_ in phrases if id_ not in codes), last + 1)
    ]
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", new)
    return codes | {id_: code for code, id_, _ in new}


# -- what can be stored --------------------------------------------------------------------------------------


def _sound(
    rows: Sequence[MinedDocument], docs: Mapping[str, int], dims: int
) -> tuple[list[MinedDocument], list[Refused]]:
    """The rows that can be stored as far as shapes and texts tell, the last of each id; and the refused ones."""
    refused, taken = [], {}
    for row in rows:
        if row.id not in docs:
            reason = "there is no such document"
        elif len(row.mentions) > LAST_MENTION:
            reason = f"it has {len(row.mentions)} mentions, more than {LAST_MENTION}"
        elif {row.vector.shape, *(mention.vector.shape for mention in row.mentions)} != {(dims,)}:
            reason = _bad_vectors(row, dims)
        else:
            reason = _unencodable(row)
        if reason:
            refused.append(Refused(row.id, reason))
        else:
            taken[row.id] = row
    return list(taken.values()), refused


def _bad_vectors(row: MinedDocument, dims: int) -> str:
    """The first reason that one of its vectors gives."""
    vectors = [row.vector, *(mention.vector for mention in row.mentions)]
    return next(filter(None, (bad_vector(vector, dims) for vector in vectors)), "")


def bad_vector(vector: Vector, dims: int) -> str:
    """Why a vector cannot be stored; empty when it can."""
    if vector.shape != (dims,):
        return f"a vector has {vector.size} numbers, the collection has {dims}"
    return "" if np.isfinite(vector).all() else "a vector has NaN or infinity in it"


def _unencodable(row: MinedDocument | Refinement) -> str:
    parts = [row.run]
    for keyphrase in row.keyphrases:
        parts += (keyphrase.phrase_id, keyphrase.text)
    parts += [topic.topic_id for topic in row.topics]
    if isinstance(row, MinedDocument):
        parts.append(row.bundle)
        for mention in row.mentions:
            parts += (
                mention.phrase_id,
                mention.phrase,
                mention.surface,
                mention.sentence,
                mention.topic or "",
            )
    else:
        parts += [topic for topic in row.mention_topics.values() if topic]
    reason = unencodable("\n".join(parts))
    return f"what was mined has {reason}" if reason else ""


# -- how it is stored ----------------------------------------------------------------------------------------


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


def _packed_places(places: Sequence[Place]) -> bytes:
    return b"".join([_PLACE.pack(_FIELD_NUMBERS[place.field], place.start, place.end) for place in places])


def _unpacked_places(blob: bytes) -> tuple[Place, ...]:
    return tuple([Place(_FIELDS[field], start, end) for field, start, end in _PLACE.iter_unpack(blob)])


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
        "SELECT doc, slot, bundle, run, keyphrases, topics FROM mined JOIN keyphrases USING (doc) "
        "WHERE doc IN (SELECT value FROM json_each(?))",
        (numbers(docs),),
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
            f"SELECT {_MENTION_COLUMNS} FROM {_MENTION_TABLES} WHERE m.mention BETWEEN ? AND ? "
            "ORDER BY m.score DESC, n.id",
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
            f"SELECT {_MENTION_COLUMNS} FROM {_MENTION_TABLES} WHERE m.mention = ?",
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
        f"SELECT {_MENTION_COLUMNS} FROM (SELECT code AS wanted FROM names "
        f"WHERE id IN (SELECT value FROM json_each(?))) CROSS JOIN {_MENTION_TABLES} WHERE m.phrase = wanted",
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
