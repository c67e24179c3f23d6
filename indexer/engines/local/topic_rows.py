"""The topics of the collection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from indexer.engines.local.connections import Connection
from indexer.engines.local.vectors import bad_vector
from indexer.engines.values import unencodable
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
                int(t.label_locked),
            )
            for t in topics
        ],
    )


def read(connection: Connection) -> list[Topic]:
    """All topics, largest first."""
    return list(connection.remembered("topics", lambda: _read(connection)))


def _read(connection: sqlite3.Connection) -> list[Topic]:
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


def _json(items: Sequence[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)
