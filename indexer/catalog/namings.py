"""What a language model was shown of each topic, what it said, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import select

from indexer.catalog.database import Database, now, storable
from indexer.catalog.tables import NamingRow as N


@dataclass(frozen=True)
class Naming:
    """One request for a name. There is at most one for a topic, the name mined for it, and a model.

    So a refit that mines the same name again needs no other request, and a rollback finds the one that belongs to it.

    Attributes:
        topic: Id.
        mined: The name that the topic has without the model.
        model: As it is called in the settings.
        shown: The data of the request; the instructions are always the same.
        said: The answer; empty when there was none, and the next fit asks again.
        name: In the answer; empty when there is none in it.
        refused: Why the topic does not have that name; empty when it was accepted.
        at: Set when it is saved.
    """

    topic: str
    mined: str
    model: str
    shown: Mapping[str, Any]
    said: str = ""
    name: str = ""
    refused: str = ""
    at: datetime | None = None


class Namings(Database):
    def save_naming(self, collection: str, naming: Naming) -> None:
        """Add what a model said, or overwrite what the same model said of the same topic and mined name."""
        row = {
            "collection": collection,
            "topic": naming.topic,
            "mined": storable(naming.mined),
            "model": naming.model,
            "shown": dict(naming.shown),
            "said": storable(naming.said),
            "name": storable(naming.name),
            "refused": storable(naming.refused),
            "at": naming.at or now(),
        }
        with self._writing() as connection:
            statement = self._upsert(N, update=("shown", "said", "name", "refused", "at"))
            connection.execute(statement, row)

    def namings(self, collection: str, topic: str | None = None) -> list[Naming]:
        """Return what models said of one topic, or of all, newest first."""
        columns = [getattr(N, f.name) for f in fields(Naming)]
        query = select(*columns).where(N.collection == collection).order_by(N.at.desc(), N.topic)
        if topic is not None:
            query = query.where(N.topic == topic)
        with self._reading() as connection:
            return [Naming(*row) for row in connection.execute(query)]
