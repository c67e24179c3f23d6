"""The documents of somebody else's index: read at one point in time, and written to only as long as they are the same.

Nothing of theirs is ever overwritten: our object goes in as a partial update that carries which state of the document was
read. When somebody has written since, the server refuses it, and the document is read again; when somebody has deleted
it, it stays deleted.
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
from indexer.engines.elastic.rows import Row, of_vector
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.errors import EngineUnavailable, InputError, MappingMismatch, SearchError
from indexer.readers.fields import flatten_loosely, kind_of
from indexer.readers.source import clean
from indexer.records import Document, StoredDocument

PAGE = 250  # documents read at once
IDS_PAGE = 10_000
SLICES = 4  # of an index with as many shards, read beside each other
GAP = "\n\n"  # between several texts of a document
SHOWS_VECTORS = (9, 2)  # from this version on a server leaves vectors out of _source unless asked

Places = Mapping[str, str | None]  # id ► routing


@dataclass(frozen=True)
class Enrichments:
    """How far an index has been written to.

    Attributes:
        numbers: Shard ► the number of its last write.
        deletions: How many there were since the server was started.
    """

    numbers: Mapping[str, int]
    deletions: int


@dataclass(frozen=True)
class UserRow:
    """A document of somebody else's, in the state that `guard` names.

    Attributes:
        document: What is mined; None when there is no text, an error when it cannot be used.
        ours: What we wrote to it before, without the vector; None when we did not.
    """

    id: str
    guard: Guard
    routing: str | None
    document: Document | InputError | None
    ours: Mapping[str, Any] | None

    @property
    def up_to_date(self) -> bool:
        """What we wrote was mined from the text that is there."""
        found = self.document.content_hash if isinstance(self.document, Document) else ""
        return bool((self.ours or {}).get("hash", "") == found)


@dataclass(frozen=True)
class UserDocuments:
    """The documents of one index, as `options` say what is read and written."""

    index: UserIndex
    options: EnrichOptions
    longest: int  # bytes of title and text

    # -- reading ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Make everything visible that was written before."""
        client = self.index.cluster.client.indices
        self.index.cluster.ask(client.refresh, index=self.index.name)

    def count(self) -> int:
        """How many documents a search sees."""
        return int(self.index.cluster.ask(self.index.cluster.client.count, index=self.index.name)["count"])

    def scan(self, page: int = PAGE) -> Iterator[list[UserRow]]:
        """All documents as they are when the scan begins, in pages of no order.

        When the server is restarted meanwhile and we are patient, it begins anew, and gives some a second time.
        """
        slices = min(self.index.shards, SLICES)
        for hits in self._pages({"match_all": {}}, self._wanted(), page=page, slices=slices):
            yield [self._row(hit) for hit in hits]

    def ids(self) -> Iterator[str]:
        """Ids of all documents."""
        for hits in self._pages({"match_all": {}}, False, page=IDS_PAGE):
            yield from (hit["_id"] for hit in hits)

    def read(self, places: Places) -> list[UserRow]:
        """These documents as they are at this moment, whether a search sees them or not; without those that are gone."""
        found = []
        for some in batches(places.items(), PAGE):
            asked = [
                {"_id": id_, "_source": self._wanted()}
                | ({"routing": routing} if routing is not None else {})
                for id_, routing in some
            ]
            cluster = self.index.cluster
            answer = cluster.ask(cluster.client.mget, index=self.index.name, docs=asked)
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
        """All writes up to these are visible after the next refresh."""
        cluster = self.index.cluster
        answer = cluster.ask(
            cluster.client.indices.stats,
            index=self.index.name,
            metric=["docs", "indexing"],
            level="shards",
        )
        about = answer["indices"][self.index.name]
        numbers = {
            shard: max(copy["seq_no"]["global_checkpoint"] for copy in copies if copy["routing"]["primary"])
            for shard, copies in about["shards"].items()
        }
        return Enrichments(numbers, int(about["primaries"]["indexing"]["delete_total"]))

    def written_since(self, marks: Enrichments) -> Iterator[UserRow]:
        """Documents that are new or were written after these marks, by whomever. Deleted ones cannot be seen."""
        for shard, number in marks.numbers.items():
            newer = {"range": {"_seq_no": {"gt": number}}}
            for hits in self._pages(newer, self._wanted(), preference=f"_shards:{shard}"):
                yield from (self._row(hit) for hit in hits)

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, wanted: Iterable[tuple[UserRow, Mapping[str, Any]]]) -> list[BulkFailure]:
        """Give documents our object, as long as they are what was read; returns what was not written and why."""
        field, name = self.index.field, self.index.name
        return send(
            self.index.cluster,
            (
                Action("update", name, row.id, {field: body}, row.guard, ours=False, routing=row.routing)
                for row, body in wanted
            ),
        )

    def strip(self, rows: Sequence[UserRow]) -> list[BulkFailure]:
        """Write these documents again without our object, as `take_back` does with all.

        Returns:
            What was not written, because it is not what was read any more or was refused.
        """
        guards = {row.id: row.guard for row in rows}
        self.refresh()
        failures: list[BulkFailure] = []
        for hits in self._pages({"ids": {"values": list(guards)}}, self._whole()):
            bare = (replace(self._without_ours(hit), guard=guards[hit["_id"]]) for hit in hits)
            failures += send(self.index.cluster, bare)
        return failures

    def take_back(self, paced: Callable[[int], None], page: int = PAGE) -> int:
        """Remove our object from all documents that have it. Returns how many had it.

        The whole document is written again without it, as long as it is the one that was read: the server has no
        other way to remove a field without scripts.
        """
        removed, found = 0, 1
        having = {"exists": {"field": f"{self.index.field}.bundle"}}
        while found:  # again, for those that somebody wrote to meanwhile
            found = 0
            self.refresh()
            for hits in self._pages(having, self._whole(), page=page):
                failures = send(self.index.cluster, map(self._without_ours, hits))
                bad = [failure for failure in failures if not failure.conflict]
                if bad:
                    raise MappingMismatch(
                        f"The document '{bad[0].action.id}' of '{self.index.name}' is not taken: {bad[0].reason}."
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
        """Hits of one point in time; from the beginning of another one when the server forgets it and we are patient."""
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
        """Hits of one point in time; slices of it are read beside each other."""
        cluster = self.index.cluster
        opened = cluster.ask(
            cluster.client.open_point_in_time,
            index=self.index.name,
            keep_alive=KEEP_ALIVE,
            preference=preference,
        )["id"]

        def asked(number: int, after: list[Any] | None) -> list[Row]:
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
                    number: pool.submit(asked, number, None) for number in range(slices)
                }
                while waiting:
                    for number, future in list(waiting.items()):
                        hits = future.result()
                        if len(hits) < page:
                            del waiting[number]
                        else:  # read on while the caller works on this page
                            waiting[number] = pool.submit(asked, number, hits[-1]["sort"])
                        if hits:
                            yield hits
        finally:
            with suppress(SearchError):  # it goes by itself in a few minutes
                cluster.ask(cluster.client.options(ignore_status=404).close_point_in_time, id=opened)


