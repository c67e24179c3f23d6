"""Read ► prepare ► encode ► decide ► write, on one machine; every step may be done twice.

    take in   read the sources; store what is new or changed (searchable by words at once); the ledger says "stored"
    mine      what is "stored": sentences and candidates ► vectors ► mention rows; the ledger says "mined"
    finish    what is "mined": topics are fitted if there are none; documents that were mined without a fit get their
              topics and final keyphrases; phrase rows and topic labels follow; the ledger says "done"

In a first run the sample that topics are fitted to is mined first. Further documents are written with their topics.

A killed run leaves documents in the state they had reached. The next run continues from there, in the same chunks
(64 ids in ascending order), so that it ends where an undisturbed run would have ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar

from indexer.catalog import Catalog
from indexer.catalog.database import now
from indexer.catalog.entries import MINING, TAKING_IN, Failure, LedgerEntry, Stage
from indexer.common import batches
from indexer.engines.base import Engine
from indexer.errors import InputError
from indexer.pipeline import metrics
from indexer.pipeline.assign import Assigner
from indexer.pipeline.finalize import Finisher
from indexer.pipeline.steps import (
    CHUNK,
    EncodedChunk,
    MiningOptions,
    encode_chunk,
    load,
    mined,
    refusals,
    shown,
    source_of,
    write_chunk,
)
from indexer.pipeline.topic_fit import sample_ids
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers.source import place_of
from indexer.records import Document, Prepared, leaves
from indexer.text.pool import PreparePool
from indexer.topics.fits import OUTDATED
from indexer.topics.models.clusters import load_libraries
from indexer.topics.models.registry import TopicRequest

STORE_CHUNK = 256  # documents stored in one transaction
NEARLY_ALL = 0.9  # of the earlier texts: when so many are replaced, the topics are fitted again

FEW_CHARACTERS = 100_000  # tagged in a second or two
DOUBLED = 2  # so many times the documents that topics were fitted to: they may be about something else
MANY, MANY_SHARE = 10, 0.2  # documents of a run without a topic; a fit leaves 2 % so

T = TypeVar("T")
Accepts = Callable[[Document, LedgerEntry | None], bool]
OnChange = Callable[[Document, LedgerEntry], None]


def accept_all(document: Document, known: LedgerEntry | None) -> bool:
    """Accept each document, as an ordinary run does."""
    return True


def ignore(document: Document, known: LedgerEntry) -> None:
    """Do nothing about a changed document."""


@dataclass
class RunReport:
    """Counts, problems and seconds of a run. Of the stages, `tagging` ran in a process and `encode` in a thread."""

    run: str = ""
    bundle: str = ""  # encoder of the vectors; empty when nothing was encoded
    read: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    mined: int = 0
    taken_over: int = 0  # documents that an earlier run had mined and not finished
    failed: int = 0
    problems: list[str] = field(default_factory=list)  # the first ones, as FILE:LINE: what is wrong
    notes: list[str] = field(default_factory=list)  # what was left out on purpose
    topics: int = 0
    new_fit: bool = False
    duplicates: int = 0  # near duplicates among the documents that were compared
    without_topic: int = 0  # of the documents that were assigned: those without a topic
    doubled_from: int = 0  # documents when topics were fitted, where there are twice as many now
    left_to_workers: int = 0  # documents that are being mined when the command ends
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)  # stage ► seconds

    @property
    def nothing_changed(self) -> bool:
        """Whether the run left everything as it was."""
        done = self.new or self.changed or self.deleted or self.mined or self.taken_over or self.failed
        return not (done or self.new_fit or self.left_to_workers)

    @property
    def outgrown(self) -> bool:
        """Whether so many documents have no topic that the topics should be fitted again."""
        return not self.new_fit and self.without_topic >= max(MANY, self.mined * MANY_SHARE)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of the block to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent(stage, time.perf_counter() - start)

    def spent(self, stage: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds


MAX_PROBLEMS = 20  # in a report; the dead letters have all


@dataclass(frozen=True)
class _Incoming:
    """Documents that were read and accepted, with the ledger entries under their ids."""

    documents: Sequence[Document]
    known: Mapping[str, LedgerEntry]

    @property
    def fresh(self) -> list[Document]:
        """Documents that are new or changed."""
        return [d for d in self.documents if not self._is_stored(d)]

    @property
    def same(self) -> list[Document]:
        """Documents that are stored as they are."""
        return [d for d in self.documents if self._is_stored(d)]

    def _is_stored(self, document: Document) -> bool:
        return document.id in self.known and self.known[document.id].content_hash == document.content_hash


class Pipeline:
    """Stores, mines and finishes documents of one collection.

    Args:
        options: Their encoder is loaded only when something has to be encoded.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        options: MiningOptions,
        progress: Progress = no_progress,
    ) -> None:
        self.engine = engine
        self.catalog = catalog
        self.collection = collection
        self._options = options
        self._progress = progress
        self._finisher: Finisher | None = None  # that has begun
        self._assigner: Assigner | None = None
        self._unclear: set[str] = set()  # files with an unreadable record whose id is not known

    def take_in(
        self,
        items: Iterable[Document | InputError],
        report: RunReport,
        total: int | None,
        accepts: Accepts = accept_all,
        on_change: OnChange = ignore,
    ) -> int:
        """Store the documents that are new or changed; dead-letter those that could not be read.

        Args:
            accepts: Called with each document and the ledger's entry under its id; False skips the document.
            on_change: Called with each document that replaces another content, and the ledger's entry of that.

        Returns:
            How many documents were skipped.
        """
        before, rewritten = sum(self.catalog.count(self.collection).values()), 0
        start, skipped = now(), 0
        for chunk in batches(_timed(items, report, "read"), STORE_CHUNK):
            self.catalog.check_locks()
            documents = [item for item in chunk if isinstance(item, Document)]
            failures = self._record_problems([p for p in chunk if isinstance(p, InputError)], report)
            known = self.catalog.ledger(self.collection, [d.id for d in documents])
            accepted = [d for d in documents if accepts(d, known.get(d.id))]
            skipped += len(documents) - len(accepted)
            metrics.through("read", len(accepted), failures)
            incoming = _Incoming(accepted, known)
            rewritten += self._count_rewritten(incoming, report)
            for document in self._store(incoming, report, start):
                on_change(document, known[document.id])
            self._keep_unchanged(incoming, report)
            report.read += len(accepted)
            self._progress("read", report.read, total)
        if rewritten and rewritten >= NEARLY_ALL * before:
            self._outdate_topics(report)
        return skipped

    def _record_problems(self, problems: Sequence[InputError], report: RunReport) -> int:
        """Note what was left out on purpose; dead-letter the other problems and return their number.

        An unreadable document is not missing. Where its id is not known, it may be any document of its file.
        """
        report.notes += [shown(p) for p in problems if "left_out" in p.facts]
        failures = [p for p in problems if "left_out" not in p.facts]
        self._dead_letter(report, "read", failures)
        ids = [p.facts.get("document_id") for p in problems]
        self.catalog.touch(self.collection, [id_ for id_ in ids if id_], report.run)
        self._unclear |= {place_of(source_of(p))[0] for p, id_ in zip(problems, ids, strict=True) if not id_}
        return len(failures)

    def _count_rewritten(self, incoming: _Incoming, report: RunReport) -> int:
        """Number of changed documents with hardly a word of the stored text; others were edited, or got other fields."""
        changed = [d for d in incoming.fresh if d.id in incoming.known]
        with report.timed("store"):
            found = self.engine.documents([d.id for d in changed])
        stored = {s.document.id: s.document.content for s in found}
        return sum(_are_unlike(document.content, stored.get(document.id, "")) for document in changed)

    def _store(self, incoming: _Incoming, report: RunReport, start: datetime) -> list[Document]:
        """Store what is new or changed; returns the documents that replaced another content.

        Their dead letters of mining were about the old text, and end before it is replaced. Those of reading were about
        the new text, and end after it is stored, or a killed run would forget them.
        """
        fresh = incoming.fresh
        ids = [d.id for d in fresh]
        self.catalog.resolve(self.collection, document_ids=ids, stages=MINING)
        with report.timed("store"):
            refused = {r.id: r for r in self.engine.store(fresh)} if fresh else {}
            stored = [d for d in fresh if d.id not in refused]
            entries = [
                LedgerEntry(d.id, d.content_hash, "stored", run=report.run, source=d.source) for d in stored
            ]
            self.catalog.record(self.collection, entries)
        self._dead_letter(report, "store", refusals(fresh, list(refused.values())))
        self.catalog.resolve(self.collection, document_ids=ids, stages=TAKING_IN, before=start)
        metrics.through("store", len(stored), len(refused))
        replacing = [d for d in stored if d.id in incoming.known]
        report.changed += len(replacing)
        report.new += len(stored) - len(replacing)
        return replacing

    def _keep_unchanged(self, incoming: _Incoming, report: RunReport) -> None:
        """Mark unchanged documents as seen by this run; one that moved gets its new source."""
        same, known = incoming.same, incoming.known
        self.catalog.touch(self.collection, [d.id for d in same], report.run)
        moved = [d for d in same if known[d.id].source != d.source]
        entries = [replace(known[d.id], source=d.source, run=report.run) for d in moved]
        self.catalog.record(self.collection, entries)
        report.unchanged += len(same)

    def _outdate_topics(self, report: RunReport) -> None:
        """Have the topics fitted again: the texts of the live fit are gone."""
        if fit := self.catalog.live_fit(self.collection):
            self.catalog.add_to_fit(self.collection, fit.run, {OUTDATED: True})
            report.notes.append("Nearly all texts were replaced, so topics are fitted again.")

    def remove_missing(self, sources: Sequence[str], report: RunReport) -> None:
        """Delete the documents under these sources that this run did not see.

        Those of a file with an unreadable part stay: they may be in that part.
        """
        unclear = sorted(self._unclear)
        unseen = list(self.catalog.unseen(self.collection, sources, report.run, but=unclear))
        for ids in batches(unseen, STORE_CHUNK):
            self.remove(ids)
            report.deleted += len(ids)

    def remove(self, ids: Sequence[str]) -> int:
        """Delete documents from the engine, then from the ledger; returns how many the engine had."""
        self.catalog.check_locks()
        removed = self.engine.delete(ids)
        self.catalog.resolve(self.collection, document_ids=ids, stages=MINING)
        self.catalog.forget(self.collection, ids)
        return removed

    def mine(self, report: RunReport, request: TopicRequest | None = None, *, refit: bool = False) -> None:
        """Prepare and encode all documents that are stored and not mined.

        Args:
            request, refit: How topics are found by the `finish` that follows. Documents then get their topics at once,
                except the sample that topics are fitted to, if there are none; it is mined first. None: no document
                gets topics.
        """
        sample, others = self.mining_order()
        pending = len(sample) + len(others)
        if not pending:
            return
        first, done = set(sample), 0
        self._progress("mine", 0, pending)
        with closing(self._encoded_chunks(report, (sample, others), pending)) as chunks:
            for chunk in chunks:
                if request and chunk.documents[0].id not in first:
                    self.begin(report, request, refit=refit)
                    request = None
                self._write_chunk(chunk, report)
                done += len(chunk.documents)
                self._progress("mine", done, pending)

    def mining_order(self) -> tuple[list[str], list[str]]:
        """Ids of the stored documents: of the sample that topics are fitted to, if there are none, and of the others."""
        pending = list(self.catalog.ids(self.collection, state="stored"))
        if self.catalog.live_fit(self.collection):
            return [], pending
        sample = set(sample_ids(self.catalog, self.collection))
        return [id_ for id_ in pending if id_ in sample], [id_ for id_ in pending if id_ not in sample]

    def begin(self, report: RunReport, request: TopicRequest, *, refit: bool) -> str:
        """Prepare to write further documents with their topics; fits topics to the mined sample, if there are none.

        Returns:
            The run of the fit that assigns them; empty where `finish` must.
        """
        self.engine.catch_up()
        self._finisher = self._new_finisher(report)
        self._assigner = self._finisher.begin(report.timed, request, refit=refit)
        return self._assigner.named.run if self._assigner else ""

    def _encoded_chunks(
        self, report: RunReport, ids: Sequence[Sequence[str]], pending: int
    ) -> Generator[EncodedChunk]:
        """Yield the stored documents as vectors, while processes tag the next chunks and a thread encodes one.

        The thread first loads the encoder (and measures a new machine) while the tagger starts. Only the caller's
        thread uses the engine and the catalog.
        """
        chunks = chain.from_iterable(self._stored(report, some) for some in ids)
        first = next(chunks, [])
        here = self._options.tagger_is_loaded and _is_small(first, pending)
        processes = 0 if here else self._options.taggers
        with (
            _abandoned(ThreadPoolExecutor(1)) as thread,
            PreparePool(processes, self._options.tagger, seconds=self._options.tagging_seconds) as pool,
        ):
            loading = thread.submit(self._options.encoder)
            thread.submit(load_libraries)
            prepared = pool.prepare_chunks(chain([first] if first else [], chunks))
            waiting: deque[Future[EncodedChunk]] = deque()
            for documents, outcomes, seconds in _timed(prepared, report, "wait for tagging"):
                report.spent("tagging", seconds)
                waiting.append(thread.submit(_encode, loading, documents, outcomes))
                if len(waiting) > 1:
                    yield _result(waiting.popleft(), report)
            while waiting:
                yield _result(waiting.popleft(), report)

    def _stored(self, report: RunReport, ids: Sequence[str]) -> Iterator[list[Document]]:
        """Documents to mine, from the engine, in chunks."""
        for some in batches(ids, CHUNK):
            with report.timed("load"):
                found, gone = load(self.engine, some)
            if gone:
                self.catalog.forget(self.collection, gone)
            if found:
                yield found

    def _write_chunk(self, chunk: EncodedChunk, report: RunReport) -> None:
        self.catalog.check_locks()
        metrics.through("prepare", len(chunk.documents) - len(chunk.not_prepared), len(chunk.not_prepared))
        report.bundle = chunk.bundle
        report.spent("encode", chunk.seconds)
        self._dead_letter(report, "prepare", chunk.not_prepared)
        self._dead_letter(report, "encode", chunk.not_encoded)
        number = self._options.keyphrases
        with report.timed("decide"):
            rows = [mined(d, e, chunk.bundle, report.run, number, chunk.ranker) for d, e in chunk.encoded]
        if assigner := self._assigner:
            with report.timed("assign"):
                documents = {document.id: document for document in chunk.documents}
                rows = [assigner.final(row, documents[row.id], self.engine) for row in rows]
        with report.timed("write"):
            written = write_chunk(self.engine, rows, chunk.documents)
            self._dead_letter(report, "write", written.refused)
            # What changed in the engine stays "stored", for the next run.
            self.catalog.forget(self.collection, written.missing)
            fit = assigner.named.run if assigner else ""
            self.catalog.mark(
                self.collection, written.hashes, state="mined", bundle=chunk.bundle, topic_fit=fit
            )
            self.catalog.resolve(self.collection, document_ids=written.hashes, stages=MINING)
        report.mined += len(written.hashes)

    def finish(self, report: RunReport, request: TopicRequest | None = None, *, refit: bool = False) -> None:
        """Make keyphrases, topics, phrase rows and labels final."""
        self.engine.catch_up()
        finisher = self._finisher or self._new_finisher(report)
        self._finisher = self._assigner = None
        report.new_fit = finisher.finish(report.timed, request or TopicRequest(), refit=refit)
        report.without_topic = finisher.without_topic
        report.duplicates = finisher.duplicates
        report.taken_over = max(0, finisher.finished - report.mined)
        report.topics = len(leaves(self.engine.topics()))
        documents = self.engine.info().documents
        if report.mined and finisher.fitted_to and documents >= DOUBLED * finisher.fitted_to:
            report.doubled_from = finisher.fitted_to
        self._compact(report)

    def _new_finisher(self, report: RunReport) -> Finisher:
        return Finisher(self.engine, self.catalog, self.collection, report.run, self._options, self._progress)

    def _compact(self, report: RunReport) -> None:
        """Free space where much is deleted or lost; not while workers write, whose rows may look lost."""
        others = [run for run in self.catalog.open_runs(self.collection) if run.id != report.run]
        if not others and self.engine.wasteful():
            self._progress("compact", 0, None)
            self.catalog.check_locks()
            with report.timed("compact"):
                self.engine.compact()

    def _dead_letter(self, report: RunReport, stage: Stage, problems: Sequence[InputError]) -> None:
        """Put failures into the dead letters and the report."""
        if not problems:
            return
        self.catalog.dead_letter(self.collection, failures_of(stage, problems))
        report.failed += len(problems)
        report.problems += [shown(p) for p in problems[: max(0, MAX_PROBLEMS - len(report.problems))]]


