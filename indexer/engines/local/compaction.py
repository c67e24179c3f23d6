"""Giving back the space of dead rows."""

from __future__ import annotations

from indexer.engines.local.connections import Connections
from indexer.engines.local.vectors import Vectors


def compact(connections: Connections, vectors: Vectors) -> None:
    """Refresh statistics and merge the word index."""
    with connections.writing() as connection:
        connection.execute("INSERT INTO words(words) VALUES ('optimize')")
    with connections.outside_transaction() as connection:
        connection.execute("PRAGMA optimize")
