"""Topics that users have given to documents, or taken away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, func, select

from indexer.catalog.database import Database, storable
from indexer.catalog.tables import CorrectionRow as C
from indexer.catalog.tables import CounterRow as N
from indexer.errors import QueryError

CHANGES = "corrections"  # in the counters: how often they were changed
MAX_CORRECTIONS = 10_000  # of a collection: each fit keeps them


@dataclass(frozen=True)
class Correction:
    """What a user said of a document and a topic.

    Attributes:
        belongs: Whether the document has the topic.
    """

    document: str
    topic: str
    belongs: bool


class Corrections(Database):
    def corrections(self, collection: str) -> list[Correction]:
        """Return all, by document and topic."""
        query = (
            select(C.document, C.topic, C.belongs)
            .where(C.collection == collection)
            .order_by(C.document, C.topic)
        )
        with self._reading() as connection:
            return [Correction(*row) for row in connection.execute(query)]

    def corrections_changed(self, collection: str) -> int:
        """Return how often the corrections of a collection were changed: a fit that saw fewer changes is behind."""
        query = select(N.value).where(N.collection == collection, N.name == CHANGES)
        with self._reading() as connection:
            return int(connection.scalar(query) or 0)

    def save_corrections(self, collection: str, corrections: Iterable[Correction]) -> None:
        """Add corrections; one of the same document and topic is replaced.

        Raises:
            QueryError: There would be too many.
        """
        rows = [
            {"collection": collection, **asdict(one), "document": storable(one.document)}
            for one in corrections
        ]
        counted = select(func.count()).where(C.collection == collection)
        with self._writing() as connection:
            if rows:
                connection.execute(self._upsert(C, update=("belongs",)), rows)
            if connection.execute(counted).scalar_one() > MAX_CORRECTIONS:
                raise QueryError(f"A collection keeps at most {MAX_CORRECTIONS:,} corrections.")
            self._count_change(connection, collection)

    def remove_corrections(self, collection: str, topic: str, documents: Sequence[str]) -> int:
        """Forget what was said of documents and a topic. Returns how many corrections that were."""
        these = (C.collection == collection, C.topic == topic, C.document.in_(documents))
        with self._writing() as connection:
            gone = connection.execute(delete(C).where(*these)).rowcount
            self._count_change(connection, collection)
        return gone

    def _count_change(self, connection: Connection, collection: str) -> None:
        statement = self._insert(N).values(collection=collection, name=CHANGES, value=1)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["collection", "name"], set_={"value": N.value + 1}
            )
        )
