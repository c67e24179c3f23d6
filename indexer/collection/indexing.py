"""Methods that read documents and delete them: index, retry, uploads, delete, enrich."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.catalog.entries import STAGES, TAKING_IN, Failure, Stage
from indexer.collection.base import OpenCollection, on_live_generation
from indexer.errors import InputError, NotFound
from indexer.pipeline.next_generation import complete_switch
from indexer.pipeline.run import RunReport
from indexer.protocols import Progress, no_progress
from indexer.readers import ReadOptions
from indexer.readers.source import shown
from indexer.runs.index import RetryRequest, RunOptions, SourceRun, check_live, recorded
from indexer.runs.plan import Plan, planned
from indexer.runs.uploads import Upload, Uploads
from indexer.topics.models.registry import TopicRequest

if TYPE_CHECKING:
    from indexer.engines.elastic.user_index import EnrichOptions
    from indexer.runs.enrich import EnrichReport
    from indexer.runs.enrich_watch import Enriching
    from workers.pool import CeleryWorkerPool

MAX_CRASHES = 3  # of processes that store an upload, before it is dead-lettered
MAX_IDS = 100  # of deleted documents, kept in the catalog


class IndexMethods(OpenCollection):
    """A collection to add documents to and delete them from."""

    def plan(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    ) -> Plan:
        """What `index` would do with these sources; reads them and writes nothing."""
        return planned(self.catalog, self.name, sources, options)

    # -- indexing -------------------------------------------------------------------------------------------

    @on_live_generation
    def index(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
        topics: str | int | None = None,
        refit: bool = False,
        delete_missing: bool = False,
        workers: bool = True,
        wait: bool = True,
        progress: Progress = no_progress,
    ) -> RunReport:
        """Read sources, store, mine and write. Again, it does only what changed.

        Args:
            options: Names of fields, and limits of the readers.
            topics: How many topics are wanted (``40``), found how (``"clusters"``), or both (``"clusters:40"``); what
                is not said is left to the texts, or as it was.
            refit: Fit the topics again; ids go on where a new topic continues an old one.
            delete_missing: Remove documents that came from these sources and are not in them any more.
            workers: Let workers do the mining, when the settings name a broker.
            wait: Until the workers are through; otherwise a maintaining worker finishes the run.
        """
        wanted = RunOptions(topics, refit, delete_missing)
        run = self._source_run("index", workers, progress)
        return run.run(sources, options, wanted, wait=wait, progress=progress)

    @on_live_generation
    def retry(self, *, workers: bool = True, progress: Progress = no_progress) -> RunReport:
        """Do again what stands in the dead letters; what succeeds leaves them."""
        again = RetryRequest.of(self.catalog.dead(self.name), self.posted)
        run = self._source_run("retry", workers, progress)
        around = self._tidying()
        report = run.run(list(again.letters), ReadOptions(), again=again, around=around, progress=progress)
        report.notes += [f"{file}: is not there, and cannot be tried again." for file in again.missing]
        return report

    @on_live_generation
    def index_posted(
        self, waiting: Upload, *, wait: bool = True, progress: Progress = no_progress
    ) -> RunReport:
        """Index what was posted; see `indexer.runs.uploads`. An upload replaces the earlier one of its name.

        Raises:
            NotFound: Another process has done it.
        """
        wanted = RunOptions(delete_missing=waiting.is_upload)
        run = self._source_run("index", True, progress)
        around = self._storing(waiting)
        return run.run(
            [waiting.place], ReadOptions(), wanted,
            names=self.posted.names(waiting), around=around, wait=wait, progress=progress,
        )  # fmt: skip

    @on_live_generation
    def delete(self, ids: Sequence[str], *, progress: Progress = no_progress) -> RunReport:
        """Take documents out, and what was mined from them; topics and phrases follow.

        What still stands in a file comes back when that is indexed again. Killed and called again, it goes on: the
        ledger is the last to forget them.

        Raises:
            NotFound: There is no such document; then none is deleted.
        """
        wanted = list(dict.fromkeys(ids))
        with self.catalog.lock(self.name, "indexer delete") as lock:
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            self._check_there(wanted)
            report = RunReport(
                run=self.catalog.start_run(self.name, "delete", {"ids": wanted[:MAX_IDS]}, lock=lock)
            )
            pipeline = self._pipeline(progress)
            with self.engine.patient(), recorded(self.catalog, report):
                report.deleted = len(wanted)
                self.engine.delete(wanted)
                if not self.catalog.open_runs(self.name):  # workers have a finish of their own
                    pipeline.finish(report)
                pipeline.remove(wanted)
        return report

    def _check_there(self, ids: Sequence[str]) -> None:
        known = {*self.catalog.ledger(self.name, ids), *(s.document.id for s in self.engine.documents(ids))}
        for id_ in ids:
            if id_ not in known:
                raise NotFound(
                    f"There is no document '{id_}' in collection '{self.name}'.",
                    hint="Ids are exact; search lists them.",
                )

    def dismiss(self, ids: Sequence[int] | None = None, *, stages: Sequence[Stage] = STAGES) -> int:
        """Take dead letters off the list without trying them again. Returns how many there were.

        What they are about stays as it is, until its file is indexed again.

        Args:
            ids: Of the letters; None means all.
            stages: Only letters of these.
        """
        return self.catalog.dismiss(self.name, ids=ids, stages=stages)

    @property
    def posted(self) -> Uploads:
        """What requests have posted, and where it lies."""
        return Uploads(self.settings.home, self.name)

    @contextmanager
    def _storing(self, waiting: Upload) -> Iterator[None]:
        posted = self.posted
        with self._tidying():
            deaths = posted.deaths(waiting)
            if deaths >= MAX_CRASHES:
                raise self._given_up(waiting, deaths)
            with posted.placed(waiting):
                yield

    def _given_up(self, waiting: Upload, deaths: int) -> InputError:
        """Make a dead letter of what ends every process that reads it; its copy stays, to be tried again when asked."""
        reason = f"the program ended while it was stored, {deaths} times, and was not told to."
        self.posted.put(waiting)
        self.catalog.dead_letter(self.name, [Failure(shown(waiting.place), "read", reason)])
        self.posted.drop(waiting)
        return InputError(
            f"{self.posted.called(shown(waiting.place))}: {reason}",
            hint="It can be tried again, as a dead letter.",
        )

    @contextmanager
    def _tidying(self) -> Iterator[None]:
        yield
        letters = self.catalog.dead(self.name)
        self.posted.tidy(letter.source for letter in letters if letter.stage in TAKING_IN)

    def _source_run(self, kind: str, workers: bool, progress: Progress) -> SourceRun:
        shared = workers and self.settings.broker and not self._parts.any
        pool = self._worker_pool() if shared else None
        return SourceRun(kind, self.settings, self._pipeline(progress), pool)

    def _worker_pool(self) -> CeleryWorkerPool:
        from workers.pool import CeleryWorkerPool

        return CeleryWorkerPool(self.settings, self.catalog)

    # -- somebody else's index ------------------------------------------------------------------------------

    @on_live_generation
    def enrich(
        self,
        index: str,
        options: EnrichOptions,
        *,
        topics: str | int | None = None,
        refit: bool = False,
        progress: Progress = no_progress,
    ) -> EnrichReport:
        """Mine the documents of an Elasticsearch index of yours, and write topics, keyphrases and vectors to them.

        Its own fields stay as they are; phrases and mentions go to indices of this collection. Again, it does only
        what changed. Documents that somebody writes to meanwhile are read again; deleted ones stay deleted.

        Args:
            topics, refit: As for `index`.

        Raises:
            SettingsError: The engine is not Elasticsearch.
            NotFound, MappingMismatch, EngineForbidden: The index cannot be enriched; see `UserIndex.open`.
        """
        TopicRequest.read(topics)
        return self._enriching(index, options, progress).all(topics, refit=refit)

    def watch(
        self,
        index: str,
        options: EnrichOptions,
        *,
        every: float = 30.0,
        progress: Progress = no_progress,
        pause: Callable[[float], None] = time.sleep,
    ) -> Generator[EnrichReport]:
        """Enrich an index, and keep up with what is written to it and deleted from it. Ends when nobody asks on.

        Also with topics that are renamed or merged and with generations that take over here. Somebody else's lock and
        servers that are away are waited for, but not in the first look.

        Args:
            every: Seconds between two looks.

        Yields:
            What each look that found something did; the first one always.
        """
        return self._enriching(index, options, progress).watch(every, pause)

    @on_live_generation
    def undo_enrich(self, index: str, options: EnrichOptions, *, progress: Progress = no_progress) -> int:
        """Take back from the documents of an index what `enrich` added, and empty this collection.

        The documents are then as they were. Only the mapping keeps the field: Elasticsearch cannot remove one.

        Returns:
            How many documents had it.
        """
        return self._enriching(index, options, progress).undo()

    def _enriching(self, index: str, options: EnrichOptions, progress: Progress) -> Enriching:
        from indexer.runs.enrich_watch import Enriching

        pipeline = partial(self._pipeline, progress)
        return Enriching(self.settings, self.catalog, pipeline, index, options, progress)
