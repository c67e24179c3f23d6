"""Which generation the catalog speaks of. Its documents, its fit and its topics change together, or not at all.

The documents of the live generation stand in the ledger under the collection's own name, those of any other one under
``NAME@NUMBER``: of one that is being made, and of one that was live and can be again.

A switch needs two steps, because the engine's is one and the catalog's another. `plan_switch` writes down what the second
will need, the engine switches, `turn` does it. Killed in between, the engine is ahead of the catalog: that can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, literal, select, update

from indexer.catalog.entries import GenerationEntry, LineageEntry, TopicEntry
from indexer.catalog.ledger import Ledger
from indexer.catalog.tables import DocumentRow as D
from indexer.catalog.tables import FitRow as F
from indexer.catalog.tables import GenerationRow as G
from indexer.catalog.topics import Fits
from indexer.errors import NotFound

ENTRY = (G.number, G.live, G.fit, G.replaced, G.run)


def ledger_of(collection: str, number: int) -> str:
    """The name under which the documents of a generation stand that is not live."""
    return f"{collection}@{number}"


class GenerationSwitch(Ledger, Fits):
    def generations(self, collection: str) -> dict[int, GenerationEntry]:
        """What is known of generations, by number. Nothing, before the first one was replaced."""
        query = select(*ENTRY).where(G.collection == collection).order_by(G.number)
        with self._reading() as connection:
            return {row.number: GenerationEntry(*row) for row in connection.execute(query)}

    def plan_switch(self, collection: str, leaving: int, to: int, *, fit: str, run: str) -> None:
        """Write down that generation `to` is about to take over from `leaving`; nothing changes by that.

        Args:
            fit: Of the topics of `to`; empty without topics.
            run: That does this. A generation that is new is made by the run that made its fit.
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

    def turn(
        self, collection: str, to: int, *, topics: Iterable[TopicEntry], lineage: Iterable[LineageEntry]
    ) -> None:
        """Make generation `to` the one that documents, fit and topics are of.

        A document that it has not, or with another content, is "stored" from now on. The documents as they are now, and
        the fit, are kept for the way back.

        Raises:
            NotFound: No such turn was planned.
        """
        of_collection = G.collection == collection
        with self._writing() as connection:
            left = connection.execute(select(G.number).where(of_collection, G.live)).scalar_one_or_none()
            coming = connection.execute(select(*ENTRY).where(of_collection, G.number == to)).first()
            if left is None or coming is None:
                raise NotFound(f"Nothing is known of generation {to} of collection '{collection}'.")
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
        """Know nothing more of a generation that is not live: it is about to be removed."""
        with self._writing() as connection:
            connection.execute(delete(D).where(D.collection == ledger_of(collection, number)))
            connection.execute(delete(G).where(G.collection == collection, G.number == number))

    def forget_generations(self, collection: str) -> None:
        """Know nothing more of any generation: the documents are those of whichever is live."""
        for number in self.generations(collection):
            self.forget_generation(collection, number)

    def _copy_ledger(self, connection: Connection, collection: str, ledger: str) -> None:
        columns = [column for column in D.__table__.columns if column.name != "collection"]
        rows = select(literal(ledger), *columns).where(D.collection == collection)
        names = ["collection", *(column.name for column in columns)]
        connection.execute(insert(D).from_select(names, rows))
