"""Enrich a user's own index: its documents are a source like any other, and the results are written back to them.

    read        all documents at one point in time; new and changed ones are stored in our collection
    mine        as for any source: topics, keyphrases, phrases and mentions go to our own indices
    write back  topics, keyphrases and vector into one object field of each document, as long as it is what was read
    again       documents that changed in between: read, mined and written back once more

Their index says how far this has come: our object in each document carries the hash of the text that it was mined
from. So a run that was killed is gone on with by the next one, and nothing is written that is there already.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indexer.catalog import Catalog
from indexer.catalog.database import now
from indexer.catalog.entries import TAKING_IN, DeadLetter, Failure, LedgerEntry
from indexer.catalog.ledger import Roots
from indexer.common import batches
from indexer.engines.registry import is_elasticsearch
from indexer.errors import MappingMismatch, SettingsError
from indexer.pipeline.run import MAX_PROBLEMS, Pipeline, RunReport
from indexer.protocols import Progress
from indexer.records import Document
from indexer.settings import Settings
from indexer.topics.models.registry import TopicRequest

if TYPE_CHECKING:
    from indexer.engines.elastic.bulk import BulkFailure
    from indexer.engines.elastic.rows import TopicNames
    from indexer.engines.elastic.user_documents import UserDocuments, UserRow
    from indexer.engines.elastic.user_index import EnrichOptions

ROUNDS = 5  # of reading changed documents again; what still changes then waits for the next run
BURST = 250  # documents written in one request


@dataclass
class EnrichReport(RunReport):
    """What a run did to our collection, and to the user's index."""

    written: int = 0  # documents of theirs that got or changed our object
    without_text: int = 0
    unsettled: int = 0  # changed by others in every round

    @property
    def nothing_changed(self) -> bool:
        return super().nothing_changed and not self.written


class Pace:
    """Lets at most so many documents a second go by."""

    def __init__(self, per_second: float | None, pause: Callable[[float], None] = time.sleep) -> None:
        self._per_second = per_second
        self._pause = pause
        self._start = time.monotonic()
        self._done = 0

    @property
    def burst(self) -> int:
        """How many may go at once."""
        return BURST if self._per_second is None else max(1, min(BURST, int(self._per_second)))

    @property
    def page(self) -> int:
        """How many may be read at once, so that the server's point in time does not expire while they are read."""
        return BURST if self._per_second is None else max(1, min(BURST, int(60 * self._per_second)))

    def __call__(self, documents: int) -> None:
        """Wait until so many more may have gone by."""
        self._done += documents
        if self._per_second is not None:
            due = self._start + self._done / self._per_second
            self._pause(max(0.0, due - time.monotonic()))


