"""The catalog: what the program must remember about a collection, in an SQL database.

Which documents it has seen and in what state they are, runs, dead letters, topics with their lineage, fits,
and who is writing. `Catalog` is the only door; plain values and the records of `entries` go in and out.
"""

from __future__ import annotations

from indexer.catalog.entries import (
    BundleEntry,
    DeadLetter,
    Failure,
    Fit,
    LedgerEntry,
    LineageEntry,
    LockHolder,
    Run,
    TopicEntry,
    topic_id,
)
from indexer.catalog.locks import Lock
from indexer.catalog.repository import Catalog

__all__ = [
    "BundleEntry",
    "Catalog",
    "DeadLetter",
    "Failure",
    "Fit",
    "LedgerEntry",
    "LineageEntry",
    "Lock",
    "LockHolder",
    "Run",
    "TopicEntry",
    "topic_id",
]
