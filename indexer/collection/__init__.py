"""The Python face of the program: one object for one collection, one method for each command.

    from indexer.collection import Collection

    with Collection.open(home="my-index") as collection:
        collection.index(["articles.jsonl"])
        for hit in collection.search("solar wind", mode="both").hits:
            print(hit.score, hit.stored.document.title)

The encoder is loaded on first use, so that word search and listings never wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.catalog.entries import STAGES, TAKING_IN, Failure, Run, Stage
from indexer.collection.base import on_live_generation
from indexer.collection.status import State
from indexer.errors import InputError, NotFound, QueryError
from indexer.pipeline.finalize import Finisher
from indexer.pipeline.next_generation import complete_switch
from indexer.pipeline.run import Pipeline, RunReport
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers import ReadOptions
from indexer.readers.source import shown
from indexer.records import Topic
from indexer.runs.index import (
    RetryRequest,
    RunOptions,
    SourceRun,
    check_live,
    recorded,
)
from indexer.runs.plan import Plan, planned
from indexer.runs.rollback import (
    KINDS,
    Rollback,
    RollbackReport,
    Switched,
    nobody,
)
from indexer.runs.uploads import Upload, Uploads
from indexer.topics.history import is_address
from indexer.topics.labels import label_of
from indexer.topics.models.registry import TopicRequest

if TYPE_CHECKING:
    from indexer.engines.elastic.user_index import EnrichOptions
    from indexer.runs.enrich import EnrichReport
    from indexer.runs.enrich_watch import Enriching
    from trainer.retrain.report import RetrainOptions, RetrainReport
    from trainer.retrain.run import Retrainer
    from workers.pool import CeleryWorkerPool

TAGGERS = 1  # worker processes; one tags faster than a CPU encodes
MAX_CRASHES = 3  # of processes that store what was posted, before it is given up
MAX_IDS = 100  # of deleted documents, that the catalog keeps
PAST_RUNS = 1_000  # that are looked through: years of nights


class Collection(State):
    """One collection of documents: what `Opened`, `Reading` and `State` say of it, and everything that changes it."""

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
            with self.engine.retrying(), recorded(self.catalog, report):
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
        crew = self._worker_pool() if workers and self.settings.broker else None
        return SourceRun(kind, self.settings, self._pipeline(progress), crew)

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

    def _pipeline(self, progress: Progress) -> Pipeline:
        return Pipeline(
            self.engine,
            self.catalog,
            self.name,
            lambda: self.encoder,
            tagger=self.settings.tagger,
            workers=TAGGERS,
            keyphrases=self.settings.keyphrases,
            ranker=lambda: self.ranker,
            absent=self.settings.absent_keyphrases,
            tagger_is_here="_preparer" in self.__dict__,
            progress=progress,
        )

    def plan(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    ) -> Plan:
        """What `index` would do with these sources; reads them and writes nothing."""
        return planned(self.catalog, self.name, sources, options)

    # -- topics ---------------------------------------------------------------------------------------------

    @on_live_generation
    def rename_topic(self, name: str, label: str) -> Topic:
        """Give a topic a name by hand; it stays through every later run.

        Raises:
            QueryError: The name is empty, or like a number or an id, or another topic has it: `facts["other"]` is its id.
            CatalogError: Somebody is writing to the collection.
        """
        label = " ".join(label.split())
        if not label:
            raise QueryError("The new name of a topic must not be empty.")
        if is_address(label):
            raise QueryError(
                f"'{label}' is how topics are numbered, and would lead to topic {label}.",
                hint="Choose a name that is neither a number nor an id.",
            )
        return self._name_topic(name, lambda topic: label, locked=True)

    @on_live_generation
    def unname_topic(self, name: str) -> Topic:
        """Take back the name that was given to a topic by hand: it is called after its leading phrase again.

        Raises:
            QueryError: Another topic has that name by now: `facts["other"]` is its id.
            CatalogError: Somebody is writing to the collection.
        """
        return self._name_topic(name, lambda topic: label_of(topic.phrases), locked=False)

    def _name_topic(self, name: str, label_for: Callable[[Topic], str], *, locked: bool) -> Topic:
        with self.catalog.lock(self.name, "indexer topics rename"):
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            id_ = self.topic_id(name)
            topics = self.engine.topics()
            before = next(topic for topic in topics if topic.id == id_)
            if not locked and not before.label_locked:
                return before
            label = label_for(before)
            if other := _another(topics, id_, label):
                raise QueryError(
                    f"Another topic is named '{label}' already: {other.id}.",
                    hint="Choose another name, or make them one topic.",
                    command=f"Merge them: indexer topics merge {other.id} {id_}",
                    other=other.id,
                )
            self.catalog.rename_topic(self.name, id_, label, locked=locked)
            renamed = replace(before, label=label, label_locked=locked)
            self.engine.write_topics([renamed if topic.id == id_ else topic for topic in topics])
        return renamed

    @on_live_generation
    def merge_topics(
        self, into: str, others: Sequence[str], *, progress: Progress = no_progress
    ) -> tuple[Topic, int]:
        """Make several topics one: `into` keeps its id and name, the others retire and lead to it.

        Returns:
            The topic, and how many documents changed.
        """
        target = self.topic_id(into)
        sources = [id_ for id_ in (self.topic_id(other) for other in others) if id_ != target]
        if not sources:
            raise QueryError("Name at least one other topic to merge.")
        with self.catalog.lock(self.name, "indexer topics merge") as lock:
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            run = self.catalog.start_run(self.name, "merge", {"into": target, "from": sources}, lock=lock)
            finisher = Finisher(
                self.engine,
                self.catalog,
                self.name,
                run,
                self.settings.keyphrases,
                progress,
                ranker=self.ranker,
                absent=self.settings.absent_keyphrases,
            )
            changed = finisher.merge(target, sources)
            self.catalog.finish_run(run, "finished", {"documents": changed})
        return next(t for t in self.engine.topics() if t.id == target), changed

    # -- retraining -----------------------------------------------------------------------------------------

    @on_live_generation
    def retrain(self, options: RetrainOptions, *, progress: Progress = no_progress) -> RetrainReport:
        """Adapt the encoder to this collection, and let it take over if it is better; see `trainer.retrain.run`.

        The whole retrain reads the generation that was live when it began.
        """
        with self._retrainer(progress) as retrainer:
            return retrainer.run(options)

    @on_live_generation
    def begin_retrain(self, options: RetrainOptions) -> RetrainReport:
        """Check whether there is something to do, and record it for workers; see `workers.retrain_tasks`."""
        with self._retrainer(no_progress) as retrainer:
            return retrainer.begin(options)

    @on_live_generation
    def resume_retrain(self, run: str, *, progress: Progress) -> RetrainReport:
        """Work on a retrain that was recorded for workers, until it is done or `progress` raises `Paused`."""
        with self._retrainer(progress) as retrainer:
            return retrainer.resume(run)

    def _retrainer(self, progress: Progress) -> AbstractContextManager[Retrainer]:
        from trainer.retrain.opening import open_retrainer

        return open_retrainer(self.settings, encoder=self._encoder_of, taggers=TAGGERS, progress=progress)

    def rollback(
        self, to: int | None = None, *, switched: Switched = nobody, progress: Progress = no_progress
    ) -> RollbackReport:
        """Make an earlier generation the live one again, or a later one; see `indexer.runs.rollback`.

        Args:
            to: Number of the generation; None means the one that the live one replaced.
            switched: Told when searches see it; what is left then is mining.
        """
        from indexer.engines.registry import open_generations
        from indexer.runs.bundle_files import fetch
        from models.ranker import read_ranker
        from models.registry import Registry

        registry = Registry(self.settings.home)

        def check_bundle(name: str) -> None:
            fetch(self.settings, name)
            registry.get(name)

        with closing(open_generations(self.settings)) as generations:
            rollback = Rollback(
                self.settings,
                generations,
                self.catalog,
                check_bundle,
                self._encoder_of,
                lambda bundle: read_ranker(registry.get(bundle)),
                taggers=TAGGERS,
                progress=progress,
                switched=switched,
            )
            return rollback.run(to)

    def _encoder_of(self, bundle: str) -> Encoder:
        """The encoder of any bundle; the collection's own is not loaded twice."""
        from models.load import load_encoder

        settings = self.settings
        if bundle == settings.bundle:
            return self.encoder
        return load_encoder(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    def history(self, limit: int = 20, *, idle: bool = True) -> list[Run]:
        """Retrains and rollbacks, newest first, with their figures.

        Args:
            idle: Also retrains that found nothing to do.
        """
        if idle:
            return self.catalog.runs(self.name, limit, kinds=KINDS)
        runs = self.catalog.runs(self.name, PAST_RUNS, kinds=KINDS)
        return [run for run in runs if not run.was_idle][:limit]


def _another(topics: Sequence[Topic], id_: str, label: str) -> Topic | None:
    """Another topic that has this name."""
    wanted = label.casefold()
    return next((topic for topic in topics if topic.label.casefold() == wanted and topic.id != id_), None)