class Enricher:
    """Takes documents from a user's index into a collection, and what was mined back to them."""

    def __init__(
        self, pipeline: Pipeline, documents: UserDocuments, *, pace: Pace, progress: Progress
    ) -> None:
        self._pipeline = pipeline
        self._engine = pipeline.engine
        self._catalog = pipeline.catalog
        self._collection = pipeline.collection
        self._documents = documents
        self._pace = pace
        self._progress = progress

    def check_collection(self) -> None:
        """Refuse a collection with documents from elsewhere: their ids could be the same.

        Raises:
            MappingMismatch: There are some.
        """
        own = sum(1 for _ in self._catalog.ids(self._collection, source_prefix=f"{self._root}/"))
        others = sum(self._catalog.count(self._collection).values()) - own
        if others:
            raise MappingMismatch(
                f"The collection '{self._collection}' has {others:,} documents from elsewhere than "
                f"'{self._documents.index.name}'.",
                hint="Give the index a collection of its own: --collection NAME",
            )

    @property
    def _root(self) -> str:
        return self._documents.index.source

    def all(self, report: EnrichReport, *, topics: str | int | None, refit: bool) -> None:
        """Bring all documents up to date."""
        with self._catalog.retrying(self._collection, self._letters()):
            self._documents.refresh()
            scanned = (row for rows in self._documents.scan() for row in rows)
            start = now()
            self._pipeline.take_in(self._usable(scanned, report), report, self._documents.count())
            self._catalog.resolve(self._collection, sources=[self._root], stages=TAKING_IN, before=start)
            self._pipeline.remove_missing([self._root], report)
            request = TopicRequest.read(topics)
            self._pipeline.mine(report, request, refit=refit)
            self._pipeline.finish(report, request, refit=refit)
            self._settle(self._write_back(self._documents.scan(self._pace.page), report, first=True), report)

    def some(self, rows: Iterable[UserRow], gone: Iterable[str], report: EnrichReport) -> None:
        """Bring these documents up to date, and take those out that are gone."""
        lost = list(gone)
        for some in batches(lost, BURST):
            self._pipeline.remove(some)
        report.deleted += len(lost)
        self._settle(self._bring_up(list(rows), report), report)
        if lost and not report.mined:
            self._pipeline.finish(report)

    def take_back(self) -> int:
        """Remove our object from all documents that have it; returns how many had it."""
        return self._documents.take_back(self._pace, self._pace.page)

    def forget_all(self) -> None:
        """Let the ledger forget all documents, so that the next run starts from the beginning."""
        for ids in batches(list(self._catalog.ids(self._collection)), BURST):
            self._catalog.forget(self._collection, ids)

    # -- steps -----------------------------------------------------------------------------------------------

    def _letters(self) -> list[DeadLetter]:
        """The dead letters of this index."""
        roots = Roots([self._root])
        return [letter for letter in self._catalog.dead(self._collection) if letter.source in roots]

    def _usable(self, rows: Iterable[UserRow], report: EnrichReport) -> Iterator[Any]:
        for row in rows:
            if row.document is None:
                report.without_text += 1
            else:
                yield row.document

    def _settle(self, changed: dict[str, str | None], report: EnrichReport) -> None:
        for _ in range(ROUNDS):
            if not changed:
                return
            rows = self._documents.read(changed)
            gone = sorted(changed.keys() - {row.id for row in rows})
            self._pipeline.remove(gone)
            report.deleted += len(gone)
            changed = self._bring_up(rows, report)
        report.unsettled = len(changed)

    def _bring_up(self, rows: list[UserRow], report: EnrichReport) -> dict[str, str | None]:
        """Take in, mine and write back; returns those that have changed since they were read."""
        part = EnrichReport(run=report.run)
        self._pipeline.take_in(self._usable(rows, part), part, len(rows))
        without = [row.id for row in rows if not isinstance(row.document, Document)]
        if without:
            self._pipeline.remove(without)
        self._pipeline.mine(part, TopicRequest())
        if part.mined or without:
            self._pipeline.finish(part)
        report.changed += part.changed + part.new
        report.mined += part.mined
        report.failed += part.failed
        report.without_topic += part.without_topic
        report.problems += part.problems[: MAX_PROBLEMS - len(report.problems)]
        report.bundle = part.bundle or report.bundle
        return self._write_back(batches(rows, BURST), report, first=False)

    def _write_back(
        self, pages: Iterable[list[UserRow]], report: EnrichReport, *, first: bool
    ) -> dict[str, str | None]:
        """Write our object where it is not as it should be; returns documents to be read again, with their routing.

        Args:
            first: The rows were read after they were taken in, so some may be new or changed since.
        """
        from indexer.engines.elastic.rows import TopicNames, of_topic

        names = TopicNames.of(of_topic(topic) for topic in self._engine.topics())
        again: dict[str, str | None] = {}
        with report.timed("write back"):
            for rows in pages:
                wanted = list(self._wanted(rows, names, again, first=first))
                for some in batches(wanted, self._pace.burst):
                    self._write(some, report, again)
                # The text of these has gone, and with it what was mined.
                bare = [row for row in rows if row.ours and not isinstance(row.document, Document)]
                for bare_ones in batches(bare, self._pace.burst):
                    self._strip(bare_ones, report, again)
                self._progress("write back", report.written, None)
            if report.written:
                self._documents.refresh()
        return again

    def _wanted(
        self, rows: list[UserRow], names: TopicNames, again: dict[str, str | None], *, first: bool
    ) -> Iterator[tuple[UserRow, dict[str, Any]]]:
        """Rows of a page that do not have the object that they should have, with that object."""
        from indexer.engines.elastic.user_documents import enriched, same, with_vector

        stored = {found.document.id: found for found in self._engine.documents([row.id for row in rows])}
        wanted: dict[str, tuple[UserRow, dict[str, Any]]] = {}
        for row in rows:
            known = stored.get(row.id)
            if not isinstance(row.document, Document):
                continue
            if known is None or known.document.content_hash != row.document.content_hash:
                if first:
                    again[row.id] = row.routing
            elif known.bundle and not same(body := enriched(known, names), row.ours):
                wanted[row.id] = row, body
        if not self._documents.options.vector:
            # One from an earlier run would be of another text by and by.
            yield from ((row, {**body, "vector": None}) for row, body in wanted.values())
            return
        for found in self._engine.documents(list(wanted), vectors=True):
            row, body = wanted[found.document.id]
            yield row, with_vector(body, found)

    def _write(
        self, wanted: list[tuple[UserRow, dict[str, Any]]], report: EnrichReport, again: dict[str, str | None]
    ) -> None:
        self._catalog.check_locks()
        self._settle_write([row for row, _ in wanted], self._documents.write(wanted), report, again)

    def _strip(self, rows: list[UserRow], report: EnrichReport, again: dict[str, str | None]) -> None:
        self._catalog.check_locks()
        self._settle_write(rows, self._documents.strip(rows), report, again)

    def _settle_write(
        self,
        rows: list[UserRow],
        failures: list[BulkFailure],
        report: EnrichReport,
        again: dict[str, str | None],
    ) -> None:
        """Count the writes, and handle documents that were changed or removed since they were read."""
        places = {row.id: row.routing for row in rows}
        for failure in failures:
            if failure.conflict:
                again[failure.action.id] = places[failure.action.id]
        gone = [failure.action.id for failure in failures if failure.missing]
        self._pipeline.remove(gone)
        report.deleted += len(gone)
        self._dead_letter(
            [failure for failure in failures if not failure.missing and not failure.conflict], report
        )
        report.written += len(rows) - len(failures)
        self._pace(len(rows))

    def _dead_letter(self, failures: list[BulkFailure], report: EnrichReport) -> None:
        if not failures:
            return
        letters = [
            Failure(
                f"{self._root}/{f.action.id}", "write", f"{self._root}/{f.action.id}: {f.reason}", f.action.id
            )
            for f in failures
        ]
        self._catalog.dead_letter(self._collection, letters)
        report.failed += len(letters)
        report.problems += [letter.reason for letter in letters[: MAX_PROBLEMS - len(report.problems)]]


