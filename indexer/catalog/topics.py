"""Topics with permanent numbers, their labels and their lineage.

Fits: the arrays that assign topics. One is live; it changes together with its topics and their lineage.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, RowMapping, case, delete, insert, or_, select, update

from indexer.catalog.database import Database, now, storable
from indexer.catalog.entries import Fit, LineageEntry, TopicEntry, TopicMark, TopicState
from indexer.catalog.tables import CounterRow as C
from indexer.catalog.tables import FitRow as F
from indexer.catalog.tables import GenerationRow as G
from indexer.catalog.tables import LineageRow as L
from indexer.catalog.tables import TopicRow as T
from indexer.errors import CatalogError, NotFound, QueryError

CHECKSUM = "checksum"  # in the info of a fit: CRC-32 of its packed arrays
UNDOABLE = 10  # acts of users, of which the fits before them are kept


class Topics(Database):
    def next_topic_number(self, collection: str, how_many: int = 1) -> int:
        """Reserve `how_many` consecutive numbers and return the first. No number is reused."""
        statement = self._insert(C).values(collection=collection, name="topic", value=how_many)
        statement = statement.on_conflict_do_update(
            index_elements=["collection", "name"], set_={"value": C.value + how_many}
        ).returning(C.value)
        with self._writing() as connection:
            last: int = connection.execute(statement).scalar_one()
        return last - how_many + 1

    def save_topics(self, collection: str, topics: Iterable[TopicEntry]) -> None:
        """Write or overwrite topics; others stay as they are. A locked label does not change."""
        with self._writing() as connection:
            self._save_topics(connection, collection, topics)

    def topics(self, collection: str, state: TopicState | None = "live") -> list[TopicEntry]:
        """Return topics in one state, or all with None, by number."""
        query = select(T.__table__).where(T.collection == collection).order_by(T.number)
        if state is not None:
            query = query.where(T.state == state)
        with self._reading() as connection:
            return [_topic(row) for row in connection.execute(query).mappings()]

    def topic(self, collection: str, id: str) -> TopicEntry:
        """Return one topic.

        Raises:
            NotFound: There is no such topic.
        """
        with self._reading() as connection:
            return self._topic(connection, collection, id)

    def rename_topic(self, collection: str, id: str, label: str, *, locked: bool = True) -> TopicEntry:
        """Set the label of a topic and return the topic. A locked label stays when topics are fitted again.

        Args:
            locked: False lets the next fit name the topic again.

        Raises:
            NotFound: There is no such topic.
            QueryError: The label is empty.
        """
        name = " ".join(storable(label).split())
        if not name:
            raise QueryError(f"The new label of topic {id} is empty.")
        with self._writing() as connection:
            self._topic(connection, collection, id)
            connection.execute(
                update(T)
                .where(T.collection == collection, T.id == id)
                .values(label=name, label_locked=locked)
            )
            renamed = LineageEntry("", None, id, "renamed")
            connection.execute(insert(L), self._lineage_rows(connection, collection, [renamed]))
            return self._topic(connection, collection, id)

    def mark_topic(self, collection: str, id: str, mark: TopicMark) -> None:
        """Pin or hide a topic, or with an empty mark neither.

        Raises:
            NotFound: There is no such topic.
        """
        with self._writing() as connection:
            if self._topic(connection, collection, id).mark != mark:
                connection.execute(update(T).where(T.collection == collection, T.id == id).values(mark=mark))
                marked = LineageEntry("", None, id, mark or "unmarked")
                connection.execute(insert(L), self._lineage_rows(connection, collection, [marked]))

    def topic_marks(self, collection: str) -> dict[str, tuple[TopicMark, str]]:
        """Return the marks and mined labels of live topics that have any."""
        query = select(T.id, T.mark, T.mined).where(
            T.collection == collection, T.state == "live", or_(T.mark != "", T.mined != "")
        )
        with self._reading() as connection:
            return {row.id: (row.mark, row.mined) for row in connection.execute(query)}

    def lineage(self, collection: str, id: str) -> list[LineageEntry]:
        """Return all changes of a topic, as the old or the new one, oldest first."""
        return self._entries(L.collection == collection, or_(L.old_id == id, L.new_id == id))

    def all_lineage(self, collection: str) -> list[LineageEntry]:
        """Return all changes of the topics of a collection, oldest first."""
        return self._entries(L.collection == collection)

    def _entries(self, *conditions: ColumnElement[bool]) -> list[LineageEntry]:
        query = select(L.run, L.old_id, L.new_id, L.kind, L.score, L.at, L.label)
        with self._reading() as connection:
            rows = connection.execute(query.where(*conditions).order_by(L.row)).all()
        return [LineageEntry(*row) for row in rows]  # type: ignore[arg-type]

    def successors(self, collection: str, id: str) -> list[str]:
        """Return the live topics that continue a topic: itself when it is live, none when nothing continues it.

        Only the last change of a topic counts: changes that a rollback has undone are not followed.

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
                    waiting += _successors(connection, collection, current)
        return live

    # -- inside a transaction --------------------------------------------------------------------------------

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
                "mined": storable(topic.mined),
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
                "label": case((T.label_locked, T.label), else_=new.label),
                "label_locked": case((T.label_locked, True), else_=new.label_locked),
                "mined": case((new.mined == "", T.mined), else_=new.mined),
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
        """Add lineage entries that are not recorded yet; both topics must have been saved."""
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
        """Return rows to insert, with the time and the current labels."""
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


def _successors(connection: Connection, collection: str, id: str) -> list[str]:
    """Return the topics that the newest run with this topic made of it, best match first."""
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


