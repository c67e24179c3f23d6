"""Dead letters: documents and files that could not be processed, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, bindparam, func, select, text, update

from indexer.catalog.database import BATCH, Database, now, storable
from indexer.catalog.entries import MINING, STAGES, DeadLetter, Failure, Stage
from indexer.catalog.ledger import Roots
from indexer.catalog.tables import DeadLetterRow as L
from indexer.common import batches

COLUMNS = (L.source, L.stage, L.reason, L.document_id, L.attempts, L.first_at, L.last_at, L.row)


class DeadLetters(Database):
    def dead_letter(self, collection: str, failures: Iterable[Failure]) -> None:
        """Record failures. The same failure again counts as one more attempt."""
        for some in batches(failures, BATCH):
            with self._writing() as connection:
                self._dead_letter(connection, collection, some)

    def _dead_letter(self, connection: Connection, collection: str, failures: Sequence[Failure]) -> None:
        statement = self._insert(L)
        statement = statement.on_conflict_do_update(
            index_elements=["collection", "source", "document_id", "stage"],
            index_where=text("resolved_at IS NULL"),
            set_={
                "attempts": L.attempts + 1,
                "reason": statement.excluded.reason,
                "last_at": statement.excluded.last_at,
            },
        )
        at = now()
        rows = [
            {
                "collection": collection,
                "source": storable(failure.source),
                "document_id": failure.document_id,
                "stage": failure.stage,
                "reason": storable(failure.reason),
                "attempts": 1,
                "first_at": at,
                "last_at": at,
                "resolved_at": None,
            }
            for failure in sorted(failures, key=lambda one: (one.source, one.document_id, one.stage))
        ]
        if rows:
            connection.execute(statement, rows)

    def dead(
        self, collection: str, *, stage: Stage | None = None, limit: int | None = None
    ) -> list[DeadLetter]:
        """Return open dead letters, by source, document and stage."""
        query = select(*COLUMNS).where(L.collection == collection, L.resolved_at.is_(None))
        if stage is not None:
            query = query.where(L.stage == stage)
        query = query.order_by(L.source, L.document_id, L.stage).limit(limit)
        with self._reading() as connection:
            return [DeadLetter(*row) for row in connection.execute(query)]  # type: ignore[arg-type]

    def dead_counts(self, collection: str) -> dict[Stage, int]:
        """Count the open dead letters of each stage."""
        query = (
            select(L.stage, func.count())
            .where(L.collection == collection, L.resolved_at.is_(None))
            .group_by(L.stage)
        )
        with self._reading() as connection:
            found = {row[0]: row[1] for row in connection.execute(query)}
        return {stage: found.get(stage, 0) for stage in STAGES}

    def resolve(
        self,
        collection: str,
        *,
        document_ids: Iterable[str] = (),
        sources: Iterable[str] = (),
        stages: Sequence[Stage] = STAGES,
        before: datetime | None = None,
    ) -> int:
        """Close dead letters that succeeded or whose document was deleted. Returns the number closed.

        Args:
            document_ids: Entries of these documents.
            sources: Entries whose source lies under one of these, as in `unseen`.
            stages: Only entries of these stages.
            before: Only entries whose last attempt was before this time.
        """
        conditions: list[ColumnElement[bool]] = [L.collection == collection, L.resolved_at.is_(None)]
        conditions.append(L.stage.in_(stages))
        if before is not None:
            conditions.append(L.last_at < before)
        closed = 0
        for some in batches(sorted(set(document_ids)), BATCH):
            with self._writing() as connection:
                statement = update(L).where(*conditions, L.document_id.in_(some))
                closed += connection.execute(statement.values(resolved_at=now())).rowcount
        return closed + self._resolve_under(list(sources), conditions)

    def dismiss(
        self, collection: str, *, ids: Sequence[int] | None = None, stages: Sequence[Stage] = STAGES
    ) -> int:
        """Close dead letters without a retry. Returns the number closed.

        Args:
            ids: Only these; None means all.
            stages: Only entries of these stages.
        """
        open_ones = update(L).where(L.collection == collection, L.resolved_at.is_(None), L.stage.in_(stages))
        statements = (
            [open_ones] if ids is None else [open_ones.where(L.row.in_(some)) for some in batches(ids, BATCH)]
        )
        closed = 0
        for statement in statements:
            with self._writing() as connection:
                closed += connection.execute(statement.values(resolved_at=now())).rowcount
        return closed

    @contextmanager
    def retrying(self, collection: str, letters: Sequence[DeadLetter]) -> Iterator[None]:
        """Close entries before a block that mines their documents again; those that fail again keep their count.

        Workers skip documents with an open entry. Entries of the stages read and store stay open: should this process be
        killed, they alone name the files to read again. The run closes them after reading.
        """
        mining = [letter for letter in letters if letter.stage in MINING]
        if not mining:
            yield
            return
        self.resolve(collection, sources=sorted({letter.source for letter in mining}), stages=MINING)
        try:
            yield
        finally:
            self._add_attempts(collection, mining)

    def _add_attempts(self, collection: str, before: Sequence[DeadLetter]) -> None:
        statement = update(L).where(
            L.collection == collection,
            L.resolved_at.is_(None),
            L.source == bindparam("its_source"),
            L.document_id == bindparam("its_id"),
            L.stage == bindparam("its_stage"),
        )
        statement = statement.values(attempts=L.attempts + bindparam("tries"), first_at=bindparam("first"))
        for some in batches(before, BATCH):
            rows = [
                {
                    "its_source": letter.source,
                    "its_id": letter.document_id,
                    "its_stage": letter.stage,
                    "tries": letter.attempts,
                    "first": letter.first_at,
                }
                for letter in some
            ]
            with self._writing() as connection:
                connection.execute(statement, rows)

    def _resolve_under(self, sources: list[str], conditions: list[ColumnElement[bool]]) -> int:
        if not sources:
            return 0
        roots = Roots(sources)
        with self._reading() as connection:
            rows = connection.execute(select(L.row, L.source).where(*conditions)).all()
        closed = 0
        for some in batches((row.row for row in rows if row.source in roots), BATCH):
            with self._writing() as connection:
                statement = update(L).where(*conditions, L.row.in_(some))
                closed += connection.execute(statement.values(resolved_at=now())).rowcount
        return closed