class Watcher:
    """Finds what was written to a user's index, or deleted from it, since the last look.

    Make it before the run that reads everything: what is written during that run is found by the first look.
    """

    def __init__(self, documents: UserDocuments, catalog: Catalog, collection: str) -> None:
        self._documents = documents
        self._catalog = catalog
        self._collection = collection
        self._marks = documents.marks()
        # When ids were last compared: documents that are in the index and not in the ledger, and deletions so far.
        self._compared: tuple[int, int] | None = None

    def look(self) -> tuple[list[UserRow], list[str]]:
        """Documents to bring up to date, and ids of those that are gone."""
        marks = self._documents.marks()  # before the refresh: all up to here is visible after it
        self._documents.refresh()
        rows = []
        for some in batches(self._documents.written_since(self._marks), BURST):
            known = self._catalog.ledger(self._collection, [row.id for row in some])
            rows += [row for row in some if not (row.up_to_date and _is_known(row, known))]
        self._marks = marks
        return rows, self._gone([row.id for row in rows], marks.deletions)

    def _gone(self, coming: list[str], deletions: int) -> list[str]:
        """Deleted documents leave no trace that can be searched for: ids are compared when the numbers are not right.

        Deletions are counted by the server, from 0 after its restart; so documents are counted, too.
        """
        new = len(set(coming) - self._catalog.ledger(self._collection, coming).keys())
        known = sum(self._catalog.count(self._collection).values()) + new
        difference = self._documents.count() - known
        if (difference, deletions) == self._compared:
            return []
        ledger = set(self._catalog.ids(self._collection))
        gone = sorted(ledger - set(self._documents.ids()))
        self._compared = difference + len(gone), deletions
        return gone


def _is_known(row: UserRow, known: Mapping[str, LedgerEntry]) -> bool:
    if not isinstance(row.document, Document):
        return row.id not in known
    return row.id in known and known[row.id].content_hash == row.document.content_hash


def check(settings: Settings, index: str, options: EnrichOptions) -> None:
    """Whether an index can be enriched; nothing is written, and no collection is made.

    Raises:
        SettingsError: The engine is not Elasticsearch.
        IndexerError: The obstacle; see `UserIndex.open`.
    """
    from contextlib import closing

    from indexer.engines.elastic import connect_to
    from indexer.engines.elastic.user_index import UserIndex

    must_be_elastic(settings)
    with closing(connect_to(settings)) as cluster:
        UserIndex.open(cluster, index, options)


def must_be_elastic(settings: Settings) -> None:
    """Refuse the embedded engine.

    Raises:
        SettingsError: It is the engine of these settings.
    """
    if not is_elasticsearch(settings):
        raise SettingsError(
            f"An index to enrich is in Elasticsearch, and the engine is '{settings.engine}'.",
            hint="Name the server: --engine URL, or INDEXER_ENGINE=URL",
        )
