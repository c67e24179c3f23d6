"""What the runs of a collection have in common, and those that read sources: `index` and `retry`."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from threadpoolctl import threadpool_limits

from indexer.analysis.finders import Asked
from indexer.catalog import Catalog
from indexer.catalog.entries import DeadLetter
from indexer.engines.base import Engine
from indexer.errors import Superseded
from indexer.pipeline import Pipeline, RunReport
from indexer.progress import Progress
from indexer.readers import ReadOptions, count, read
from indexer.readers.source import SCHEME
from indexer.settings import Settings
from indexer.succession import settle

COUNTS = ("bundle", "read", "new", "changed", "unchanged", "deleted", "mined", "written", "failed", "topics")


class Crew(Protocol):
    """Who mines instead of this process; see `workers.crew`."""

    def begin(self, report: RunReport) -> None: ...

    def wait(self, report: RunReport, progress: Progress) -> None: ...


@dataclass(frozen=True)
class Wanted:
    """What a run is to do beside reading its sources; see `Collection.index`."""

    topics: str | int | None = None
    refit: bool = False
    delete_missing: bool = False

    def __post_init__(self) -> None:
        Asked.read(self.topics)  # which is not needed before all is mined, and may be wrong


@dataclass(frozen=True)
class Again:
    """What of the dead letters can be tried again.

    Attributes:
        files: To be read for that.
        missing: Files that are not there any more; their letters stay.
    """

    letters: tuple[DeadLetter, ...]
    files: tuple[str, ...]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, letters: Sequence[DeadLetter]) -> Self:
        """All but those of a user's index, which `enrich` tries again."""
        own = [letter for letter in letters if not letter.source.startswith(SCHEME)]
        named = {_file_of(letter.source) for letter in own if letter.source}
        there = {file for file in named if Path(file).exists()}
        tried = [letter for letter in own if not letter.source or _file_of(letter.source) in there]
        return cls(tuple(tried), tuple(sorted(there)), tuple(sorted(named - there)))


class SourceRun:
    """One run that reads sources: stores, mines and writes what is new or changed.

    Args:
        kind: The command's name.
        crew: Workers that do the mining; None to do it here.
    """

    def __init__(self, kind: str, settings: Settings, pipeline: Pipeline, crew: Crew | None) -> None:
        self._kind = kind
        self._settings = settings
        self._pipeline = pipeline
        self._catalog = pipeline.catalog
        self._collection = pipeline.collection
        self._crew = crew

    def run(
        self,
        sources: Sequence[str | Path],
        options: ReadOptions,
        wanted: Wanted = Wanted(),
        *,
        letters: Sequence[DeadLetter] = (),
        wait: bool = True,
        progress: Progress,
    ) -> RunReport:
        """Do it, under the lock of the collection.

        Args:
            letters: Dead letters that these sources try again.
            wait: Until the workers are through.
        """
        start = time.perf_counter()
        report = RunReport()
        given = [absolute(source) for source in sources]
        with self._catalog.lock(self._collection, f"indexer {self._kind}") as lock:
            settle(self._settings, self._catalog)
            check_live(self._pipeline.engine)
            self._catalog.interrupted_runs(self._collection)
            if self._crew is None:
                self._catalog.end_left_runs(self._collection)
            report.run = self._catalog.start_run(
                self._collection, self._kind, self._options(given, wanted), lock=lock
            )
            tried = self._catalog.trying_again(self._collection, letters)
            with undisturbed(), self._pipeline.engine.patient(), tried:
                with recorded(self._catalog, report, detach=self._crew is not None):
                    self._take_in(given, options, wanted, report)
                    if self._crew is None:
                        self._pipeline.mine(report)
                        self._finish(wanted, report)
                        report.seconds = time.perf_counter() - start
                if self._crew is not None:
                    self._leave_to(self._crew, wanted, report, progress if wait else None)
                    report.seconds = time.perf_counter() - start
                    if wait:
                        self._catalog.finish_run(report.run, "finished", counts(report))
        return report

    def _options(self, given: Sequence[str], wanted: Wanted) -> dict[str, Any]:
        """What the catalog keeps of how the run was started."""
        kept = ("bundle", "tagger", "keyphrases", "absent_keyphrases")
        named = {name: getattr(self._settings, name) for name in kept}
        return {"sources": given, **vars(wanted), **named}

    def _take_in(
        self,
        given: Sequence[str],
        options: ReadOptions,
        wanted: Wanted,
        report: RunReport,
    ) -> None:
        items = read(given, replace(options, max_bytes=self._settings.max_document_bytes))
        self._pipeline.take_in(items, report, count(given, options) if given else 0)
        if wanted.delete_missing:
            self._pipeline.remove_missing(given, report)

    def _leave_to(self, crew: Crew, wanted: Wanted, report: RunReport, progress: Progress | None) -> None:
        """Let workers mine; with a progress to tell, wait for them and finish what they did."""
        crew.begin(report)
        if progress is not None:
            with report.timed("workers"):
                crew.wait(report, progress)
            self._finish(wanted, report)

    def _finish(self, wanted: Wanted, report: RunReport) -> None:
        self._pipeline.finish(report, wanted.topics, refit=wanted.refit)


def check_live(engine: Engine) -> None:
    """Under the lock of the collection, before anything is written.

    Raises:
        Superseded: It was opened before another generation took over, for which the encoder is the wrong one.
    """
    if engine.superseded():
        raise Superseded("Another generation has taken over.", hint="Open the collection again.")


@contextmanager
def recorded(catalog: Catalog, report: RunReport, *, detach: bool = False) -> Iterator[None]:
    """Write into the catalog how the run ended, however it ends; or, with `detach`, that workers go on with it."""
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

    BLAS threads spin while they wait, and take the cores from the encoder. The garbage collector is spared the
    objects that are there now: looking at them all took 5 % of a run.
    """
    with threadpool_limits(1, user_api="blas"):
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()


def counts(report: RunReport) -> dict[str, Any]:
    """What the catalog keeps of a report."""
    return {
        **{name: getattr(report, name) for name in COUNTS if hasattr(report, name)},
        **({"new_fit": True, "topics": report.topics} if report.new_fit else {}),
        "seconds": round(report.seconds, 2),
        "stages": {name: round(seconds, 2) for name, seconds in report.stages.items()},
    }


def absolute(source: str | Path) -> str:
    """The path from the root on; standard input stays as it is."""
    return str(source) if str(source) == "-" else str(Path(source).absolute())


def _file_of(source: str) -> str:
    """FILE of FILE or FILE:LINE."""
    return re.sub(r":\d+$", "", source)
