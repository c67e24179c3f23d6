"""The documents of a user's index: read at one point in time, and written only in the version that was read.

Nothing of the user's is overwritten: our object is a partial update that carries the version of the document. After a
concurrent write the server refuses it, and the document is read again; a deleted document stays deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from indexer.common import batches
from indexer.engines.elastic.bulk import Action, BulkFailure, Guard, guard_of, send
from indexer.engines.elastic.cluster import explained
from indexer.engines.elastic.reading import KEEP_ALIVE
from indexer.engines.elastic.rows import Row, TopicNames
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.engines.elastic.vectors import of_vector
from indexer.errors import EngineUnavailable, InputError, MappingMismatch, SearchError
from indexer.readers.fields import flatten_loosely, kind_of
from indexer.readers.source import clean
from indexer.records import Document, StoredDocument

PAGE = 250  # documents read at once
IDS_PAGE = 10_000
SLICES = 4  # read concurrently, at most one per shard
GAP = "\n\n"  # between several texts of a document
SHOWS_VECTORS = (9, 2)  # from this version on a server omits vectors from _source by default

Routings = Mapping[str, str | None]  # by document id


@dataclass(frozen=True)
class Enrichments:
    """State of an index, to find later writes.

    Attributes:
        numbers: Shard ► sequence number of its last write.
        deletions: Number of deletions since the server started.
    """

    numbers: Mapping[str, int]
    deletions: int


@dataclass(frozen=True)
class UserRow:
    """A document of a user's index, in the version of `guard`.

    Attributes:
        document: The document to mine; None when there is no text, an error when it is invalid.
        ours: Our object in it, without the vector; None when there is none.
    """

    id: str
    guard: Guard
    routing: str | None
    document: Document | InputError | None
    ours: Mapping[str, Any] | None

    @property
    def up_to_date(self) -> bool:
        """Return whether our object was mined from the current text."""
        found = self.document.content_hash if isinstance(self.document, Document) else ""
        return bool((self.ours or {}).get("hash", "") == found)


@dataclass(frozen=True)
class UserDocuments:
    """The documents of one index; `options` name the fields that are read and written."""

    index: UserIndex
    options: EnrichOptions
    longest: int  # bytes of title and text

    # -- reading ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Make all writes visible to searches."""
        client = self.index.cluster.client.indices
        self.index.cluster.ask(client.refresh, index=self.index.name)

    def count(self) -> int:
        """Count the documents that searches see."""
        return int(self.index.cluster.ask(self.index.cluster.client.count, index=self.index.name)["count"])

    def scan(self, page: int = PAGE) -> Iterator[list[UserRow]]:
        """Iterate over all documents as of the beginning of the scan, in unordered pages.

        When the server restarts inside `Cluster.retrying`, the scan starts again and repeats some documents.
        """
        slices = min(self.index.shards, SLICES)
        for hits in self._pages({"match_all": {}}, self._wanted(), page=page, slices=slices):
            yield [self._row(hit) for hit in hits]

    def ids(self) -> Iterator[str]:
        """Iterate over the ids of all documents."""
        for hits in self._pages({"match_all": {}}, False, page=IDS_PAGE):
            yield from (hit["_id"] for hit in hits)

    def read(self, routings: Routings) -> list[UserRow]:
        """Return the current state of these documents, whether searches see it or not; deleted ones are skipped."""
        found = []
        for some in batches(routings.items(), PAGE):
            requests = [
                {"_id": id_, "_source": self._wanted()}
                | ({"routing": routing} if routing is not None else {})
                for id_, routing in some
            ]
            cluster = self.index.cluster
            answer = cluster.ask(cluster.client.mget, index=self.index.name, docs=requests)
            for row in answer["docs"]:
                if row.get("error"):
                    raise explained(cluster.where, 503, row)
                if row["found"]:
                    found.append(self._row(row))
        return found

    def _wanted(self) -> Row:
        field = self.index.field
        return {"includes": [*self.options.read, field], "excludes": [f"{field}.vector"]}

    def _row(self, hit: Row) -> UserRow:
        source = hit.get("_source", {})
        ours = source.get(self.index.field)
        return UserRow(
            hit["_id"], guard_of(hit), hit.get("_routing"), self._document(hit["_id"], source), ours or None
        )

    def _document(self, id_: str, source: Row) -> Document | InputError | None:
        where = f"{self.index.source}/{id_}"
        try:
            texts = [text for name in self.options.text_fields for text in _texts(source, name)]
            titles = list(_texts(source, self.options.title_field)) if self.options.title_field else []
        except _NoText as error:
            return InputError(f"{where}: {error}", source=where, document_id=id_)
        text, title = GAP.join(texts), " ".join(titles)
        if not text:
            return None
        size = len(title.encode("utf-8", "replace")) + len(text.encode("utf-8", "replace"))
        if size > self.longest:
            reason = f"{where}: the document has {size:,} bytes of text; the limit is {self.longest:,}."
            return InputError(reason, source=where, document_id=id_)
        values = {name: value for name in self.options.fields for value in [_value(source, name)]}
        return Document(id_, text, title, flatten_loosely(values), where)

    # -- what has changed ------------------------------------------------------------------------------------

    def marks(self) -> Enrichments:
        """Return the state up to which all writes are visible after the next refresh."""
        cluster = self.index.cluster
        answer = cluster.ask(
            cluster.client.indices.stats, index=self.index.name, metric=["docs", "indexing"], level="shards"
        )
        about = answer["indices"][self.index.name]
        numbers = {
            shard: max(copy["seq_no"]["global_checkpoint"] for copy in copies if copy["routing"]["primary"])
            for shard, copies in about["shards"].items()
        }
        return Enrichments(numbers, int(about["primaries"]["indexing"]["delete_total"]))

    def written_since(self, marks: Enrichments) -> Iterator[UserRow]:
        """Iterate over documents that were written after this state by any process. Deletions are not visible."""
        for shard, number in marks.numbers.items():
            newer = {"range": {"_seq_no": {"gt": number}}}
            for hits in self._pages(newer, self._wanted(), preference=f"_shards:{shard}"):
                yield from (self._row(hit) for hit in hits)

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, requested: Iterable[tuple[UserRow, Mapping[str, Any]]]) -> list[BulkFailure]:
        """Write our object to documents that have not changed since they were read; returns the failures."""
        field, name = self.index.field, self.index.name
        return send(
            self.index.cluster,
            (
                Action("update", name, row.id, {field: body}, row.guard, ours=False, routing=row.routing)
                for row, body in requested
            ),
        )

    def strip(self, rows: Sequence[UserRow]) -> list[BulkFailure]:
        """Write these documents again without our object, as `take_back` does with all.

        Returns:
            The failures: documents that changed concurrently, and refused ones.
        """
        guards = {row.id: row.guard for row in rows}
        self.refresh()
        failures: list[BulkFailure] = []
        for hits in self._pages({"ids": {"values": list(guards)}}, self._whole()):
            bare = (replace(self._without_ours(hit), guard=guards[hit["_id"]]) for hit in hits)
            failures += send(self.index.cluster, bare)
        return failures

    def take_back(self, paced: Callable[[int], None], page: int = PAGE) -> int:
        """Remove our object from all documents. Returns the number changed.

        The whole document is written again without it, unless it changed since it was read: without scripts, the server
        has no other way to remove a field.
        """
        removed, found = 0, 1
        having = {"exists": {"field": f"{self.index.field}.bundle"}}
        while found:  # again, for documents that changed concurrently
            found = 0
            self.refresh()
            for hits in self._pages(having, self._whole(), page=page):
                failures = send(self.index.cluster, map(self._without_ours, hits))
                bad = [failure for failure in failures if not failure.conflict]
                if bad:
                    raise MappingMismatch(
                        f"The document '{bad[0].action.id}' of '{self.index.name}' was refused: {bad[0].reason}."
                    )
                found += len(hits)
                removed += len(hits) - len(failures)
                paced(len(hits))
        return removed

    def _whole(self) -> Any:
        version = tuple(int(part) for part in self.index.cluster.version().split(".")[:2] if part.isdecimal())
        return {"exclude_vectors": False} if version >= SHOWS_VECTORS else True

    def _without_ours(self, hit: Row) -> Action:
        source = {name: value for name, value in hit["_source"].items() if name != self.index.field}
        return Action(
            "index",
            self.index.name,
            hit["_id"],
            source,
            guard_of(hit),
            ours=False,
            routing=hit.get("_routing"),
        )

    # -- pages -----------------------------------------------------------------------------------------------

    def _pages(
        self, query: Row, source: Any, *, page: int = PAGE, slices: int = 1, preference: str | None = None
    ) -> Iterator[list[Row]]:
        """Iterate over pages of a point in time; inside `Cluster.retrying`, restart when the server has lost it."""
        while True:
            try:
                yield from self._pages_once(query, source, page, slices, preference)
                return
            except EngineUnavailable as error:
                if not (self.index.cluster.retries and error.facts.get("forgotten")):
                    raise

    def _pages_once(
        self, query: Row, source: Any, page: int, slices: int, preference: str | None
    ) -> Iterator[list[Row]]:
        """Iterate over pages of one point in time, whose slices are read concurrently."""
        cluster = self.index.cluster
        opened = cluster.ask(
            cluster.client.open_point_in_time,
            index=self.index.name,
            keep_alive=KEEP_ALIVE,
            preference=preference,
        )["id"]

        def read_page(number: int, after: list[Any] | None) -> list[Row]:
            nonlocal opened
            answer = cluster.search(
                query=query,
                size=page,
                sort=["_shard_doc"],
                search_after=after,
                pit={"id": opened, "keep_alive": KEEP_ALIVE},
                slice={"id": number, "max": slices} if slices > 1 else None,
                source=source,
                seq_no_primary_term=True,
                track_total_hits=False,
            )
            opened = answer["pit_id"]  # it may change
            return list(answer["hits"]["hits"])

        try:
            with ThreadPoolExecutor(slices) as pool:
                waiting: dict[int, Future[list[Row]]] = {
                    number: pool.submit(read_page, number, None) for number in range(slices)
                }
                while waiting:
                    for number, future in list(waiting.items()):
                        hits = future.result()
                        if len(hits) < page:
                            del waiting[number]
                        else:  # read on while the caller works on this page
                            waiting[number] = pool.submit(read_page, number, hits[-1]["sort"])
                        if hits:
                            yield hits
        finally:
            with suppress(SearchError):  # it expires in a few minutes
                cluster.ask(cluster.client.options(ignore_status=404).close_point_in_time, id=opened)