@contextmanager
def _abandoned(executor: ThreadPoolExecutor) -> Iterator[ThreadPoolExecutor]:
    """Wait for the executor at the end; after an error, and Ctrl-C, only what it has not begun is cancelled."""
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def _is_small(chunk: Sequence[Document], pending: int) -> bool:
    """Whether all pending documents are tagged sooner than a process is started for it."""
    return pending == len(chunk) and sum(len(document.content) for document in chunk) <= FEW_CHARACTERS


def _are_unlike(text: str, other: str) -> bool:
    """Whether two texts share fewer than half of their words."""
    one, two = set(text.split()), set(other.split())
    return 2 * len(one & two) < len(one | two)


def failures_of(stage: Stage, problems: Iterable[InputError]) -> list[Failure]:
    """Problems of a stage as entries for the dead letters."""
    return [
        Failure(
            source=source_of(problem),
            stage=stage,
            reason=str(problem),
            document_id=str(problem.facts.get("document_id") or ""),
        )
        for problem in problems
    ]


def _encode(
    loading: Future[Encoder], documents: Sequence[Document], outcomes: Sequence[Prepared | InputError]
) -> EncodedChunk:
    return encode_chunk(loading.result(), documents, outcomes)


def _result(encoding: Future[EncodedChunk], report: RunReport) -> EncodedChunk:
    with report.timed("wait for encoding"):
        return encoding.result()


def _timed(items: Iterable[T], report: RunReport, stage: str) -> Iterator[T]:
    iterator = iter(items)
    while True:
        with report.timed(stage):
            item = next(iterator, None)
        if item is None:
            return
        yield item
