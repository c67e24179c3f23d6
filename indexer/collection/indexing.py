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
from indexer.errors import EngineUnavailable, InputError, NotFound
from indexer.pipeline.next_generation import complete_switch
from indexer.pipeline.run import RunReport
from indexer.protocols import Progress, no_progress
from indexer.readers import ReadOptions
from indexer.readers.source import shown
from indexer.runs.index import RetryRequest, RunOptions, SourceRun, check_live, recorded
from indexer.runs.plan import Plan, planned
from indexer.runs.repair import Repaired, repairing
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

    def _after_run(self, report: RunReport, progress: Progress) -> None:
        """What follows a finished run: rising topics, another fit, saved searches."""

    # -- indexing -------------------------------------------------------------------------------------------

    @on_live_generation
    def index(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
        topics: str | int | None = None,
        levels: str | int | None = None,
        refit: bool = False,
        delete_missing: bool = False,
        workers: bool = True,
        wait: bool = True,
        progress: Progress = no_progress,
    ) -> RunReport:
        """Read sources, store, mine and write. Again, it does only what changed.

        Args:
            options: Names of fields, and limits of the readers.
            topics: The number of topics (``40``), the topic model (``"clusters"``), or both (``"clusters:40"``); by
                default the texts decide, or it stays as it was.
            levels: How many levels of topics (``2``), or how many topics each has, the fewest first (``"7,20"``); by
                default more than twelve topics are grouped under parents.
            refit: Fit the topics again; a continued topic keeps its id.
            delete_missing: Remove documents that came from these sources and are not in them any more.
            workers: Let workers do the mining, when the settings name a broker.
            wait: Until the workers are done; otherwise a maintaining worker finishes the run.
        """
        requested = RunOptions(topics, refit, delete_missing, levels)
        run = self._source_run("index", workers, progress)
        report = run.run(sources, options, requested, wait=wait, progress=progress)
        if wait:
            self._after_run(report, progress)
        return report

    @on_live_generation
    def retry(self, *, workers: bool = True, progress: Progress = no_progress) -> RunReport:
        """Try the dead letters again; those that succeed are resolved."""
        again = RetryRequest.of(self.catalog.dead(self.name), self.posted)
        run = self._source_run("retry", workers, progress)
        around = self._tidying()
        report = run.run(list(again.letters), ReadOptions(), again=again, around=around, progress=progress)
        report.notes += [f"{file}: is not there, and cannot be tried again." for file in again.missing]
        self._after_run(report, progress)
        return report

    @on_live_generation
    def repair(self, *, workers: bool = True, progress: Progress = no_progress) -> Repaired:
        """Look for damage, and write again what can be written again; see `indexer.runs.repair`.

        Raises:
            EngineUnavailable: The damage is beyond repair; the hint says what to do.
        """
        damage = self.engine.damage()
        if damage.beyond_repair:
            raise EngineUnavailable(f"{damage.found[0]}; it cannot be repaired.", hint=damage.beyond_repair)
        repaired = Repaired()
        around = repairing(self.engine, self.catalog, self.name, repaired)
        report = self._source_run("repair", workers, progress).run(
            [], ReadOptions(), around=around, progress=progress
        )
        repaired.mined = report.mined
        return repaired

    @on_live_generation
    def index_posted(
        self, waiting: Upload, *, wait: bool = True, progress: Progress = no_progress
    ) -> RunReport:
        """Index an upload or posted documents. An upload replaces the earlier one of its name.

        Raises:
            NotFound: Another process has done it.
        """
        requested = RunOptions(delete_missing=waiting.is_upload)
        run = self._source_run("index", True, progress)
        around = self._storing(waiting)
        report = run.run(
            [waiting.place], ReadOptions(), requested,
            names=self.posted.names(waiting), around=around, wait=wait, progress=progress,
        )  # fmt: skip
        if wait:
            self._after_run(report, progress)
        return report

    @on_live_generation
    def delete(self, ids: Sequence[str], *, progress: Progress = no_progress) -> RunReport:
        """Delete documents and everything mined from them; topics and phrases follow.

        A document that is still in a file comes back when that is indexed again. Killed and called again, it continues:
        the ledger forgets them last.

        Raises:
            NotFound: There is no such document; then none is deleted.
        """
        requested = list(dict.fromkeys(ids))
        with self.catalog.lock(self.name, "indexer delete") as lock:
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            self._check_there(requested)
            report = RunReport(
                run=self.catalog.start_run(self.name, "delete", {"ids": requested[:MAX_IDS]}, lock=lock)
            )
            pipeline = self._pipeline(progress)
            with self.engine.retrying(), recorded(self.catalog, report):
                report.deleted = len(requested)
                # Compared again: their near duplicates get another original. The ledger has them until the end.
                self.catalog.set_sketches(self.name, dict.fromkeys(requested))
                self.engine.delete(requested)
                if not self.catalog.open_runs(self.name):  # workers finish the run themselves
                    pipeline.finish(report)
                pipeline.remove(requested)
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
        """Remove dead letters without trying them again; returns how many there were.

        Their documents stay as they are until the file is indexed again.

        Args:
            ids: Of the dead letters; None means all.
            stages: Only dead letters of these.
        """
        return self.catalog.dismiss(self.name, ids=ids, stages=stages)

    @property
    def posted(self) -> Uploads:
        """Uploads that requests have posted, and their files."""
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
        """Dead-letter an upload that crashes its worker, and keep the file for a manual retry."""
        reason = f"the program crashed {deaths} times while it was stored."
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
        dead = self.catalog.dead(self.name)
        self.posted.tidy(letter.source for letter in dead if letter.stage in TAKING_IN)

    def _source_run(self, kind: str, workers: bool, progress: Progress) -> SourceRun:
        shared = workers and self.settings.broker and not self._parts.any
        pool = self._worker_pool() if shared else None
        return SourceRun(kind, self.settings, self._pipeline(progress), pool)

    def _worker_pool(self) -> CeleryWorkerPool:
        from workers.pool import CeleryWorkerPool

        return CeleryWorkerPool(self.settings, self.catalog)

    # -- an index of the user -------------------------------------------------------------------------------

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

        Its own fields stay as they are; phrases and mentions go to indices of this collection. A later
        call does only what changed. Documents that another process writes to are read again; deleted ones stay deleted.

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
        """Enrich an index, and follow its changes and those of topics and generations here, while the caller iterates.

        It waits for the lock of another process and for unavailable servers, but not in the first check.

        Args:
            every: Seconds between two checks.

        Yields:
            A report of each check that found something; of the first one always.
        """
        return self._enriching(index, options, progress).watch(every, pause)

    @on_live_generation
    def undo_enrich(self, index: str, options: EnrichOptions, *, progress: Progress = no_progress) -> int:
        """Remove the fields that `enrich` added to the documents of an index, and empty this collection.

        The documents are then as they were. Only the mapping keeps the field: Elasticsearch cannot remove one.

        Returns:
            How many documents had it.
        """
        return self._enriching(index, options, progress).undo()

    def _enriching(self, index: str, options: EnrichOptions, progress: Progress) -> Enriching:
        from indexer.runs.enrich_watch import Enriching

        pipeline = partial(self._pipeline, progress)
        return Enriching(self.settings, self.catalog, pipeline, index, options, progress)
