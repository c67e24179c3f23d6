"""Sending, refreshing and reading rows: by id and as streams over a point in time; change marks."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from indexer.common import batches
from indexer.engines.elastic.bulk import Action, BulkFailure, Guard, guard_of, require, send
from indexer.engines.elastic.cluster import Cluster, explained
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.rows import Row, usable
from indexer.engines.elastic.vector_cache import VectorCache
from indexer.engines.elastic.vectors import vectors_of
from indexer.errors import EngineUnavailable
from indexer.records import MentionRow, Vector

PAGE = 2_000
IDS_AT_ONCE = 1_000
MAX_NOTED = 100_000  # phrases that were read but not written yet; a process that only reads writes none
KEEP_ALIVE = "5m"  # of a point in time; every page renews it
LONG = "12h"  # of the snapshot of marks, while all mentions are read
VECTORS = ["vector", "centroid"]  # fields that are read only where they are requested


class Freshness:
    """Sends rows, and tracks the indices with rows that searches do not see yet."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stale: set[str] = set()

    def send(self, actions: Iterable[Action]) -> list[BulkFailure]:
        """Execute actions; returns the failures."""
        touched: set[str] = set()

        def noted() -> Iterator[Action]:
            for action in actions:
                touched.add(action.index)
                yield action

        try:
            return send(self._cluster, noted())
        finally:
            # Afterwards: a concurrent refresh by another thread is too early for these rows.
            self._stale |= touched

    def must(self, actions: Iterable[Action]) -> None:
        """Execute actions that should not fail; a row that was removed concurrently needs none.

        Raises:
            WriteRefused: The server refused some.
        """
        require(self.send(actions), self._cluster.where)

    def doubt(self, *indices: str) -> None:
        """Treat these indices as written to by other processes."""
        self._stale |= set(indices)

    def refresh_all(self, *indices: str) -> None:
        """Make the writes of all processes visible."""
        self._stale |= set(indices)
        self.refresh(*indices)

    def refresh(self, *indices: str) -> None:
        """Make the writes of this process visible to searches."""
        stale = self._stale.intersection(indices)
        if stale:
            self._stale -= stale  # before the request: rows written concurrently count as stale again
            try:
                self._cluster.ask(self._cluster.client.indices.refresh, index=sorted(stale))
            except BaseException:
                self._stale |= stale
                raise


