"""The runs that read sources, `index` and `retry`, and the parts that all runs of a collection share."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from threadpoolctl import threadpool_limits

from indexer.catalog import Catalog
from indexer.catalog.database import now
from indexer.catalog.entries import MINING, TAKING_IN, DeadLetter, LedgerEntry
from indexer.catalog.runs import run_id_at
from indexer.engines.base import Engine
from indexer.errors import Superseded
from indexer.pipeline.next_generation import complete_switch
from indexer.pipeline.run import Pipeline, RunReport
from indexer.protocols import Progress
from indexer.readers import ReadOptions, count, read
from indexer.readers.source import SCHEME, place_of, plural
from indexer.records import Document
from indexer.runs.uploads import Uploads
from indexer.settings import Settings
from indexer.topics.models.registry import TopicRequest

NAMED = 5  # ids in the note


class ReplacedDocuments:
    """Collects documents that replaced one of another file, for a note: ids belong to the collection, not to the file.

    A record may move on purpose, or two files may have the same numbers.
    """

    def __init__(self, posted: Uploads) -> None:
        self._posted = posted
        self._first: dict[str, list[str]] = {}  # name of the file ► ids
        self._number = 0

    def add(self, document: Document, known: LedgerEntry) -> None:
        """Add a document whose content changed, with the earlier ledger entry under its id."""
        if self._posted.are_one_file(document.source, known.source):
            return
        self._number += 1
        if self._number <= NAMED:
            file = self._posted.called(place_of(known.source)[0])
            self._first.setdefault(file, []).append(document.id)

    def notes(self) -> list[str]:
        """One sentence, or none without such documents."""
        if not self._number:
            return []
        named = ", ".join(f"{', '.join(ids)} ({file})" for file, ids in self._first.items())
        more = f" and {self._number - NAMED:,} more" if self._number > NAMED else ""
        return [f"{plural(self._number, 'document')} came from another file before: {named}{more}."]


COUNTS = (
    *("bundle", "read", "new", "changed", "unchanged", "deleted", "mined", "written", "failed", "topics"),
    "duplicates",
)


class WorkerPool(Protocol):
    """Workers that mine instead of this process; see `workers.pool`."""

    def begin(self, report: RunReport, first: Sequence[str]) -> None: ...

    def wait(
        self, report: RunReport, progress: Progress, after_first: Callable[[], None] | None = None
    ) -> None: ...


@dataclass(frozen=True)
class RunOptions:
    """What a run does after reading its sources; see `Collection.index`."""

    topics: str | int | None = None
    refit: bool = False
    delete_missing: bool = False
    levels: str | int | None = None

    def __post_init__(self) -> None:
        self.request()  # refuse a wrong one now: it is used only after all is mined

    def request(self) -> TopicRequest:
        """Return how topics are to be found."""
        return TopicRequest.read(self.topics, self.levels)


@dataclass(frozen=True)
class RetryRequest:
    """The dead letters that can be tried again.

    Attributes:
        letters: By the file that is to be read for them, the file of the newest failure first.
        mining: Those whose documents are stored: they can be tried without a file.
        missing: Files that are not there any more; their letters stay.
    """

    letters: Mapping[str, Sequence[DeadLetter]]
    mining: Sequence[DeadLetter]
    missing: Sequence[str]
    posted: Uploads

    @classmethod
    def of(cls, letters: Sequence[DeadLetter], posted: Uploads) -> Self:
        """All dead letters except those of a user's index, which `enrich` tries again."""
        own = [letter for letter in letters if not letter.source.startswith(SCHEME)]
        files: dict[str, list[DeadLetter]] = {}
        for letter in sorted(own, key=lambda letter: letter.first_at, reverse=True):
            if letter.source:
                files.setdefault(place_of(letter.source)[0], []).append(letter)
        there = {file: some for file, some in files.items() if Path(file).exists()}
        lost = {place_of(letter.source)[0] for letter in own if letter.source and letter.stage in TAKING_IN}
        mining = [letter for letter in own if letter.stage in MINING]
        return cls(there, mining, sorted(lost - set(there)), posted)

    def accepts(self, document: Document, known: LedgerEntry | None) -> bool:
        """Whether to store a document of these files: not where a newer version of it is stored.

        A stored version from the same file is older. One from another file is newer, unless this one failed after it was
        read. An unknown document was added to the file since; but nothing is added to the copy of an upload: there it was
        deleted, unless it is the one that failed.
        """
        file, _ = place_of(document.source)
        failures = [
            letter
            for letter in self.letters[file]
            if letter.source in (document.source, file) or letter.document_id == document.id
        ]
        if known is None:
            return bool(failures) or not self.posted.holds(file)
        if place_of(known.source)[0] == file:
            return True
        return any(run_id_at(letter.first_at) > known.run for letter in failures)


