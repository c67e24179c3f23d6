"""Rows of topics: one for each live topic and each parent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from indexer.engines.local.connections import Connection
from indexer.engines.local.schema import WITH_PARENTS
from indexer.engines.local.vectors import bad_vector
from indexer.engines.values import unencodable
from indexer.errors import WriteRefused
from indexer.records import Topic


def write_topics(connection: sqlite3.Connection, topics: Sequence[Topic], dims: int) -> None:
    """Replace the topics of the collection."""
    for topic in topics:
        reason = bad_vector(topic.centroid, dims) or unencodable(
            "\n".join([topic.id, topic.label, *topic.phrases])
        )
        if reason:
            raise WriteRefused(f"Topic {topic.id} was refused: {reason}.")
    connection.execute("DELETE FROM topics")
    connection.executemany(
        "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(
                    t.id,
                    t.label,
                    json.dumps(t.phrases, ensure_ascii=False),
                    t.size,
                    t.centroid.astype("<f4").tobytes(),
                ),
                *(int(t.label_locked), t.parent, t.term),
            )
            for t in topics
        ],
    )


def read_topics(connection: Connection) -> list[Topic]:
    """Return all topics, largest first."""
    return list(connection.remembered("topics", lambda: _read_topics(connection)))


def _read_topics(connection: sqlite3.Connection) -> list[Topic]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    more = "parent, term" if version >= WITH_PARENTS else "NULL, ''"  # a reader does not upgrade the file
    rows = connection.execute(
        f"SELECT id, label, phrases, size, centroid, named, {more} FROM topics ORDER BY size DESC, id"
    )
    return [
        Topic(
            id_,
            label,
            tuple(json.loads(phrases)),
            size,
            np.frombuffer(centroid, "<f4").astype(np.float32),
            bool(named),
            parent,
            term,
        )
        for id_, label, phrases, size, centroid, named, parent, term in rows
    ]
