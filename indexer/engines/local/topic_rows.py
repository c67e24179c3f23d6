"""The topics of the collection, and the documents that have them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from indexer.engines.base import Ranking
from indexer.engines.local.schema import TOPIC_FIELD
from indexer.engines.local.vectors import bad_vector
from indexer.engines.storable import bindable, unencodable
from indexer.errors import WriteRefused
from indexer.records import Topic


def write(connection: sqlite3.Connection, topics: Sequence[Topic], dims: int) -> None:
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


def read(connection: sqlite3.Connection) -> list[Topic]:
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


def documents(connection: sqlite3.Connection, topic_id: str, limit: int) -> Ranking:
    """Documents that have the topic, heaviest first."""
    rows = connection.execute(
        "SELECT d.id, v.weight FROM facet_values t JOIN doc_values v ON v.code = t.code "
        "JOIN documents d ON d.doc = v.doc WHERE t.field = ? AND t.value = ? "
        "ORDER BY v.weight DESC, d.id LIMIT ?",
        (TOPIC_FIELD, bindable(topic_id), max(limit, 0)),
    ).fetchall()
    (total,) = connection.execute(
        "SELECT count(*) FROM doc_values "
        "WHERE code = (SELECT code FROM facet_values WHERE field = ? AND value = ?)",
        (TOPIC_FIELD, bindable(topic_id)),
    ).fetchone()
    return Ranking(tuple(id_ for id_, _ in rows), tuple(weight for _, weight in rows), total)


def _json(items: Sequence[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)
