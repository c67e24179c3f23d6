"""Fits: the arrays that assign topics. One is live; it changes together with its topics and their lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, RowMapping, delete, select, update

from indexer.catalog.database import now
from indexer.catalog.entries import Fit, LineageEntry, TopicEntry
from indexer.catalog.tables import FitRow as F
from indexer.catalog.tables import GenerationRow as G
from indexer.catalog.tables import TopicRow as T
from indexer.catalog.topics import Topics
from indexer.errors import NotFound


class Fits(Topics):
    def save_fit(
        self,
        collection: str,
        run: str,
        bundle: str,
        arrays: Mapping[str, NDArray[Any]],
        info: Mapping[str, Any],
    ) -> None:
        """Keep a fit under the run that made it; it is not live yet. Saving again overwrites it."""
        from safetensors.numpy import save

        row = {
            "collection": collection,
            "run": run,
            "bundle": bundle,
            "created_at": now(),
            # safetensors writes the memory as it lies, so a transposed array has to be copied first
            "arrays": save({name: np.ascontiguousarray(array) for name, array in arrays.items()}),
            "info": dict(info),
            "live": False,
        }
        with self._writing() as connection:
            connection.execute(self._upsert(F, update=("bundle", "created_at", "arrays", "info")), row)

    def add_to_fit(self, collection: str, run: str, more: Mapping[str, Any]) -> None:
        """Say more of a fit; what was said under the same names before is replaced.

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
        self,
        collection: str,
        fit: str,
        *,
        topics: Iterable[TopicEntry],
        lineage: Iterable[LineageEntry] = (),
    ) -> None:
        """Make a saved fit the live one, with its topics and their lineage: all of it or nothing.

        Args:
            fit: The run that made the fit.
            topics: The live topics from now on; every other one is retired.

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
        """As above; `fit` may be empty, and then none is live. `run` is the one that does it.

        Fits that no generation can go back to are deleted.
        """
        of_collection = F.collection == collection
        connection.execute(update(F).where(of_collection, F.live).values(live=False))
        done = connection.execute(update(F).where(of_collection, F.run == fit).values(live=True))
        if fit and done.rowcount == 0:
            raise NotFound(f"There is no fit of run '{fit}' in collection '{collection}'.")
        needed = select(G.fit).where(G.collection == collection)
        connection.execute(delete(F).where(of_collection, F.live.is_(False), F.run.not_in(needed)))
        retired = update(T).where(T.collection == collection, T.state == "live")
        kept = [topic.id for topic in topics]
        connection.execute(retired.where(T.id.not_in(kept)).values(state="retired", retired_run=run))
        self._save_topics(connection, collection, topics)
        self._record_lineage(connection, collection, lineage)

    def live_fit(self, collection: str) -> Fit | None:
        """The fit in use; None before the first one."""
        return self._fit(F.collection == collection, F.live.is_(True))

    def fit(self, collection: str, run: str) -> Fit:
        """The fit that this run made, live or not.

        Raises:
            NotFound: There is no such fit.
        """
        found = self._fit(F.collection == collection, F.run == run)
        if found is None:
            raise NotFound(f"There is no fit of run '{run}' in collection '{collection}'.")
        return found

    def fits(self, collection: str) -> list[Fit]:
        """All fits, newest first, without their arrays."""
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
        return _fit(row, load(bytes(row["arrays"]))) if row is not None else None


def _fit(row: RowMapping, arrays: dict[str, NDArray[Any]]) -> Fit:
    return Fit(row["run"], row["bundle"], row["created_at"], row["live"], row["info"], arrays)
