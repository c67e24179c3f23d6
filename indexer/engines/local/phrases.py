"""Phrase rows and topics: what the collection as a whole has."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from indexer.engines.base import Ranking
from indexer.engines.local.mined import bad_vector, known_names, name_codes
from indexer.engines.local.rows import numbers, unencodable
from indexer.engines.local.schema import FIELD_BITS, TOPIC_FIELD
from indexer.engines.local.vectors import Vectors, unit
from indexer.errors import WriteRefused
from indexer.records import PhraseRow, Topic

_PAGE = 1_000


def write(connection: sqlite3.Connection, vectors: Vectors, rows: Sequence[PhraseRow]) -> None:
    """Write or overwrite rows; a vector that is there already is not written again."""
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
            (numbers(codes),),
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
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", [(code,) for code in codes])


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    codes = [(code,) for code in known_names(connection, ids).values()]
    connection.executemany("DELETE FROM phrases WHERE code = ?", codes)
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", codes)


def page_of_changed(connection: sqlite3.Connection, after: int) -> list[tuple[int, str]]:
    """The next phrases whose row is out of date, as (number, id)."""
    return connection.execute(
        "SELECT c.code, n.id FROM changed_phrases c JOIN names n ON n.code = c.code WHERE c.code > ? "
        "ORDER BY c.code LIMIT ?",
        (after, _PAGE),
    ).fetchall()


def read(connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str]) -> list[PhraseRow]:
    """Rows in the order given; unknown ones are left out."""
    records = connection.execute(
        "SELECT n.id, n.phrase, p.surfaces, p.documents, p.topics, p.slot FROM names n "
        "JOIN phrases p ON p.code = n.code WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).fetchall()
    matrix = unit(vectors.rows(connection, "phrases")[[record[-1] for record in records]])
    rows = {
        id_: PhraseRow(
            id_, phrase, tuple(json.loads(surfaces)), documents, tuple(json.loads(topics)), matrix[number]
        )
        for number, (id_, phrase, surfaces, documents, topics, _) in enumerate(records)
    }
    return [rows[id_] for id_ in ids if id_ in rows]


def ids_by_slot(connection: sqlite3.Connection, slots: Sequence[int]) -> dict[int, str]:
    """Which of these slots still hold the vector of a phrase, and of which."""
    rows = connection.execute(
        "SELECT p.slot, n.id FROM phrases p JOIN names n ON n.code = p.code "
        "WHERE p.slot IN (SELECT value FROM json_each(?))",
        (numbers(slots),),
    )
    return dict(rows)


def page_of_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """The next ids, ascending."""
    rows = connection.execute(
        "SELECT n.id FROM names n WHERE n.id > ? AND EXISTS (SELECT 1 FROM phrases WHERE code = n.code) "
        "ORDER BY n.id LIMIT ?",
        (after, _PAGE),
    )
    return [id_ for (id_,) in rows]


# -- topics --------------------------------------------------------------------------------------------------


def write_topics(connection: sqlite3.Connection, topics: Sequence[Topic], dims: int) -> None:
    """Make these the topics of the collection."""
    for topic in topics:
        reason = bad_vector(topic.centroid, dims) or unencodable(
            "\n".join([topic.id, topic.label, *topic.phrases])
        )
        if reason:
            raise WriteRefused(f"Topic {topic.id} was refused: {reason}.")
    connection.execute("DELETE FROM topics")
    connection.executemany(
        "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                t.id,
                t.label,
                _json(t.phrases),
                t.size,
                t.centroid.astype("<f4").tobytes(),
                int(t.named_by_hand),
            )
            for t in topics
        ],
    )


def read_topics(connection: sqlite3.Connection) -> list[Topic]:
    """All topics, largest first."""
    rows = connection.execute(
        "SELECT id, label, phrases, size, centroid, named FROM topics ORDER BY size DESC, id"
    )
    return [
        Topic(
            id_,
            label,
            tuple(json.loads(phrases)),
            size,
            np.frombuffer(centroid, "<f4").astype(np.float32),
            bool(named),
        )
        for id_, label, phrases, size, centroid, named in rows
    ]


def topic_documents(connection: sqlite3.Connection, topic_id: str, limit: int) -> Ranking:
    """Documents that have the topic, heaviest first."""
    rows = connection.execute(
        "SELECT d.id, v.weight FROM facet_values t JOIN doc_values v ON v.code = t.code "
        "JOIN documents d ON d.doc = v.doc WHERE t.field = ? AND t.value = ? "
        "ORDER BY v.weight DESC, d.id LIMIT ?",
        (TOPIC_FIELD, topic_id, max(limit, 0)),
    ).fetchall()
    (total,) = connection.execute(
        "SELECT count(*) FROM doc_values "
        "WHERE code = (SELECT code FROM facet_values WHERE field = ? AND value = ?)",
        (TOPIC_FIELD, topic_id),
    ).fetchone()
    return Ranking(tuple(id_ for id_, _ in rows), tuple(weight for _, weight in rows), total)


def topic_ids(connection: sqlite3.Connection) -> dict[int, str]:
    """Topics as mentions refer to them."""
    rows = connection.execute("SELECT code, value FROM facet_values WHERE field = ?", (TOPIC_FIELD,))
    return {code & ((1 << FIELD_BITS) - 1): value for code, value in rows}


def _json(items: Sequence[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)
