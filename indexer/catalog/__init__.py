"""The catalog: everything the program remembers about a collection, in an SQL database.

The state of each document, runs, dead letters, topics with their lineage, fits, locks and batches. `Catalog` is the only
entry point; plain values and the records of `entries` go in and out.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from indexer.catalog.batches import Batches
from indexer.catalog.corrections import Corrections
from indexer.catalog.database import open_engine
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
from indexer.catalog.generations import Bundles, GenerationSwitch
from indexer.catalog.locks import Lock
from indexer.catalog.namings import Naming, Namings
from indexer.catalog.saved_searches import SavedSearch, SavedSearches
from indexer.catalog.vocabulary import Vocabularies

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
    "Naming",
    "Run",
    "SavedSearch",
    "TopicEntry",
    "topic_id",
]


class Catalog(Batches, GenerationSwitch, Bundles, SavedSearches, Vocabularies, Corrections, Namings):
    """The catalog database. Thread-safe; each method is a transaction of its own; writing twice is harmless.

    Errors are CatalogError, and NotFound when a named entry does not exist.
    """

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the database at an SQLAlchemy URL; make it, or bring its schema up to date, where needed.

        Args:
            url: ``sqlite:///FILE`` or ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``.

        Raises:
            CatalogError: The database cannot be used, or a newer version of this program has written it.
        """
        return cls(open_engine(url))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
