"""Rows in and out: sent, made visible, read by id and as streams over a point in time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from indexer.common import batches
from indexer.engines.elastic.bulk import Action, BulkFailure, Guard, guard_of, require, send
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.errors import explained
from indexer.engines.elastic.rows import Row, to_vector, usable
from indexer.errors import EngineUnavailable
from indexer.records import Vector

PAGE = 1_000
IDS_AT_ONCE = 1_000
KEEP_ALIVE = "5m"  # of a point in time; every page renews it
NEVER_IN_SOURCE = [
    "vector",
    "centroid",
]  # some servers leave vectors out of it: they are always asked for by name


class Freshness:
    """Sends rows, and remembers in which indices there are some that a search does not see yet."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stale: set[str] = set()

    def send(self, actions: Iterable[Action]) -> list[BulkFailure]:
        """Carry out actions; returns what was refused."""
        touched: set[str] = set()

        def noted() -> Iterator[Action]:
            for action in actions:
                touched.add(action.index)
                yield action

        try:
            return send(self._cluster, noted())
        finally:
            # Afterwards: a refresh that another thread asks for meanwhile comes too early for these rows.
            self._stale |= touched

    def must(self, actions: Iterable[Action]) -> None:
        """Carry out actions that nothing should be wrong with; a row that is gone meanwhile needs none.

        Raises:
            WriteRefused: The server refused some.
        """
        require(self.send(actions), self._cluster.where)

    def doubt(self, *indices: str) -> None:
        """Take it that other processes have written to these, too."""
        self._stale |= set(indices)

    def refresh_all(self, *indices: str) -> None:
        """Make visible what anybody has written there."""
        self._stale |= set(indices)
        self.refresh(*indices)

    def refresh(self, *indices: str) -> None:
        """Make what this process has written visible to searches."""
        stale = self._stale.intersection(indices)
        if stale:
            self._stale -= stale  # before the request: rows written meanwhile count as stale again
            try:
                self._cluster.ask(self._cluster.client.indices.refresh, index=sorted(stale))
            except BaseException:
                self._stale |= stale
                raise


def by_id(
    cluster: Cluster, index: str, ids: Sequence[str], fields: Sequence[str] | None = None
) -> dict[str, Row]:
    """Rows by id, without vectors; as they are at this moment, whether a search sees them yet or not.

    Args:
        fields: Only these; all when None.
    """
    found: dict[str, Row] = {}
    for some in batches(usable(ids), IDS_AT_ONCE):
        hits = cluster.tried(partial(_hits_by_id, cluster, index, some, fields))
        found |= {hit["_id"]: hit.get("_source", {}) for hit in hits}
    return found


@dataclass(frozen=True)
class Version:
    """A row, and the state that it was in."""

    row: Row
    guard: Guard


def versions_by_id(
    cluster: Cluster, index: str, ids: Sequence[str], fields: Sequence[str]
) -> dict[str, Version]:
    """Rows by id with what guards their update."""
    found: dict[str, Version] = {}
    for some in batches(usable(ids), IDS_AT_ONCE):
        hits = cluster.tried(partial(_hits_by_id, cluster, index, some, fields))
        found |= {hit["_id"]: Version(hit.get("_source", {}), guard_of(hit)) for hit in hits}
    return found


def _hits_by_id(cluster: Cluster, index: str, ids: Sequence[str], fields: Sequence[str] | None) -> list[Row]:
    answer = cluster.once(
        cluster.client.mget,
        index=index,
        ids=ids,
        source_includes=list(fields) if fields is not None else None,
        source_excludes=NEVER_IN_SOURCE,
    )
    for row in answer["docs"]:
        if row.get("error"):  # a shard is on its way from one server to another, or the index is gone
            raise explained(cluster.where, 503, row)
    return [row for row in answer["docs"] if row["found"]]


def vectors_by_id(cluster: Cluster, index: str, ids: Sequence[str]) -> dict[str, Vector]:
    """Vectors of rows that a search sees."""
    found: dict[str, Vector] = {}
    for some in batches(usable(ids), IDS_AT_ONCE):
        answer = cluster.search(
            index=index,
            query={"ids": {"values": some}},
            size=len(some),
            source=False,
            fields=[{"field": "vector"}],
            track_total_hits=False,
        )
        for hit in answer["hits"]["hits"]:
            vector = vector_of(hit)
            if vector is not None:
                found[hit["_id"]] = vector
    return found


def vector_of(hit: Row, field: str = "vector") -> Vector | None:
    """The vector of a hit that it was asked for."""
    numbers = hit.get("fields", {}).get(field)
    return to_vector(numbers) if numbers else None


def stream(
    cluster: Cluster,
    index: str,
    query: dict[str, Any],
    *,
    sort: Sequence[str],
    fields: Sequence[str] | None = None,
    vector: str | None = None,
    guards: bool = False,
    page: int = PAGE,
) -> Generator[Row, None, None]:
    """All hits in order, as they were when the stream began, however long it is read.

    When the server is restarted meanwhile and we are patient, the rest comes as it is after that.

    Args:
        sort: Fields, ascending, which differ for any two rows; or `_score`, the highest first.
        fields: Of the rows; all when None.
        vector: Name of the vector field, when it is wanted.
        guards: Hits tell which state of the row was read; see `guard_of`.
    """

    def snapshot() -> str:
        return str(cluster.ask(cluster.client.open_point_in_time, index=index, keep_alive=KEEP_ALIVE)["id"])

    opened = snapshot()
    after: list[Any] | None = None
    try:
        while True:
            try:
                answer = cluster.search(
                    query=query,
                    size=page,
                    sort=[{name: "desc" if name == "_score" else "asc"} for name in sort],
                    search_after=after,
                    pit={"id": opened, "keep_alive": KEEP_ALIVE},
                    source=_source(fields),
                    fields=[{"field": vector}] if vector else None,
                    seq_no_primary_term=guards,
                    track_total_hits=False,
                )
            except EngineUnavailable as error:
                if not (cluster.is_patient and error.facts.get("forgotten")):
                    raise
                opened = snapshot()
                continue
            opened = answer["pit_id"]
            hits = answer["hits"]["hits"]
            yield from hits
            if len(hits) < page:
                return
            after = hits[-1]["sort"]
    finally:
        with_error = cluster.client.options(ignore_status=404)
        cluster.ask(with_error.close_point_in_time, id=opened)


def _source(fields: Sequence[str] | None) -> Any:
    if fields is None:
        return {"excludes": NEVER_IN_SOURCE}
    return {"includes": list(fields)} if fields else False