class Fits(Topics):
    def save_fit(
        self,
        collection: str,
        run: str,
        bundle: str,
        arrays: Mapping[str, NDArray[Any]],
        info: Mapping[str, Any],
    ) -> None:
        """Save a fit under the run that made it, not live yet. Saving again overwrites it."""
        from safetensors.numpy import save

        # safetensors writes the memory as it lies, so a transposed array has to be copied first
        packed = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        row = {
            "collection": collection,
            "run": run,
            "bundle": bundle,
            "created_at": now(),
            "arrays": packed,
            "info": {**info, CHECKSUM: zlib.crc32(packed)},
            "live": False,
        }
        with self._writing() as connection:
            connection.execute(self._upsert(F, update=("bundle", "created_at", "arrays", "info")), row)

    def add_to_fit(self, collection: str, run: str, more: Mapping[str, Any]) -> None:
        """Add to the info of a fit; existing names are replaced.

        Raises:
            NotFound: There is no such fit.
        """
        this = (F.collection == collection, F.run == run)
        with self._writing() as connection:
            info = connection.scalar(select(F.info).where(*this).with_for_update())
            if info is None:
                raise NotFound(f"There is no fit of run '{run}' in collection '{collection}'.")
            connection.execute(update(F).where(*this).values(info={**info, **more}))

    def install_fit(
        self, collection: str, fit: str, *, topics: Iterable[TopicEntry], lineage: Iterable[LineageEntry] = ()
    ) -> None:
        """Activate a saved fit with its topics and their lineage, in one transaction.

        Args:
            fit: The run that made the fit.
            topics: The live topics from now on; all others are retired.

        Raises:
            NotFound: There is no such fit.
        """
        with self._writing() as connection:
            self._install(connection, collection, fit, fit, list(topics), lineage)

    def _install(
        self,
        connection: Connection,
        collection: str,
        fit: str,
        run: str,
        topics: Sequence[TopicEntry],
        lineage: Iterable[LineageEntry],
    ) -> None:
        """Activate a fit in a transaction; with an empty `fit`, none is live. `run` is recorded.

        Fits that no generation refers to are deleted, but for those before the last acts of users.
        """
        of_collection = F.collection == collection
        connection.execute(update(F).where(of_collection, F.live).values(live=False))
        done = connection.execute(update(F).where(of_collection, F.run == fit).values(live=True))
        if fit and done.rowcount == 0:
            raise NotFound(f"There is no fit of run '{fit}' in collection '{collection}'.")
        needed = select(G.fit).where(G.collection == collection)
        undoable = self._before(connection, collection, fit)
        connection.execute(
            delete(F).where(of_collection, F.live.is_(False), F.run.not_in(needed), F.run.not_in(undoable))
        )
        retired = update(T).where(T.collection == collection, T.state == "live")
        kept = [topic.id for topic in topics]
        connection.execute(retired.where(T.id.not_in(kept)).values(state="retired", retired_run=run))
        self._save_topics(connection, collection, topics)
        self._record_lineage(connection, collection, lineage)

    def _before(self, connection: Connection, collection: str, fit: str) -> list[str]:
        """The fits that users' acts have led from to this one, the newest first."""
        infos = {
            run: info
            for run, info in connection.execute(select(F.run, F.info).where(F.collection == collection))
        }
        found: list[str] = []
        while (act := infos.get(fit, {}).get("act")) and len(found) < UNDOABLE:
            fit = act["before"]
            found.append(fit)
        return found

    def live_fit(self, collection: str) -> Fit | None:
        """Return the live fit; None before the first one.

        Raises:
            CatalogError: Its arrays are not what was written.
        """
        return self._fit(F.collection == collection, F.live.is_(True))

    def remove_live_fit(self, collection: str) -> None:
        """Delete the live fit, which is damaged; the next run fits topics again, and they keep their ids."""
        with self._writing() as connection:
            connection.execute(delete(F).where(F.collection == collection, F.live))

    def fit(self, collection: str, run: str) -> Fit:
        """Return the fit that this run made, live or not.

        Raises:
            NotFound: There is no such fit.
        """
        found = self._fit(F.collection == collection, F.run == run)
        if found is None:
            raise NotFound(f"There is no fit of run '{run}' in collection '{collection}'.")
        return found

    def fits(self, collection: str) -> list[Fit]:
        """Return all fits, newest first, without their arrays."""
        query = (
            select(F.run, F.bundle, F.created_at, F.live, F.info)
            .where(F.collection == collection)
            .order_by(F.created_at.desc(), F.run.desc())
        )
        with self._reading() as connection:
            return [_fit(row, {}) for row in connection.execute(query).mappings()]

    def _fit(self, *conditions: ColumnElement[bool]) -> Fit | None:
        from safetensors.numpy import load

        query = select(F.run, F.bundle, F.created_at, F.live, F.info, F.arrays).where(*conditions)
        with self._reading() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        packed = bytes(row["arrays"])
        if row["info"].get(CHECKSUM, zlib.crc32(packed)) != zlib.crc32(packed):  # 0.1.0 wrote none
            raise CatalogError(
                f"The topics' fit of run {row['run']} is damaged.",
                hint="Have topics fitted again; they keep their ids: indexer doctor --repair",
            )
        return _fit(row, load(packed))


def _fit(row: RowMapping, arrays: dict[str, NDArray[Any]]) -> Fit:
    info = {name: value for name, value in row["info"].items() if name != CHECKSUM}
    return Fit(row["run"], row["bundle"], row["created_at"], row["live"], info, arrays)