class SourceRun:
    """One run that reads sources: stores, mines and writes what is new or changed.

    Args:
        kind: The command's name.
        pool: Workers that do the mining; None to do it here.
    """

    def __init__(self, kind: str, settings: Settings, pipeline: Pipeline, pool: WorkerPool | None) -> None:
        self._kind = kind
        self._settings = settings
        self._pipeline = pipeline
        self._catalog = pipeline.catalog
        self._collection = pipeline.collection
        self._worker_pool = pool
        self._posted = Uploads(settings.home, pipeline.collection)

    def run(
        self,
        sources: Sequence[str | Path],
        options: ReadOptions,
        requested: RunOptions = RunOptions(),
        *,
        names: Sequence[str] = (),
        again: RetryRequest | None = None,
        around: AbstractContextManager[None] | None = None,
        wait: bool = True,
        progress: Progress,
    ) -> RunReport:
        """Read, store, mine and finish, under the lock of the collection.

        Args:
            names: Names of the sources in the ledger, where they have others than here.
            again: Dead letters to try again; their files are the sources.
            around: Entered before the sources are read, and left after all went well.
            wait: Until the workers are through.
        """
        start = time.perf_counter()
        report = RunReport()
        given = [absolute(source) for source in sources]
        with self._catalog.lock(self._collection, f"indexer {self._kind}") as lock:
            complete_switch(self._settings, self._catalog)
            check_live(self._pipeline.engine)
            self._catalog.interrupted_runs(self._collection)
            if self._worker_pool is None:
                self._catalog.end_abandoned_runs(self._collection)
            report.run = self._catalog.start_run(
                self._collection, self._kind, self._options(given, requested), lock=lock
            )
            tried = self._catalog.retrying(self._collection, again.mining if again else ())
            with undisturbed(), self._pipeline.engine.retrying(), tried, around or nullcontext():
                with recorded(self._catalog, report, detach=self._worker_pool is not None):
                    self._take_in(given, names or given, options, requested, report, again)
                    if self._worker_pool is None:
                        self._pipeline.mine(report, requested.request(), refit=requested.refit)
                        self._finish(requested, report)
                        report.seconds = time.perf_counter() - start
                if self._worker_pool is not None:
                    self._leave_to(self._worker_pool, requested, report, progress if wait else None)
                    report.seconds = time.perf_counter() - start
                    if wait:
                        self._catalog.finish_run(report.run, "finished", counts(report))
        return report

    def _options(self, given: Sequence[str], requested: RunOptions) -> dict[str, Any]:
        """The options of the run, for the catalog."""
        kept = ("bundle", "tagger", "keyphrases", "absent_keyphrases", "duplicates")
        named = {name: getattr(self._settings, name) for name in kept}
        return {"sources": given, **vars(requested), **named}

    def _take_in(
        self,
        given: Sequence[str],
        names: Sequence[str],
        options: ReadOptions,
        requested: RunOptions,
        report: RunReport,
        again: RetryRequest | None,
    ) -> None:
        start = now()
        options = replace(
            options, max_bytes=self._settings.max_document_bytes, seconds=self._settings.read_timeout
        )
        total = count(given, options) if given else 0
        replaced = ReplacedDocuments(self._posted)
        if again:
            self._take_in_again(again, options, report, total, replaced)
        else:
            self._pipeline.take_in(read(given, options), report, total, on_change=replaced.add)
        report.notes += replaced.notes()
        # Records that still cannot be read have new dead letters. The others work, or are gone.
        self._catalog.resolve(self._collection, sources=names, stages=TAKING_IN, before=start)
        if requested.delete_missing:
            self._pipeline.remove_missing(names, report)

    def _take_in_again(
        self,
        again: RetryRequest,
        options: ReadOptions,
        report: RunReport,
        total: int | None,
        replaced: ReplacedDocuments,
    ) -> None:
        """Read the files one by one: several may have the same document, and the newest wins."""
        for file in again.letters:
            left = self._pipeline.take_in(read([file], options), report, total, again.accepts, replaced.add)
            if left:
                named = self._posted.called(file)
                report.notes.append(
                    f"{named}: {plural(left, 'document')} stored again or deleted since, so left as is."
                )

    def _leave_to(
        self, pool: WorkerPool, requested: RunOptions, report: RunReport, progress: Progress | None
    ) -> None:
        """Let workers mine; with a progress callback, wait for them and finish the run."""
        sample, others = self._pipeline.mining_order()
        request = requested.request()

        def assign() -> None:
            """Have workers write further documents with their topics."""
            if fit := self._pipeline.begin(report, request, refit=requested.refit):
                self._catalog.add_options(report.run, {"topic_fit": fit})

        if others and not sample:
            assign()
        pool.begin(report, sample if others else [])
        if progress is not None:
            with report.timed("workers"):
                pool.wait(report, progress, assign if others else None)
            self._finish(requested, report)

    def _finish(self, requested: RunOptions, report: RunReport) -> None:
        self._pipeline.finish(report, requested.request(), refit=requested.refit)


def check_live(engine: Engine) -> None:
    """Under the lock of the collection, before anything is written.

    Raises:
        Superseded: Another generation became live since it was opened, and needs another encoder.
    """
    if engine.superseded():
        raise Superseded("Another generation is live now.", hint="Open the collection again.")


@contextmanager
def recorded(catalog: Catalog, report: RunReport, *, detach: bool = False) -> Iterator[None]:
    """Record in the catalog how the run ended; with `detach`, that workers continue it."""
    try:
        yield
    except KeyboardInterrupt:
        catalog.finish_run(report.run, "interrupted", counts(report))
        raise
    except BaseException as error:
        catalog.finish_run(report.run, "failed", counts(report), str(error) or type(error).__name__)
        raise
    if detach:
        catalog.detach_run(report.run, counts(report))
    else:
        catalog.finish_run(report.run, "finished", counts(report))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Leave processor time to the work.

    BLAS threads spin while they wait, and take the cores from the encoder. The garbage collector skips the
    existing objects: scanning them took 5 % of a run.
    """
    with threadpool_limits(1, user_api="blas"):
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()


def counts(report: RunReport) -> dict[str, Any]:
    """The figures of a report, for the catalog."""
    return {
        **{name: getattr(report, name) for name in COUNTS if hasattr(report, name)},
        **({"new_fit": True, "topics": report.topics} if report.new_fit else {}),
        "seconds": round(report.seconds, 2),
        "stages": {name: round(seconds, 2) for name, seconds in report.stages.items()},
    }


def absolute(source: str | Path) -> str:
    """The path from the root on; standard input stays as it is."""
    return str(source) if str(source) == "-" else str(Path(source).absolute())
