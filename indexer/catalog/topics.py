"""Topics for ever: numbers that are never given twice, names, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, case, insert, or_, select, update

from indexer.catalog.database import Database, now, storable
from indexer.catalog.entries import LineageEntry, TopicEntry, TopicState
from indexer.catalog.tables import CounterRow as C
from indexer.catalog.tables import LineageRow as L
from indexer.catalog.tables import TopicRow as T
from indexer.errors import NotFound, QueryError


class Topics(Database):
    def next_topic_number(self, collection: str, how_many: int = 1) -> int:
        """Reserve `how_many` numbers in a row and return the first. No number is ever given out again."""
        statement = self._insert(C).values(collection=collection, name="topic", value=how_many)
        statement = statement.on_conflict_do_update(
            index_elements=["collection", "name"], set_={"value": C.value + how_many}
        ).returning(C.value)
        with self._writing() as connection:
            last: int = connection.execute(statement).scalar_one()
        return last - how_many + 1

    def save_topics(self, collection: str, topics: Iterable[TopicEntry]) -> None:
        """Write or overwrite topics; others stay as they are. A name given by hand is not changed by this."""
        with self._writing() as connection:
            self._save_topics(connection, collection, topics)

    def topics(self, collection: str, state: TopicState | None = "live") -> list[TopicEntry]:
        """Topics in one state, or all with None, by number."""
        query = select(T.__table__).where(T.collection == collection).order_by(T.number)
        if state is not None:
            query = query.where(T.state == state)
        with self._reading() as connection:
            return [_topic(row) for row in connection.execute(query).mappings()]

    def topic(self, collection: str, id: str) -> TopicEntry:
        """One topic.

        Raises:
            NotFound: There is no such topic.
        """
        with self._reading() as connection:
            return self._topic(connection, collection, id)

    def rename_topic(self, collection: str, id: str, label: str, *, by_hand: bool = True) -> TopicEntry:
        """Give a topic a name and return it. A name given by hand stays when topics are mined again.

        Args:
            by_hand: False gives the naming back to the program.

        Raises:
            NotFound: There is no such topic.
            QueryError: The name is empty.
        """
        name = " ".join(storable(label).split())
        if not name:
            raise QueryError(f"The new name of topic {id} is empty.")
        with self._writing() as connection:
            self._topic(connection, collection, id)
            connection.execute(
                update(T)
                .where(T.collection == collection, T.id == id)
                .values(label=name, named_by_hand=by_hand)
            )
            renamed = LineageEntry("", None, id, "renamed")
            connection.execute(insert(L), self._lineage_rows(connection, collection, [renamed]))
            return self._topic(connection, collection, id)

    def lineage(self, collection: str, id: str) -> list[LineageEntry]:
        """All that was recorded of a topic, as the old or the new one, oldest first."""
        return self._entries(L.collection == collection, or_(L.old_id == id, L.new_id == id))

    def all_lineage(self, collection: str) -> list[LineageEntry]:
        """All that was recorded of the topics of a collection, oldest first."""
        return self._entries(L.collection == collection)

    def _entries(self, *conditions: ColumnElement[bool]) -> list[LineageEntry]:
        query = select(L.run, L.old_id, L.new_id, L.kind, L.score, L.at, L.label)
        with self._reading() as connection:
            rows = connection.execute(query.where(*conditions).order_by(L.row)).all()
        return [LineageEntry(*row) for row in rows]  # type: ignore[arg-type]

    def successors(self, collection: str, id: str) -> list[str]:
        """The live topics that a topic has become: itself when it is live, none when it ended without heirs.

        Only the last thing that happened to a topic counts: what a rollback has undone is not followed.

        Raises:
            NotFound: There is no such topic.
        """
        live: list[str] = []
        seen: set[str] = set()
        with self._reading() as connection:
            self._topic(connection, collection, id)
            waiting = [id]
            while waiting:
                current = waiting.pop(0)
                if current in seen:
                    continue
                seen.add(current)
                if self._topic(connection, collection, current).state == "live":
                    live.append(current)
                else:
                    waiting += _heirs(connection, collection, current)
        return live

    # -- inside a transaction ------------------------------------------------------------------------------

    def _topic(self, connection: Connection, collection: str, id: str) -> TopicEntry:
        row = (
            connection.execute(select(T.__table__).where(T.collection == collection, T.id == id))
            .mappings()
            .first()
        )
        if row is None:
            raise NotFound(
                f"There is no topic '{id}' in collection '{collection}'.",
                command="indexer topics lists them.",
            )
        return _topic(row)

    def _save_topics(self, connection: Connection, collection: str, topics: Iterable[TopicEntry]) -> None:
        rows = [
            {
                "collection": collection,
                "id": topic.id,
                **{f.name: getattr(topic, f.name) for f in fields(topic)},
                "label": storable(topic.label),
                "phrases": [storable(phrase) for phrase in topic.phrases],
            }
            for topic in sorted(topics, key=lambda topic: topic.number)
        ]
        if not rows:
            return
        statement = self._insert(T)
        new = statement.excluded
        statement = statement.on_conflict_do_update(
            index_elements=["collection", "id"],
            set_={
                "label": case((T.named_by_hand, T.label), else_=new.label),
                "named_by_hand": case((T.named_by_hand, True), else_=new.named_by_hand),
                **{
                    name: new[name]
                    for name in ("number", "state", "born_run", "retired_run", "phrases", "size")
                },
            },
        )
        connection.execute(statement, rows)

    def _record_lineage(
        self, connection: Connection, collection: str, entries: Iterable[LineageEntry]
    ) -> None:
        """Add what became of topics, once; both ids must have been saved."""
        rows = self._lineage_rows(connection, collection, entries)
        runs = {row["run"] for row in rows}
        query = select(L.run, L.old_id, L.new_id, L.kind).where(L.collection == collection, L.run.in_(runs))
        known = {tuple(row) for row in connection.execute(query)}
        new = [row for row in rows if (row["run"], row["old_id"], row["new_id"], row["kind"]) not in known]
        if new:
            connection.execute(insert(L), new)

    def _lineage_rows(
        self, connection: Connection, collection: str, entries: Iterable[LineageEntry]
    ) -> list[dict[str, Any]]:
        """Rows to insert: with the time, and the names that the topics have now."""
        at = now()
        names = connection.execute(select(T.id, T.label).where(T.collection == collection))
        labels: dict[str | None, str] = {row.id: row.label for row in names}
        return [
            {
                "collection": collection,
                **{f.name: getattr(entry, f.name) for f in fields(entry)},
                "at": entry.at or at,
                "label": labels.get(entry.new_id, ""),
            }
            for entry in entries
        ]


def _heirs(connection: Connection, collection: str, id: str) -> list[str]:
    """What the newest run that says something of this topic made of it, best match first."""
    about = (L.collection == collection, L.old_id == id)
    newest = select(L.run).where(*about).order_by(L.row.desc()).limit(1).scalar_subquery()
    query = (
        select(L.new_id)
        .where(*about, L.run == newest, L.new_id.is_not(None))
        .order_by(L.score.desc(), L.new_id)
    )
    return [row.new_id for row in connection.execute(query)]


def _topic(row: RowMapping) -> TopicEntry:
    values = {f.name: row[f.name] for f in fields(TopicEntry)}
    return TopicEntry(**{**values, "phrases": tuple(row["phrases"])})
