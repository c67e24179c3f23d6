"""The switch between generations in the catalog, and the bundles that the generations were mined with.

The documents of the live generation are in the ledger under the collection's name; those of any other generation are
there under ``NAME@NUMBER``, whether it is being built or was live before.

A switch takes two steps, because engine and catalog are two stores. `plan_switch` records what the second step needs, the
engine switches, and `switch_generation` completes it: documents, fit and topics change in one transaction. After a crash
in between, the engine is ahead of the catalog, which the next run detects and completes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from sqlalchemy import Connection, delete, insert, literal, select, update

from indexer.catalog.database import Database, now
from indexer.catalog.entries import BundleEntry, GenerationEntry, LineageEntry, TopicEntry
from indexer.catalog.ledger import Ledger
from indexer.catalog.tables import BundleRow
from indexer.catalog.tables import DocumentRow as D
from indexer.catalog.tables import FitRow as F
from indexer.catalog.tables import GenerationRow as G
from indexer.catalog.topics import Fits
from indexer.errors import NotFound

ENTRY = (G.number, G.live, G.fit, G.replaced, G.run)


def ledger_of(collection: str, number: int) -> str:
    """Return the ledger name of a generation that is not live."""
    return f"{collection}@{number}"


class GenerationSwitch(Ledger, Fits):
    def generations(self, collection: str) -> dict[int, GenerationEntry]:
        """Return the recorded generations, by number; empty before the first switch."""
        query = select(*ENTRY).where(G.collection == collection).order_by(G.number)
        with self._reading() as connection:
            return {row.number: GenerationEntry(*row) for row in connection.execute(query)}

    def plan_switch(self, collection: str, leaving: int, to: int, *, fit: str, run: str) -> None:
        """Record that generation `to` is about to replace `leaving`; nothing else changes.

        Args:
            fit: Of the topics of `to`; empty without topics.
            run: Of the switch. For a new generation it is also the run of its fit.
        """
        before = {
            "collection": collection,
            "number": leaving,
            "live": True,
            "fit": "",
            "replaced": 0,
            "run": "",
        }
        after = {**before, "number": to, "live": False, "fit": fit, "replaced": leaving, "run": run}
        with self._writing() as connection:
            connection.execute(self._insert(G).values(before).on_conflict_do_nothing())
            connection.execute(self._upsert(G, update=("fit", "run")), after)

    def switch_generation(
        self, collection: str, to: int, *, topics: Iterable[TopicEntry], lineage: Iterable[LineageEntry]
    ) -> None:
        """Make documents, fit and topics those of generation `to`.

        A document that it lacks, or has with another content, becomes "stored". The current documents and fit are kept
        for a rollback.

        Raises:
            NotFound: No such switch was planned.
        """
        of_collection = G.collection == collection
        with self._writing() as connection:
            left = connection.execute(select(G.number).where(of_collection, G.live)).scalar_one_or_none()
            coming = connection.execute(select(*ENTRY).where(of_collection, G.number == to)).first()
            if left is None or coming is None:
                raise NotFound(f"No switch to generation {to} of collection '{collection}' was planned.")
            if left == to:
                return
            fit = connection.execute(select(F.run).where(F.collection == collection, F.live)).scalar()
            self._copy_ledger(connection, collection, ledger_of(collection, left))
            self._adopt(connection, collection, ledger_of(collection, to))
            leaving = update(G).where(of_collection, G.number == left)
            connection.execute(leaving.values(live=False, fit=fit or ""))
            connection.execute(update(G).where(of_collection, G.number == to).values(live=True))
            self._install(connection, collection, coming.fit, coming.run, list(topics), lineage)

    def forget_generation(self, collection: str, number: int) -> None:
        """Delete the records of a generation that is about to be removed; it must not be live."""
        with self._writing() as connection:
            connection.execute(delete(D).where(D.collection == ledger_of(collection, number)))
            connection.execute(delete(G).where(G.collection == collection, G.number == number))

    def forget_generations(self, collection: str) -> None:
        """Delete the records of all generations; the documents of the live one stay."""
        for number in self.generations(collection):
            self.forget_generation(collection, number)

    def _copy_ledger(self, connection: Connection, collection: str, ledger: str) -> None:
        columns = [column for column in D.__table__.columns if column.name != "collection"]
        rows = select(literal(ledger), *columns).where(D.collection == collection)
        names = ["collection", *(column.name for column in columns)]
        connection.execute(insert(D).from_select(names, rows))


class Bundles(Database):
    def save_bundle(self, collection: str, bundle: BundleEntry) -> None:
        """Write or overwrite a bundle; its creation time stays."""
        row = {
            "collection": collection,
            **{f.name: getattr(bundle, f.name) for f in fields(bundle)},
            "scores": dict(bundle.scores),
            "created_at": bundle.created_at or now(),
        }
        with self._writing() as connection:
            connection.execute(
                self._upsert(BundleRow, update=("fingerprint", "path", "parent", "scores")), row
            )

    def bundles(self, collection: str) -> list[BundleEntry]:
        """Return the bundles, newest first."""
        columns = [getattr(BundleRow, f.name) for f in fields(BundleEntry)]
        query = (
            select(*columns)
            .where(BundleRow.collection == collection)
            .order_by(BundleRow.created_at.desc(), BundleRow.name)
        )
        with self._reading() as connection:
            return [BundleEntry(*row) for row in connection.execute(query)]

    def keep_bundle_files(self, collection: str, name: str, files: bytes | None) -> None:
        """Store the files of a saved bundle for machines that lack it; None deletes them."""
        this = update(BundleRow).where(BundleRow.collection == collection, BundleRow.name == name)
        with self._writing() as connection:
            connection.execute(this.values(files=files))

    def bundle_files(self, name: str) -> bytes | None:
        """Return the stored files of a bundle, from any collection; None when there are none."""
        query = select(BundleRow.files).where(BundleRow.name == name, BundleRow.files.is_not(None)).limit(1)
        with self._reading() as connection:
            return connection.scalar(query)

    def bundles_with_files(self, collection: str) -> set[str]:
        """Return the names of the bundles whose files are stored."""
        query = select(BundleRow.name).where(BundleRow.collection == collection, BundleRow.files.is_not(None))
        with self._reading() as connection:
            return set(connection.scalars(query))
