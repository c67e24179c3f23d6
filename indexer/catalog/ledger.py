"""The ledger: the content hash and the state of each document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, aliased

from indexer.catalog.database import BATCH, Database, now, storable
from indexer.catalog.entries import DOCUMENT_STATES, DocumentState, LedgerEntry
from indexer.catalog.tables import DocumentRow as D
from indexer.common import batches

COLUMNS = (D.id, D.content_hash, D.state, D.bundle, D.run, D.source, D.topic_fit, D.sketch)


class Ledger(Database):
    def ledger(self, collection: str, ids: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these documents; unknown ids are skipped."""
        found: dict[str, LedgerEntry] = {}
        with self._reading() as connection:
            for some in batches(ids, BATCH):
                query = select(*COLUMNS).where(D.collection == collection, D.id.in_(some))
                for row in connection.execute(query):
                    found[row.id] = LedgerEntry(*row)  # type: ignore[arg-type]  # the state is checked by the table
        return found

    def record(self, collection: str, entries: Iterable[LedgerEntry]) -> int:
        """Write or overwrite entries of documents that were read, and mark them as seen by the run they name.

        Each 1,000 are one transaction, so the iterable may be long and slow. For changes by later steps use `mark`,
        which does not mark documents as seen.

        Returns:
            The number written.
        """
        written = 0
        statement = self._upsert(
            D,
            update=(
                *("content_hash", "source", "state", "bundle", "run", "topic_fit"),
                *("seen_run", "updated_at", "sketch"),
            ),
        )
        for some in batches(entries, BATCH):
            at = now()
            by_id = {entry.id: entry for entry in some}
            rows = [
                {
                    "collection": collection,
                    "id": entry.id,
                    "content_hash": entry.content_hash,
                    "source": storable(entry.source),
                    "state": entry.state,
                    "bundle": entry.bundle,
                    "run": entry.run,
                    "topic_fit": entry.topic_fit,
                    "seen_run": entry.run,
                    "updated_at": at,
                    "sketch": entry.sketch,
                }
                for _, entry in sorted(by_id.items())  # one order for all writers prevents deadlocks
            ]
            with self._writing() as connection:
                connection.execute(statement, rows)
            written += len(rows)
        return written

    def mark(
        self,
        collection: str,
        ids: Iterable[str],
        *,
        state: DocumentState | None = None,
        topic_fit: str | None = None,
        bundle: str | None = None,
        run: str | None = None,
    ) -> None:
        """Set the given columns of these documents. Unknown ids are ignored."""
        given = {"state": state, "topic_fit": topic_fit, "bundle": bundle, "run": run}
        values = {name: value for name, value in given.items() if value is not None}
        self._set(collection, ids, **values)

    def touch(self, collection: str, ids: Iterable[str], run: str) -> None:
        """Record that `run` has seen these documents."""
        self._set(collection, ids, seen_run=run)

    def forget(self, collection: str, ids: Iterable[str]) -> int:
        """Remove these documents from the ledger. Returns the number removed."""
        removed = 0
        for some in batches(sorted(set(ids)), BATCH):
            with self._writing() as connection:
                removed += self._forget(connection, collection, some)
        return removed

    def _forget(self, connection: Connection, collection: str, ids: Sequence[str]) -> int:
        return connection.execute(delete(D).where(D.collection == collection, D.id.in_(ids))).rowcount

    def ids(
        self,
        collection: str,
        state: DocumentState | None = None,
        source_prefix: str | None = None,
        runs: Sequence[str] | None = None,
        after: str | None = None,
        until: str | None = None,
        topic_fit: str | None = None,
    ) -> Iterator[str]:
        """Iterate over ids, ascending by code point. Entries may change during the iteration.

        Args:
            state: Only documents in this state.
            source_prefix: Only documents whose source begins with this text.
            runs: Only documents that one of these runs was the last to read as new or changed.
            after, until: The same with the runs that began after this one, or up to it.
            topic_fit: Only documents whose topics come from the fit of this run.
        """
        conditions: list[ColumnElement[bool]] = []
        if state is not None:
            conditions.append(D.state == state)
        if runs is not None:
            conditions.append(D.run.in_(runs))
        if after is not None:
            conditions.append(D.run > after)
        if until is not None:
            conditions.append(D.run <= until)
        if topic_fit is not None:
            conditions.append(D.topic_fit == topic_fit)
        if source_prefix:
            start = storable(source_prefix)
            conditions += [D.source >= start, D.source <= start + "\U0010ffff"]
        for id_, _ in self._pages(collection, D.source, *conditions):
            yield id_

    def contents(self, collection: str) -> Iterator[tuple[str, str]]:
        """Iterate over id and content hash of all documents, ascending by id."""
        yield from self._pages(collection, D.content_hash)

    def sketches(self, collection: str) -> Iterator[tuple[str, bytes]]:
        """Iterate over id and sketch of the documents that have one, ascending by id."""
        yield from self._pages(collection, D.sketch, D.sketch.is_not(None))

    def without_sketch(self, collection: str) -> dict[str, str]:
        """Return the mined documents that have no sketch: id ► the run that read it last, ascending by id."""
        return dict(self._pages(collection, D.run, D.sketch.is_(None), D.state != "stored"))

    def set_sketches(self, collection: str, sketches: Mapping[str, bytes | None]) -> None:
        """Record the sketches of documents; None removes one. Unknown ids are ignored."""
        statement = (
            update(D)
            .where(D.collection == collection, D.id == bindparam("of"))
            .values(sketch=bindparam("sketch_of"))
        )
        for some in batches(sorted(sketches), BATCH):
            with self._writing() as connection:
                connection.execute(statement, [{"of": id_, "sketch_of": sketches[id_]} for id_ in some])

    def unseen(
        self, collection: str, sources: Sequence[str], run: str, *, but: Sequence[str] = ()
    ) -> Iterator[str]:
        """Iterate over the ids of documents under one of these sources that `run` has not seen, ascending.

        A source lies under itself, FILE:LINE under FILE, and FOLDER/FILE under FOLDER. Sources are compared
        as texts: give them as they were given when the documents were recorded.

        Args:
            but: Not those under these.
        """
        roots, others = Roots(sources), Roots(but)
        for id_, source in self._pages(collection, D.source, D.seen_run != run):
            if source in roots and source not in others:
                yield id_

    def _adopt(self, connection: Connection, collection: str, ledger: str) -> None:
        """Give the documents of a collection the states of another ledger, and delete that ledger.

        A document that the other ledger lacks, or has with another content, becomes "stored".
        """
        other = aliased(D)
        same = (other.collection == ledger, other.id == D.id, other.content_hash == D.content_hash)

        def theirs(column: InstrumentedAttribute[str], default: str) -> ColumnElement[str]:
            return func.coalesce(select(column).where(*same).scalar_subquery(), default)

        values = {
            "state": theirs(other.state, "stored"),
            "bundle": theirs(other.bundle, ""),
            "topic_fit": theirs(other.topic_fit, ""),
        }
        connection.execute(update(D).where(D.collection == collection).values(**values))
        connection.execute(delete(D).where(D.collection == ledger))

    def bundles_used(self, ledger: str | None = None) -> set[str]:
        """Return the bundles that made the vectors of any document, see Encoder.bundle.

        Args:
            ledger: Of one collection, or of one generation (see `generations.ledger_of`); None means of all.
        """
        query = select(D.bundle).where(D.bundle != "").distinct()
        if ledger is not None:
            query = query.where(D.collection == ledger)
        with self._reading() as connection:
            return set(connection.scalars(query))

    def count(self, collection: str) -> dict[DocumentState, int]:
        """Count the documents in each state."""
        query = select(D.state, func.count()).where(D.collection == collection).group_by(D.state)
        with self._reading() as connection:
            found = {row[0]: row[1] for row in connection.execute(query)}
        return {state: found.get(state, 0) for state in DOCUMENT_STATES}

    def count_by_run(self, collection: str) -> dict[str, int]:
        """Count the documents that each run was the last to read as new or changed."""
        query = select(D.run, func.count()).where(D.collection == collection).group_by(D.run)
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def _set(self, collection: str, ids: Iterable[str], **values: str) -> None:
        if not values:
            return
        for some in batches(sorted(set(ids)), BATCH):
            statement = update(D).where(D.collection == collection, D.id.in_(some))
            with self._writing() as connection:
                connection.execute(statement.values(**values, updated_at=now()))

    def _pages(
        self, collection: str, column: InstrumentedAttribute[Any], *conditions: ColumnElement[bool]
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over id and a column by id, in pages: no transaction stays open while the caller works."""
        query = (
            select(D.id, column).where(D.collection == collection, *conditions).order_by(D.id).limit(BATCH)
        )
        last: str | None = None
        while True:
            with self._reading() as connection:
                rows = connection.execute(query if last is None else query.where(D.id > last)).all()
            for row in rows:
                yield row[0], row[1]
            if len(rows) < BATCH:
                return
            last = rows[-1].id


class Roots:
    """Sources that contain others: ``"notes/a.jsonl:17" in Roots(["notes"])``."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = {storable(source).rstrip("/\\") for source in sources if source}  # "/" becomes ""

    def __contains__(self, source: str) -> bool:
        if not source:
            return False
        path = source.rstrip("/\\")
        file = re.sub(r":\d+\Z", "", path)
        folders = (file[: match.start()] for match in re.finditer(r"[/\\]", file))
        return path in self._sources or file in self._sources or any(f in self._sources for f in folders)