def enriched(stored: StoredDocument, labels: Mapping[str, str]) -> Row:
    """Our object for a mined document, without its vector."""
    topics = [topic.topic_id for topic in stored.topics]
    return {
        "topics": topics,
        "topic_labels": [labels[topic] for topic in topics if labels.get(topic)],
        "keyphrases": list(dict.fromkeys(k.text for k in stored.keyphrases if k.present)),
        "keyphrases_absent": list(dict.fromkeys(k.text for k in stored.keyphrases if not k.present)),
        "hash": stored.document.content_hash,
        "bundle": stored.bundle,
        "run": stored.run,
    }


def with_vector(body: Row, stored: StoredDocument) -> Row:
    """Our object with the vector, when there is one."""
    return body if stored.vector is None else {**body, "vector": of_vector(stored.vector)}


def same(body: Mapping[str, Any], ours: Mapping[str, Any] | None) -> bool:
    """Whether the object is there as it should be. The run is the last one that changed something."""
    return ours is not None and all(
        ours.get(name) == value for name, value in body.items() if name not in UNCOMPARED
    )


UNCOMPARED = ("run", "vector")


# -- values of a document ------------------------------------------------------------------------------------


class _NoText(Exception):
    """A value that is not text stands where the text should be."""


def _texts(source: Any, path: str) -> Iterator[str]:
    for value in _values(source, path):
        if value is None:
            continue
        if not isinstance(value, str):
            raise _NoText(f'"{path}" must be text, found {kind_of(value)}.')
        if value.strip():
            yield clean(value)


def _value(source: Any, path: str) -> Any:
    """One value, or a list when there are several."""
    found = list(_values(source, path))
    return found[0] if len(found) == 1 else found


def _values(source: Any, path: str) -> Iterator[Any]:
    """The values of a field by its dotted name, whichever way the document writes it, through lists and objects."""
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
