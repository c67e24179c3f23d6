"""Runs of a collection on a user's own index: `enrich`, `watch` and `undo_enrich`."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

from indexer.catalog import Catalog
from indexer.catalog.locks import Lock, watching
from indexer.engines.base import Engine
from indexer.engines.elastic import connect_to
from indexer.engines.elastic.user_documents import UserDocuments, UserRow
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.engines.registry import open_generations
from indexer.errors import CatalogError, EngineUnavailable, Superseded
from indexer.log import get_logger
from indexer.pipeline.next_generation import building, complete_switch, remove_generation
from indexer.pipeline.run import Pipeline
from indexer.protocols import Progress
from indexer.runs.enrich import Enricher, EnrichReport, Pace, Watcher, must_be_elastic
from indexer.runs.index import check_live, recorded, undisturbed
from indexer.settings import Settings

PASSING = (
    CatalogError,
    EngineUnavailable,
    Superseded,
)  # another process writes, a server restarts, or another generation is live

logger = get_logger(__name__)


class Enriching:
    """The runs that `Collection` describes; each is recorded, under the lock of the collection.

    Args:
        pipeline: Makes one for the generation that is live now.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        pipeline: Callable[[], Pipeline],
        index: str,
        options: EnrichOptions,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._pipeline = pipeline
        self._collection = settings.collection
        self._index = index
        self._options = options
        self._progress = progress

    def all(self, topics: str | int | None = None, *, refit: bool = False) -> EnrichReport:
        """Bring all documents up to date."""
        with self._run(text_field=self._options.text_field, topics=topics) as (enricher, report):
            enricher.all(report, topics=topics, refit=refit)
        return report

    def watch(self, every: float, pause: Callable[[float], None]) -> Generator[EnrichReport]:
        """Bring all up to date, then poll for documents that were written or deleted since.

        After another generation has taken over, or topics were renamed or merged, all is looked through again; also
        when a look failed for a reason that passes: what it had found is not known any more.

        Raises:
            CatalogError: Another process watches, or undoes; also if it started while this process was suspended.
        """
        with self._alone_at_watching("indexer enrich --watch") as lock, self._documents() as documents:
            watcher = Watcher(documents, self._catalog, self._collection)
            yield self.all()
            written: object = self._topics()
            while True:
                pause(every)
                try:
                    lock.check()
                    if written != self._topics():
                        watcher = Watcher(documents, self._catalog, self._collection)
                        report = self.all()
                    else:
                        with documents.index.cluster.retrying():
                            rows, gone = watcher.look()
                        report = self._some(rows, gone, every)
                    written = self._topics()
                except PASSING as error:
                    if lock.lost:
                        raise
                    written = None
                    logger.warning("watch_waits", seconds=every, reason=str(error))
                    continue
                if not report.nothing_changed:
                    yield report

    def _some(self, rows: list[UserRow], gone: list[str], every: float) -> EnrichReport:
        if not rows and not gone:
            return EnrichReport()
        with self._run(watch=every) as (enricher, report):
            enricher.some(rows, gone, report)
        return report

    def _topics(self) -> tuple[Engine, list[tuple[str, str, str | None]]]:
        """What is written to the documents of the index: the live generation, and its topics with labels and parents."""
        engine = self._pipeline().engine
        return engine, [(topic.id, topic.label, topic.parent) for topic in engine.topics()]

    @contextmanager
    def _alone_at_watching(self, owner: str) -> Iterator[Lock]:
        """Who watches would write everything again that another one takes back, also between two looks."""
        if holder := self._catalog.lock_holder(watching(self._collection)):
            raise CatalogError(
                f"The index '{self._index}' is kept up to date by {holder}.",
                hint="Stop that first, by Ctrl-C there. If that process is gone, its lock ends by itself.",
                holder=holder,
            )
        with self._catalog.lock(watching(self._collection), owner) as lock:
            yield lock

    def undo(self) -> int:
        """Take back what was added, and empty the collection; returns how many documents had it.

        Raises:
            CatalogError: Another process watches the index, writes to the collection or builds a generation of it.
        """
        owner = "indexer enrich --undo"
        alone = self._alone_at_watching(owner), building(self._catalog, self._collection, owner)
        with alone[0], alone[1], self._run(undo=True) as (enricher, report):
            self._remove_unfinished()
            report.written = enricher.take_back()
            # The ledger first: killed in between, a later run finds documents to mine, and not a ledger that says "done".
            enricher.forget_all()
            self._empty_generation()
        return report.written

    def _remove_unfinished(self) -> None:
        """What a retrain that was stopped has left: the empty generation comes in its place."""
        with closing(open_generations(self._settings)) as generations:
            for one in generations.all():
                if one.state == "unfinished":
                    remove_generation(generations, self._catalog, self._collection, one.number)

    def _empty_generation(self) -> None:
        with closing(open_generations(self._settings)) as generations:
            old = [generation.number for generation in generations.all()]
            generations.make(self._pipeline().engine.dims, bundle=self._settings.bundle).close()
            self._catalog.check_locks()
            generations.switch(max(old) + 1)
            for number in old:
                generations.remove(number)
        self._catalog.forget_generations(self._collection)

    @contextmanager
    def _documents(self) -> Iterator[UserDocuments]:
        must_be_elastic(self._settings)
        with closing(connect_to(self._settings)) as cluster:
            opened = UserIndex.open(cluster, self._index, self._options)
            yield UserDocuments(opened, self._options, self._settings.max_document_bytes)

    @contextmanager
    def _run(self, **wanted: Any) -> Iterator[tuple[Enricher, EnrichReport]]:
        """One recorded run; `wanted` is what the catalog keeps of how it was started."""
        start = time.perf_counter()
        report = EnrichReport()
        with self._documents() as documents, self._catalog.lock(self._collection, "indexer enrich") as lock:
            complete_switch(self._settings, self._catalog)
            pipeline = self._pipeline()
            check_live(pipeline.engine)
            self._catalog.interrupted_runs(self._collection)
            self._catalog.end_abandoned_runs(self._collection)
            pace = Pace(self._options.throttle)
            enricher = Enricher(pipeline, documents, pace=pace, progress=self._progress)
            enricher.check_collection()
            if self._options.text_field:
                documents.index.add_field(pipeline.engine.dims, self._settings.vector_index)
            started = {"index": self._index, "into": self._options.into, **wanted}
            report.run = self._catalog.start_run(self._collection, "enrich", started, lock=lock)
            patient = pipeline.engine.retrying(), documents.index.cluster.retrying()
            with recorded(self._catalog, report), undisturbed(), patient[0], patient[1]:
                yield enricher, report
                report.seconds = time.perf_counter() - start