def by_id(
    cluster: Cluster, index: str, ids: Sequence[str], fields: Sequence[str] | None = None
) -> dict[str, Row]:
    """Return rows by id without vectors, in their current state, whether searches see it or not.

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
    """A row with its version."""

    row: Row
    guard: Guard


def versions_by_id(
    cluster: Cluster, index: str, ids: Sequence[str], fields: Sequence[str]
) -> dict[str, Version]:
    """Return rows by id with the versions that guard their update."""
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
        source_excludes=VECTORS,
    )
    for row in answer["docs"]:
        if row.get("error"):  # a shard is being moved, or the index was removed
            raise explained(cluster.where, 503, row)
    return [row for row in answer["docs"] if row["found"]]


def vectors_by_id(cluster: Cluster, index: str, ids: Sequence[str]) -> dict[str, Vector]:
    """Return the vectors of rows that searches see."""
    found: dict[str, Vector] = {}
    for some in batches(usable(ids), IDS_AT_ONCE):
        answer = cluster.search(
            index=index,
            query={"ids": {"values": some}},
            size=len(some),
            source=["vector"],
            fields=[{"field": "vector"}],
            track_total_hits=False,
        )
        hits = answer["hits"]["hits"]
        for hit, vector in zip(hits, vectors_of(hits), strict=True):
            if vector is not None:
                found[hit["_id"]] = vector
    return found


def stream(
    cluster: Cluster,
    index: str,
    query: dict[str, Any],
    *,
    sort: Sequence[str],
    fields: Sequence[str] | None = None,
    vectors: bool = False,
    cache: VectorCache | None = None,
    guards: bool = False,
    page: int = PAGE,
    keep_alive: str = KEEP_ALIVE,
) -> Generator[Row, None, None]:
    """Iterate over all hits in order, as of the beginning of the stream.

    When the server restarts inside `Cluster.retrying`, the rest is read as of the restart.

    Args:
        sort: Fields, ascending, which differ for any two rows; or `_score`, the highest first.
        fields: Of the rows; all when None.
        vectors: Read the vectors of the rows too; see `vector_of`.
        cache: Where to look for these vectors first.
        guards: Read the versions of the rows; see `guard_of`.
        keep_alive: How long the server keeps the snapshot while the caller works on a page.
    """

    def snapshot() -> str:
        return str(cluster.ask(cluster.client.open_point_in_time, index=index, keep_alive=keep_alive)["id"])

    cached = cache if vectors and cache and not cache.is_empty() else None

    def page_after(last: list[Any] | None, opened: str) -> Any:
        served = vectors and not cached
        answer = cluster.search(
            query=query,
            size=page,
            sort=[{name: "desc" if name == "_score" else "asc"} for name in sort],
            search_after=last,
            pit={"id": opened, "keep_alive": keep_alive},
            source=_source(fields, served),
            fields=[{"field": "vector"}] if served else None,
            seq_no_primary_term=guards,
            track_total_hits=False,
        )
        if cached:
            _add_vectors(cluster, answer["hits"]["hits"], cached, answer["pit_id"])
        return answer

    opened = snapshot()
    after: list[Any] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="stream") as ahead:
        try:
            found = ahead.submit(page_after, after, opened)
            while True:
                try:
                    answer = found.result()
                except EngineUnavailable as error:
                    if not (cluster.retries and error.facts.get("forgotten")):
                        raise
                    opened = snapshot()
                    found = ahead.submit(page_after, after, opened)
                    continue
                opened = answer["pit_id"]
                hits = answer["hits"]["hits"]
                if len(hits) < page:
                    yield from hits
                    return
                after = hits[-1]["sort"]
                found = ahead.submit(page_after, after, opened)  # while the caller works on this page
                yield from hits
        finally:
            wait([found])
            with_error = cluster.client.options(ignore_status=404)
            cluster.ask(with_error.close_point_in_time, id=opened)


def _add_vectors(cluster: Cluster, hits: Sequence[Row], cache: VectorCache, opened: str) -> None:
    """Add to each hit its vector, from the cache or else from the same point in time."""
    found = cache.find([hit["_source"].get("vector_key") for hit in hits])
    for hit, vector in zip(hits, found, strict=True):
        hit["fields"] = {"vector": vector}
    missing = {hit["_id"]: hit for hit, vector in zip(hits, found, strict=True) if vector is None}
    if missing:
        answer = cluster.search(
            query={"ids": {"values": list(missing)}},
            size=len(missing),
            pit={"id": opened, "keep_alive": KEEP_ALIVE},
            source=["vector"],
            fields=[{"field": "vector"}],
            track_total_hits=False,
        )
        for hit in answer["hits"]["hits"]:
            missing[hit["_id"]]["fields"] = {"vector": hit.get("fields", hit["_source"]).get("vector")}


def _source(fields: Sequence[str] | None, vectors: bool) -> Any:
    if fields is None:
        return True if vectors else {"excludes": VECTORS}
    return {"includes": list(fields)} if fields else False


# -- change marks --------------------------------------------------------------------------------------------


class ChangeMarks:
    """The change marks of one collection.

    A change mark is a row for each phrase whose phrase row is out of date. A phrase may be marked again after its
    mentions were read and before its row is written. That mark must stay, so `clear` removes only the version that was
    there when the mentions were read.
    """

    def __init__(self, cluster: Cluster, names: Names, fresh: Freshness) -> None:
        self._cluster = cluster
        self._names = names
        self._fresh = fresh
        self._noted: dict[str, Guard | None] = {}  # phrase ► its mark before its mentions were read

    def note(self, phrases: Iterable[str]) -> None:
        """Note the marks of phrases whose mentions are about to be read."""
        wanted = list(phrases)
        found = versions_by_id(self._cluster, self._names.changes, wanted, ["phrase_id"])
        self._remember({phrase: found[phrase].guard if phrase in found else None for phrase in wanted})

    def noted_before(self, groups: Iterable[list[MentionRow]]) -> Iterator[list[MentionRow]]:
        """Iterate over groups of mentions in order of phrase, after the marks of all phrases were read."""
        everything: dict[str, Any] = {"match_all": {}}
        self._fresh.refresh_all(self._names.changes)  # a mark in another version than the last would stay
        hits = stream(
            self._cluster, self._names.changes, everything, sort=["phrase_id"], fields=[], guards=True,
            keep_alive=LONG,
        )  # fmt: skip
        with closing(hits):
            mark = next(hits, None)
            for group in groups:
                phrase = group[0].phrase_id
                while mark is not None and mark["_id"] < phrase:
                    mark = next(hits, None)
                self._remember({phrase: guard_of(mark) if mark and mark["_id"] == phrase else None})
                yield group

    def clear(self, phrases: Iterable[str]) -> None:
        """Remove the marks of phrases whose rows were written or removed.

        The mark of a phrase whose mentions were not read is removed in any version.
        """
        actions = []
        for phrase in phrases:
            guard = self._noted.get(phrase)
            if guard or phrase not in self._noted:
                actions.append(Action("delete", self._names.changes, phrase, guard=guard))
            self._noted.pop(phrase, None)
        failures = self._fresh.send(actions)
        require([failure for failure in failures if not failure.conflict], self._cluster.where)

    def _remember(self, marks: Mapping[str, Guard | None]) -> None:
        self._noted |= marks
        for phrase in list(islice(self._noted, max(0, len(self._noted) - MAX_NOTED))):
            self._noted.pop(phrase, None)