def enriched(stored: StoredDocument, names: TopicNames) -> Row:
    """Return our object for a mined document, without its vector."""
    topics = [topic.topic_id for topic in stored.topics]
    return {
        "topics": topics,
        **names.fields(topics),
        "duplicate_of": stored.duplicate_of or None,
        "keyphrases": list(dict.fromkeys(k.text for k in stored.keyphrases if k.present)),
        "keyphrases_absent": list(dict.fromkeys(k.text for k in stored.keyphrases if not k.present)),
        "hash": stored.document.content_hash,
        "bundle": stored.bundle,
        "run": stored.run,
    }


def with_vector(body: Row, stored: StoredDocument) -> Row:
    """Return our object with the vector, if there is one."""
    return body if stored.vector is None else {**body, "vector": of_vector(stored.vector)}


def same(body: Mapping[str, Any], ours: Mapping[str, Any] | None) -> bool:
    """Return whether the stored object is up to date, apart from run and vector."""
    return ours is not None and all(
        ours.get(name) == value for name, value in body.items() if name not in UNCOMPARED
    )


UNCOMPARED = ("run", "vector")


# -- values of a document ------------------------------------------------------------------------------------


class _NoText(Exception):
    """A text field has a value that is not text."""


def _texts(source: Any, path: str) -> Iterator[str]:
    for value in _values(source, path):
        if value is None:
            continue
        if not isinstance(value, str):
            raise _NoText(f'"{path}" must be text, found {kind_of(value)}.')
        if value.strip():
            yield clean(value)


def _value(source: Any, path: str) -> Any:
    """Return one value, or a list when there are several."""
    found = list(_values(source, path))
    return found[0] if len(found) == 1 else found


def _values(source: Any, path: str) -> Iterator[Any]:
    """Iterate over the values of a field by its dotted name, through lists, objects and dotted keys."""
    if isinstance(source, list):
        for item in source:
            yield from _values(item, path)
    elif not path:
        yield source
    elif isinstance(source, dict):
        parts = path.split(".")
        for length in range(1, len(parts) + 1):
            head = ".".join(parts[:length])
            if head in source:
                yield from _values(source[head], ".".join(parts[length:]))
