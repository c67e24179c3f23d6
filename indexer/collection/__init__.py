"""The Python API: one object for one collection, one method for each command.

    from indexer import Collection

    with Collection.open(home="my-index") as collection:
        collection.index(["articles.jsonl"])
        for hit in collection.search("solar wind", mode="both").hits:
            print(hit.score, hit.stored.document.title)

The encoder is loaded on first use, so that word search and listings never wait for it.

base       open and close, encoder, tagger, the switch to another generation
queries    searches, phrases, documents, topics; they change nothing
status     counts, drift, generations, work of the workers
indexing   index, retry, uploads, delete, enrich
topics     rename and merge topics
saved_searches  searches that are repeated after each run
"""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING

from indexer.catalog.entries import Run
from indexer.collection.base import on_live_generation
from indexer.collection.corrections import CorrectionMethods
from indexer.collection.saved_searches import SavedSearchMethods
from indexer.collection.status import StatusMethods
from indexer.pipeline.run import RunReport
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers.source import plural
from indexer.runs.rollback import KINDS, Rollback, RollbackReport, Switched, ignore
from indexer.topics.fits import live_fit
from indexer.topics.language_model import LanguageModel

if TYPE_CHECKING:
    from indexer.runs.reindex import ReindexReport
    from trainer.retrain.report import RetrainOptions, RetrainReport
    from trainer.retrain.run import Retrainer

TAGGERS = 1  # worker processes; one tags faster than a CPU encodes
PAST_RUNS = 1_000  # searched for retrains and rollbacks: years of nights


class Collection(CorrectionMethods, SavedSearchMethods, StatusMethods):
    """One collection of documents. Its parts are in the modules of this package; here are retrain and rollback."""

    def _after_run(self, report: RunReport, progress: Progress) -> None:
        if report.mined and not report.left_to_workers:
            self._keep_topics_up(report, progress)
        if any(self.catalog.saved_searches(self.name)):
            checked = self.check_saved_searches()
            report.notes += [
                f"Saved search '{name}': {plural(new, 'new hit')}."
                for name, new in checked.found.items()
                if new
            ]
            report.notes += [f"Saved search '{name}' failed: {why}" for name, why in checked.failed.items()]

    def _keep_topics_up(self, report: RunReport, progress: Progress) -> None:
        """Make topics of what is rising, and find topics again where twice as many documents are there; or propose it."""
        by_itself = self.settings.births == "make"
        now = self.engine.info().documents
        grown = f"Topics were found in {report.doubled_from:,} documents, and there are {now:,} now."
        if by_itself and report.doubled_from:
            live = live_fit(self.catalog, self.name)
            requested = live.requested if live else None
            refit = self.index([], topics=requested, refit=True, progress=progress)
            report.notes.append(f"{grown} They were found again, with ids kept.")
            report.topics, report.new_fit, report.without_topic = refit.topics, True, refit.without_topic
        elif report.doubled_from:
            report.notes.append(f"{grown} Find them again, with ids kept: indexer topics refit.")
        if found := self.rising():
            names = ", ".join(topic.label for topic in (self.add_rising() if by_itself else found))
            report.notes.append(
                f"New topics: {names}" if by_itself else f"Rising: {names}. See: indexer topics rising"
            )

    def _mining(self, bundle: str = "") -> MiningOptions:
        bundle = bundle or self.settings.bundle
        return MiningOptions(
            bundle,
            self.engine.dims,
            lambda: self._encoder_of(bundle),
            self._parts.tagger or self.settings.tagger,
            TAGGERS,
            self.settings.keyphrases,
            lambda: self._ranker_of(bundle),
            self.settings.absent_keyphrases,
            self._parts.topic_model,
            LanguageModel.of(self.settings),
            tagging_seconds=self.settings.tagging_timeout,
            tagger_is_loaded="_preparer" in self.__dict__,
            duplicates=self.settings.duplicates,
        )

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
        self, to: int | None = None, *, switched: Switched = ignore, progress: Progress = no_progress
    ) -> RollbackReport:
        """Make an earlier generation the live one again, or a later one; see `indexer.runs.rollback`.

        Args:
            to: Number of the generation; None means the one that the live one replaced.
            switched: Called when searches see it; what is left then is mining.
        """
        from indexer.engines.registry import open_generations
        from indexer.runs.bundle_files import fetch
        from models.load import encoder_dims

        def check_bundle(name: str) -> None:
            fetch(self.settings, name)
            encoder_dims(name, self.settings.home)

        with closing(open_generations(self.settings)) as generations:
            rollback = Rollback(
                self.settings,
                generations,
                self.catalog,
                check_bundle,
                self._mining,
                progress=progress,
                switched=switched,
            )
            return rollback.run(to)

    def reindex(self, *, progress: Progress = no_progress) -> ReindexReport:
        """Copy the live generation into indices of the present form, and make them live; see `indexer.runs.reindex`."""
        from indexer.engines.registry import open_generations
        from indexer.runs.reindex import Reindex

        with closing(open_generations(self.settings)) as generations:
            return Reindex(generations, self.catalog, self.name, progress).run()

    def _encoder_of(self, bundle: str) -> Encoder:
        """The encoder of any bundle; the collection's own is not loaded twice."""
        return self.encoder if bundle == self.settings.bundle else self._load_encoder(bundle)

    def history(self, limit: int = 20, *, idle: bool = True) -> list[Run]:
        """Retrains and rollbacks, newest first, with their figures.

        Args:
            idle: Also retrains that found nothing to do.
        """
        if idle:
            return self.catalog.runs(self.name, limit, kinds=KINDS)
        runs = self.catalog.runs(self.name, PAST_RUNS, kinds=KINDS)
        return [run for run in runs if not run.was_idle][:limit]
