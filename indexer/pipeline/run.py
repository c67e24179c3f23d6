"""Read ► prepare ► encode ► decide ► write, on one machine; every step may be done twice.

    take in   read the sources; store what is new or changed (searchable by words at once); the ledger says "stored"
    mine      what is "stored": sentences and candidates ► vectors ► mention rows; the ledger says "mined"
    finish    what is "mined": topics are fitted if there are none; keyphrases and topics become final with what the
              whole collection knows; phrase rows and topic labels follow; the ledger says "done"

A run that was killed leaves documents in the state they had reached. The next run goes on from there, in the same
chunks (64 ids in ascending order), so that it ends where an undisturbed run would have ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

from indexer.catalog import Catalog
from indexer.catalog.database import now
from indexer.catalog.entries import MINING, TAKING_IN, Failure, LedgerEntry, Stage
from indexer.common import batches
from indexer.engines.base import Engine
from indexer.errors import InputError
from indexer.keyphrases.ranker import Ranker
from indexer.pipeline import metrics
from indexer.pipeline.finalize import Finisher
from indexer.pipeline.steps import (
    CHUNK,
    EncodedChunk,
    encode_chunk,
    load,
    mined,
    refusals,
    shown,
    source_of,
    write_chunk,
)
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers.source import place_of
from indexer.records import Document, Prepared
from indexer.text.pool import PreparePool
from indexer.topics.fits import OUTDATED
from indexer.topics.models.clusters import load_libraries
from indexer.topics.models.registry import TopicRequest

STORE_CHUNK = 256  # documents stored in one transaction
NEARLY_ALL = 0.9  # of the texts that there were: when so many have become others, so do the topics

FEW_CHARACTERS = 100_000  # tagged in a second or two
MANY, MANY_SHARE = 10, 0.2  # documents of a run that no topic reaches; a fit leaves 2 % so

T = TypeVar("T")
Wants = Callable[[Document, LedgerEntry | None], bool]
Told = Callable[[Document, LedgerEntry], None]


def everything(document: Document, known: LedgerEntry | None) -> bool:
    """Takes what is read, as an ordinary run does."""
    return True


def nobody(document: Document, known: LedgerEntry) -> None:
    """Is told of changed documents, as long as nobody wants to know."""


@dataclass
class RunReport:
    """What a run did. Seconds by stage; `tagging` ran beside the others in a process, `encode` in a thread."""

    run: str = ""
    bundle: str = ""  # what made the vectors; empty when nothing was encoded
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
    without_topic: int = 0  # of the documents that were given topics: those that none reaches
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
        """Whether so many documents are beyond the topics there are that these should be found anew."""
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


MAX_PROBLEMS = 20  # shown at the end of a run; the dead letters have all


class Pipeline:
    """One run over one collection."""

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        encoder: Callable[[], Encoder],
        *,
        tagger: str = "auto",
        workers: int = 1,
        keyphrases: int = 10,
        ranker: Callable[[], Ranker | None] = lambda: None,
        absent: int = 0,
        tagger_is_here: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        self.engine = engine
        self.catalog = catalog
        self.collection = collection
        self._encoder = encoder  # loaded only when something has to be encoded
        self._tagger = tagger
        self._workers = workers
        self._keyphrases = keyphrases
        self._ranker = ranker
        self._absent = absent
        self._progress = progress
        self._tagger_is_here = tagger_is_here  # loaded in this process, so that few documents need no other
        self._unclear: set[str] = set()  # files that hold something unreadable whose id is not known

    def take_in(
        self,
        items: Iterable[Document | InputError],
        report: RunReport,
        total: int | None,
        wants: Wants = everything,
        changed: Told = nobody,
    ) -> int:
        """Store the documents that are new or changed; bury what could not be read.

        Args:
            wants: Says of each document, and of what the ledger has under its id, whether it is to be taken.
            changed: Told of each document that takes the place of another content, and of what the ledger had of that.

        Returns:
            How many documents were not.
        """
        before, others = sum(self.catalog.count(self.collection).values()), 0
        start, left = now(), 0
        for chunk in batches(_timed(items, report, "read"), STORE_CHUNK):
            documents = [item for item in chunk if isinstance(item, Document)]
            problems = [item for item in chunk if isinstance(item, InputError)]
            report.notes += [shown(p) for p in problems if "left_out" in p.facts]
            self.catalog.check_locks()
            self._dead_letter(report, "read", [p for p in problems if "left_out" not in p.facts])
            self._keep_unreadable(problems, report)
            known = self.catalog.ledger(self.collection, [d.id for d in documents])
            given = len(documents)
            documents = [d for d in documents if wants(d, known.get(d.id))]
            left += given - len(documents)
            fresh = [d for d in documents if d.id not in known or known[d.id].content_hash != d.content_hash]
            # What failed in mining was the old text's. What could not be read was the new one: that is over when it
            # is stored, and not before, or a killed run would forget it.
            ids = [d.id for d in fresh]
            self.catalog.resolve(self.collection, document_ids=ids, stages=MINING)
            with report.timed("store"):
                others += self._with_another_text([d for d in fresh if d.id in known])
                refused = {r.id: r for r in self.engine.store(fresh)} if fresh else {}
                self.catalog.record(self.collection, self._entries(fresh, refused, report.run))
            self._dead_letter(report, "store", refusals(fresh, list(refused.values())))
            self.catalog.resolve(self.collection, document_ids=ids, stages=TAKING_IN, before=start)
            metrics.through("read", len(documents), sum("left_out" not in p.facts for p in problems))
            metrics.through("store", len(fresh) - len(refused), len(refused))
            same = [d for d in documents if d.id in known and known[d.id].content_hash == d.content_hash]
            moved = [d for d in same if known[d.id].source != d.source]
            self.catalog.touch(self.collection, [d.id for d in same], report.run)
            self.catalog.record(
                self.collection,
                [replace(known[d.id], source=d.source, run=report.run) for d in moved],
            )
            replacing = [d for d in fresh if d.id in known and d.id not in refused]
            for document in replacing:
                changed(document, known[document.id])
            report.read += len(documents)
            report.unchanged += len(same)
            report.changed += len(replacing)
            report.new += sum(d.id not in known for d in fresh if d.id not in refused)
            self._progress("read", report.read, total)
        if others and others >= NEARLY_ALL * before:
            self._outdate_topics(report)
        return left

    def _keep_unreadable(self, problems: Sequence[InputError], report: RunReport) -> None:
        """A document that cannot be read is there. Where its id is not known, it may be any of its file."""
        ids = [p.facts.get("document_id") for p in problems]
        self.catalog.touch(self.collection, [id_ for id_ in ids if id_], report.run)
        self._unclear |= {place_of(source_of(p))[0] for p, id_ in zip(problems, ids, strict=True) if not id_}

    def _with_another_text(self, documents: Sequence[Document]) -> int:
        """How many of these changed have hardly a word of what is stored; the rest were edited, or got other fields."""
        stored = {s.document.id: s.document.content for s in self.engine.documents([d.id for d in documents])}
        return sum(_are_unlike(document.content, stored.get(document.id, "")) for document in documents)

    def _outdate_topics(self, report: RunReport) -> None:
        """Have the topics found anew: those that there are were found in texts that are gone."""
        if fit := self.catalog.live_fit(self.collection):
            self.catalog.add_to_fit(self.collection, fit.run, {OUTDATED: True})
            report.notes.append("Nearly all texts have become others, so topics are found anew.")

    def _entries(
        self, documents: Sequence[Document], refused: Iterable[str], run: str
    ) -> Iterator[LedgerEntry]:
        for document in documents:
            if document.id not in refused:
                yield LedgerEntry(
                    document.id, document.content_hash, state="stored", run=run, source=document.source
                )

    def remove_missing(self, sources: Sequence[str], report: RunReport) -> None:
        """Take out the documents under these sources that this run did not see.

        Those of a file that could not be read whole stay: they may stand in the part that is unreadable.
        """
        unclear = sorted(self._unclear)
        for ids in batches(
            list(self.catalog.unseen(self.collection, sources, report.run, but=unclear)), STORE_CHUNK
        ):
            self.remove(ids)
            report.deleted += len(ids)

    def remove(self, ids: Sequence[str]) -> int:
        """Take documents out of the engine, then out of the ledger. Returns how many there were."""
        self.catalog.check_locks()
        removed = self.engine.delete(ids)
        self.catalog.resolve(self.collection, document_ids=ids, stages=MINING)
        self.catalog.forget(self.collection, ids)
        return removed

    def mine(self, report: RunReport) -> None:
        """Prepare and encode all documents that are stored and not mined."""
        pending = sum(1 for _ in self.catalog.ids(self.collection, state="stored"))
        if not pending:
            return
        done = 0
        self._progress("mine", 0, pending)
        # Beside this thread, one encodes: first it loads the encoder (and measures the machine when it is new) while
        # the tagger starts, then it encodes a chunk while this thread writes the one before. Only this thread touches
        # the engine and the catalog.
        chunks = self._stored(report)
        first = next(chunks, [])
        workers = 0 if self._tagger_is_here and _is_small(first, pending) else self._workers
        with ThreadPoolExecutor(1) as beside, PreparePool(workers, self._tagger) as pool:
            loading = beside.submit(self._encoder)
            beside.submit(load_libraries)
            all_chunks = chain([first] if first else [], chunks)
            prepared = _timed(pool.prepare_chunks(all_chunks), report, "wait for tagging")
            waiting: deque[Future[EncodedChunk]] = deque()

            def write_next() -> None:
                nonlocal done
                with report.timed("wait for encoding"):
                    chunk = waiting.popleft().result()
                self._write_chunk(chunk, report)
                done += len(chunk.documents)
                self._progress("mine", done, pending)

            for documents, outcomes, seconds in prepared:
                report.spent("tagging", seconds)
                waiting.append(beside.submit(_encode, loading, documents, outcomes))
                if len(waiting) > 1:
                    write_next()
            while waiting:
                write_next()

    def _stored(self, report: RunReport) -> Iterator[list[Document]]:
        """Documents to mine, from the engine, in chunks of ascending ids."""
        ids = list(self.catalog.ids(self.collection, state="stored"))
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
        with report.timed("decide"):
            rows = [
                mined(d, e, chunk.bundle, report.run, self._keyphrases, chunk.ranker)
                for d, e in chunk.encoded
            ]
        with report.timed("write"):
            written = write_chunk(self.engine, rows, chunk.documents)
            self._dead_letter(report, "write", written.refused)
            self.catalog.forget(
                self.collection, written.missing
            )  # what changed stays "stored": the next run's
            self.catalog.mark(self.collection, written.hashes, state="mined", bundle=chunk.bundle)
            self.catalog.resolve(self.collection, document_ids=written.hashes, stages=MINING)
        report.mined += len(written.hashes)

    def finish(self, report: RunReport, topics: str | int | None = None, *, refit: bool = False) -> None:
        """Make keyphrases, topics, phrase rows and labels final.

        Args:
            topics: See `TopicRequest.read`.
        """
        self.engine.catch_up()
        finisher = Finisher(
            self.engine,
            self.catalog,
            self.collection,
            report.run,
            self._keyphrases,
            self._progress,
            ranker=self._ranker(),
            absent=self._absent,
        )
        report.new_fit = finisher.finish(report.timed, TopicRequest.read(topics), refit=refit)
        report.without_topic = finisher.without_topic
        report.taken_over = max(0, finisher.finished - report.mined)
        report.topics = len(self.engine.topics())
        self._give_space_back(report)

    def _give_space_back(self, report: RunReport) -> None:
        """Where much is dead or lost; not while workers write, whose rows may look lost."""
        others = [run for run in self.catalog.open_runs(self.collection) if run.id != report.run]
        if not others and self.engine.wasteful():
            self._progress("compact", 0, None)
            self.catalog.check_locks()
            with report.timed("compact"):
                self.engine.compact()

    def _dead_letter(self, report: RunReport, stage: Stage, problems: Sequence[InputError]) -> None:
        """Put what failed into the dead letters and the report."""
        if not problems:
            return
        self.catalog.dead_letter(self.collection, failures_of(stage, problems))
        report.failed += len(problems)
        report.problems += [shown(p) for p in problems[: max(0, MAX_PROBLEMS - len(report.problems))]]


def _is_small(chunk: Sequence[Document], pending: int) -> bool:
    """Whether all that is to be mined is tagged sooner than a process is started for it."""
    return pending == len(chunk) and sum(len(document.content) for document in chunk) <= FEW_CHARACTERS


def _are_unlike(text: str, other: str) -> bool:
    """Whether two texts share fewer than half of their words."""
    one, two = set(text.split()), set(other.split())
    return 2 * len(one & two) < len(one | two)


def failures_of(stage: Stage, problems: Iterable[InputError]) -> list[Failure]:
    """What failed at a stage, to be buried."""
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


def _timed(items: Iterable[T], report: RunReport, stage: str) -> Iterator[T]:
    iterator = iter(items)
    while True:
        with report.timed(stage):
            item = next(iterator, None)
        if item is None:
            return
        yield item
