"""An index of somebody else's, in memory: what `UserDocuments` does with a server, beside the embedded engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

from indexer.engines.elastic.bulk import BulkFailure
from indexer.engines.elastic.user_documents import Enrichments, UserDocuments, UserRow
from indexer.engines.elastic.user_index import EnrichOptions

OPTIONS = EnrichOptions("text")


class UserIndexInMemory:
    """Documents by id; each write has a number."""

    def __init__(self) -> None:
        cluster = SimpleNamespace(retrying=nullcontext)
        self.index = SimpleNamespace(
            name="news", source="elasticsearch:news", cluster=cluster, add_field=lambda *_: None
        )
        self.options = OPTIONS
        self.sources: dict[str, dict[str, Any]] = {}
        self.numbers: dict[str, int] = {}
        self.deletions = 0
        self._rows = UserDocuments(SimpleNamespace(field="indexer", source=self.index.source), OPTIONS, 10**6)

    @contextmanager
    def opened(self) -> Iterator[UserIndexInMemory]:
        """In the place of `Enriching._documents`."""
        yield self

    def put(self, id_: str, source: dict[str, Any]) -> None:
        self.sources[id_] = source
        self.numbers[id_] = max(self.numbers.values(), default=-1) + 1

    def delete(self, id_: str) -> None:
        del self.sources[id_]
        self.deletions += 1

    def ours(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sources[id_].get("indexer", {})
        return found

    # -- as UserDocuments ------------------------------------------------------------------------------------

    def refresh(self) -> None: ...

    def count(self) -> int:
        return len(self.sources)

    def scan(self, page: int = 0) -> Iterator[list[UserRow]]:
        yield self.read(self.sources)

    def ids(self) -> Iterator[str]:
        yield from self.sources

    def read(self, places: Iterable[str]) -> list[UserRow]:
        return [self._row(id_) for id_ in places if id_ in self.sources]

    def _row(self, id_: str) -> UserRow:
        return self._rows._row(
            {"_id": id_, "_seq_no": self.numbers[id_], "_primary_term": 1, "_source": self.sources[id_]}
        )

    def marks(self) -> Enrichments:
        return Enrichments({"0": max(self.numbers.values(), default=-1)}, self.deletions)

    def written_since(self, marks: Enrichments) -> Iterator[UserRow]:
        yield from self.read([id_ for id_, number in self.numbers.items() if number > marks.numbers["0"]])

    def write(self, wanted: Iterable[tuple[UserRow, Mapping[str, Any]]]) -> list[BulkFailure]:
        for row, body in wanted:
            self.put(row.id, {**self.sources[row.id], "indexer": {**self.ours(row.id), **body}})
        return []

    def strip(self, rows: Iterable[UserRow]) -> list[BulkFailure]:
        for row in rows:
            self.put(
                row.id, {name: value for name, value in self.sources[row.id].items() if name != "indexer"}
            )
        return []

    def take_back(self, paced: Any, page: int = 0) -> int:
        had = [id_ for id_, source in self.sources.items() if source.pop("indexer", None)]
        return len(had)
