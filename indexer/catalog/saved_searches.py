"""Searches that are repeated after each run, and how far each has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update

from indexer.catalog.database import Database, now, storable
from indexer.catalog.tables import DocumentRow as D
from indexer.catalog.tables import SavedSearchRow as S
from indexer.errors import NotFound, QueryError

MAX_SAVED = 1_000  # of a collection: each is searched after each run


@dataclass(frozen=True)
class SavedSearch:
    """One saved search.

    Attributes:
        search: What is searched, and where new hits go; see `indexer.export.saved_searches`.
        after_run: Documents that were read in a later run are new.
        new: How many new hits the last check had that had any.
        error: Why new hits could not be delivered; they are tried again after the next run.
    """

    name: str
    search: Mapping[str, Any]
    after_run: str
    created_at: datetime
    checked_at: datetime | None
    new: int
    error: str


def no_saved_search(name: str) -> NotFound:
    """Return the error for an unknown name."""
    return NotFound(f"There is no saved search '{name}'.", hint="List them: indexer searches")


class SavedSearches(Database):
    def add_saved_search(self, collection: str, name: str, search: Mapping[str, Any]) -> None:
        """Save a search; documents that are there already are not new to it.

        Raises:
            QueryError: The name is taken, or there are too many.
        """
        counted = select(func.count()).where(S.collection == collection)
        with self._writing() as connection:
            if connection.execute(counted).scalar_one() >= MAX_SAVED:
                raise QueryError(f"The collection has {MAX_SAVED:,} saved searches; it can have no more.")
            last = connection.execute(select(func.max(D.run)).where(D.collection == collection)).scalar_one()
            row = {
                "collection": collection, "name": storable(name), "search": dict(search), "after_run": last or "",
                "created_at": now(), "checked_at": None, "new": 0, "error": "",
            }  # fmt: skip
            if not connection.execute(self._insert(S).values(row).on_conflict_do_nothing()).rowcount:
                raise QueryError(
                    f"There is a saved search '{name}' already.",
                    hint="Remove it first, or choose another name.",
                )

    def saved_searches(self, collection: str) -> list[SavedSearch]:
        """Return all, by name."""
        columns = (S.name, S.search, S.after_run, S.created_at, S.checked_at, S.new, S.error)
        query = select(*columns).where(S.collection == collection).order_by(S.name)
        with self._reading() as connection:
            return [SavedSearch(*row) for row in connection.execute(query)]

    def remove_saved_search(self, collection: str, name: str) -> None:
        """Remove one.

        Raises:
            NotFound: There is none of that name.
        """
        with self._writing() as connection:
            done = connection.execute(delete(S).where(S.collection == collection, S.name == name))
        if not done.rowcount:
            raise no_saved_search(name)

    def read_after(self, collection: str, run: str) -> dict[str, str]:
        """Map the documents that were read in later runs, new or changed, to their runs."""
        query = select(D.id, D.run).where(D.collection == collection, D.run > run)
        with self._reading() as connection:
            return {id_: of for id_, of in connection.execute(query)}

    def checked(self, collection: str, name: str, *, after_run: str, new: int) -> None:
        """Record that new hits up to a run were delivered."""
        values: dict[str, Any] = {"after_run": after_run, "checked_at": now(), "error": ""}
        if new:
            values["new"] = new
        self._change(collection, name, values)

    def not_delivered(self, collection: str, name: str, error: str) -> None:
        """Record why new hits could not be delivered."""
        self._change(collection, name, {"checked_at": now(), "error": storable(error)})

    def _change(self, collection: str, name: str, values: Mapping[str, Any]) -> None:
        with self._writing() as connection:
            connection.execute(update(S).where(S.collection == collection, S.name == name).values(**values))
