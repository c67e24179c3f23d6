"""The next generation of a collection: built with another encoder, next to the live one, and then made live.

    begin        make it, or resume the one that a killed run left
    keep_up      store the documents that it lacks; remove those that are gone
    mine         vectors, with the new encoder
    found        topics, which continue the live ones
    take_over    under the collection's lock: the last changes, the switch, the catalog

The live generation is searched and written as always. A process may die at any point: before the switch the live
generation is unchanged, and the next call resumes; after it, `complete` updates the catalog. The way back is in
`indexer.runs.rollback`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import numpy as np

from indexer.catalog import Catalog
from indexer.catalog.entries import GenerationEntry, LedgerEntry, LineageEntry
from indexer.catalog.generations import ledger_of
from indexer.catalog.locks import Lock, retraining
from indexer.common import Floats, batches, unit
from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.engines.registry import open_generations
from indexer.errors import CatalogError
from indexer.pipeline.finalize import Finisher, topic_entries
from indexer.pipeline.run import Pipeline, RunReport
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Progress, no_progress
from indexer.records import Topic
from indexer.settings import Settings
from indexer.topics.fits import NamedFit, live_fit, saved_fit
from indexer.topics.levels import Levels
from indexer.topics.lineage import relatives
from indexer.topics.models.registry import TopicRequest
from indexer.topics.naming import without_withdrawn

CHUNK = 256  # documents copied at once
SAMPLE = 3_000  # documents by which the live topics are carried over into the new space


@contextmanager
def building(catalog: Catalog, collection: str, owner: str) -> Iterator[Lock]:
    """Hold the lock for building the next generation, or removing an unfinished one.

    Raises:
        CatalogError: Another process or workers hold it.
    """
    with catalog.lock(retraining(collection), owner) as lock:
        if retrains := catalog.open_runs(collection, retrains=True):
            raise CatalogError(
                f"Workers are at a retrain of '{collection}' since {retrains[0].started_at:%Y-%m-%d %H:%M} UTC.",
                hint="indexer history tells how far they are. Where no worker is left: indexer retrain --give-up",
            )
        yield lock


class NextGeneration:
    """Builds one generation, and makes it live."""

    def __init__(
        self,
        generations: Generations,
        catalog: Catalog,
        collection: str,
        run: str,
        options: MiningOptions,
        progress: Progress = no_progress,
    ) -> None:
        self._generations = generations
        self._catalog = catalog
        self._collection = collection
        self._run = run
        self._options = options
        self._progress = progress
        self._continued = ""  # the live fit whose topics those of this generation continue
        self._live = generations.open(generations.live())
        self.number, self._next = _begun(generations, catalog, collection, options)
        self._patience = ExitStack()
        for engine in (self._live, self._next):
            self._patience.enter_context(engine.retrying())

    def close(self) -> None:
        """Close both engines."""
        self._patience.close()
        self._live.close()
        self._next.close()

    @property
    def ledger(self) -> str:
        return ledger_of(self._collection, self.number)

    def build(self, topics: TopicRequest) -> NamedFit | None:
        """Do everything that may take long. Returns the fit; None when there is nothing to fit.

        Args:
            topics: How they are found, and how many.
        """
        self.keep_up()
        self.mine()
        return self._found(topics)

    def keep_up(self) -> None:
        """Bring the texts of the next generation to where the collection is."""
        bring_up(self._live, self._next, self._catalog, self._collection, self.number, self._progress)

    def mine(self) -> None:
        """Make the vectors of what has none."""
        self._pipeline().mine(RunReport(run=self._run))

    def take_over(self, named: NamedFit) -> NamedFit:
        """Make this generation the live one. The caller holds the lock of the collection.

        Returns:
            Its fit: a new one when users merged the live topics, or a run fitted them again, since `build`.
        """
        self.keep_up()
        self.mine()
        live = live_fit(self._catalog, self._collection)
        if live and live.run != self._continued:
            named = self._found(as_in(live)) or named
        self._finisher().follow(named)
        carry_over_labels(self._catalog, self._collection, self._next)
        leaving = self._generations.live()
        self._catalog.check_locks()
        self._catalog.plan_switch(self._collection, leaving, self.number, fit=named.run, run=named.run)
        self._generations.switch(self.number)
        complete(self._generations, self._catalog, self._collection)
        return named

    def _found(self, topics: TopicRequest) -> NamedFit | None:
        live = live_fit(self._catalog, self._collection)
        self._continued = live.run if live else ""
        return self._finisher().found(self._ancestors(), topics)

    def _ancestors(self) -> list[Topic]:
        """The live topics, with centroids in the space of the next generation: the means of the same phrases there."""
        sums: dict[str, Floats] = {}
        ids = [id_ for id_, _ in zip(self._catalog.ids(self.ledger), range(SAMPLE), strict=False)]
        for some in batches(ids, CHUNK):
            topic = {(row.document_id, row.phrase_id): row.topic for row in self._live.mentions(some)}
            for row in self._next.mentions(some):
                if id_ := topic.get((row.document_id, row.phrase_id)):
                    sums[id_] = sums.get(id_, np.zeros_like(row.vector)) + row.vector
        # A topic without a phrase in the sample is compared by its phrases alone.
        nowhere = np.zeros(self._next.dims, np.float32)
        return [replace(t, centroid=unit(sums.get(t.id, nowhere))) for t in self._live.topics()]

    def _pipeline(self) -> Pipeline:
        return Pipeline(self._next, self._catalog, self.ledger, self._options, self._progress)

    def _finisher(self) -> Finisher:
        return Finisher(
            self._next, self._catalog, self._collection, self._run, self._options, self._progress,
            ledger=self.ledger,
        )  # fmt: skip


def as_in(live: NamedFit | None) -> TopicRequest:
    """A request for topics as they are now: the same model, number and levels."""
    if live is None:
        return TopicRequest()
    mined = set(live.ids) - {term.topic for term in live.terms}
    number = live.requested or (None if live.terms else len(mined))
    return TopicRequest(live.model, number, Levels.read(live.levels))


def bring_up(
    live: Engine, other: Engine, catalog: Catalog, collection: str, number: int, progress: Progress
) -> tuple[int, int]:
    """Bring the texts of another generation to where the collection is, with their near duplicates.

    Returns:
        How many documents were written, and how many removed.
    """
    ledger = ledger_of(collection, number)
    written = removed = 0
    for ids, gone in _differences(catalog, collection, ledger):
        known = catalog.ledger(collection, ids)
        found = [stored.document for stored in live.documents(ids)]
        catalog.check_locks()
        refused = {row.id for row in other.store(found)}
        copied = [
            LedgerEntry(d.id, d.content_hash, "stored", run=known[d.id].run, source=known[d.id].source)
            for d in found
            if d.id in known and d.id not in refused
        ]
        written += catalog.record(ledger, copied)
        if gone:
            removed += other.delete(gone)
            catalog.forget(ledger, gone)
        progress("copy", written, None)
    _copy_duplicates(live, other)
    return written, removed


def _copy_duplicates(live: Engine, other: Engine) -> None:
    wanted, there = live.duplicates(), other.duplicates()
    other.write_duplicates(
        {id_: wanted.get(id_) for id_ in wanted.keys() | there.keys() if wanted.get(id_) != there.get(id_)}
    )


def carry_over_labels(catalog: Catalog, collection: str, engine: Engine) -> None:
    """Give the topics of another generation the names that users gave since it was live, or restored."""
    given = {t.id: t.label for t in catalog.topics(collection, state=None) if t.label_locked}
    topics = engine.topics()
    renamed = [
        replace(topic, label=given[topic.id], label_locked=True) if topic.id in given else topic
        for topic in topics
    ]
    renamed = without_withdrawn(renamed, catalog.namings(collection))
    if [(t.id, t.label) for t in renamed] != [(t.id, t.label) for t in topics]:
        engine.write_topics(renamed)


def complete(generations: Generations, catalog: Catalog, collection: str) -> bool:
    """Record a generation that became live in the catalog, if it is not recorded yet. Holds the collection's lock.

    Returns:
        Whether there was something to do.
    """
    known = catalog.generations(collection)
    number = generations.live()
    if not known or (number in known and known[number].live):
        return False
    if number not in known:  # all others were deleted, and a new one was made
        catalog.forget_generations(collection)
        return True
    entry = known[number]
    with closing(generations.open(number)) as engine:
        topics = topic_entries(catalog, collection, engine.topics(), entry.run)
    lineage = _lineage(catalog, collection, entry, {topic.id for topic in topics})
    catalog.switch_generation(collection, number, topics=topics, lineage=lineage)
    return True


def complete_switch(settings: Settings, catalog: Catalog) -> None:
    """The same, before a process writes."""
    with closing(open_generations(settings)) as generations:
        complete(generations, catalog, settings.collection)


def remove_generation(generations: Generations, catalog: Catalog, collection: str, number: int) -> None:
    """Delete a generation that is not live. Holds the collection's lock.

    Raises:
        SearchError: It is the live one.
        NotFound: There is none.
    """
    if number != generations.live():
        catalog.forget_generation(collection, number)  # first: its number may be given out again
    generations.remove(number)


def discard(generations: Generations, catalog: Catalog, collection: str, number: int, owner: str) -> None:
    """Delete a generation that is kept, or was left unfinished and is not being built.

    Raises:
        CatalogError: Another process builds it, or writes to the collection.
        SearchError: It is the live one.
        NotFound: There is none.
    """
    with ExitStack() as held:
        if number in [one.number for one in generations.all() if one.state == "unfinished"]:
            held.enter_context(building(catalog, collection, owner))
        held.enter_context(catalog.lock(collection, owner))
        complete(generations, catalog, collection)
        remove_generation(generations, catalog, collection, number)


def _lineage(
    catalog: Catalog, collection: str, entry: GenerationEntry, topics: set[str]
) -> Iterable[LineageEntry]:
    """What becomes of the topics: what was found when the fit was made; for a fit that was live before, the way back."""
    if entry.run == entry.fit:
        return saved_fit(catalog, collection, entry.fit).lineage
    leaving = {topic.id for topic in catalog.topics(collection)}
    return _way_back(catalog.all_lineage(collection), entry.run, leaving, topics)


def _way_back(
    recorded: Sequence[LineageEntry], run: str, leaving: Set[str], coming: Set[str]
) -> Iterator[LineageEntry]:
    """What becomes of topics when others come back, that they once came from or went into."""
    links = [(e.old_id, e.new_id, e.score) for e in recorded if e.old_id and e.new_id]
    yield from (LineageEntry(run, id_, id_, "kept", 1.0) for id_ in sorted(coming))
    for id_ in sorted(leaving - coming):
        successors = relatives(links, id_, coming)
        if not successors:
            yield LineageEntry(run, id_, None, "retired")
        for successor, score in sorted(successors.items()):
            yield LineageEntry(run, id_, successor, "split" if len(successors) > 1 else "merged", score)


def _begun(
    generations: Generations, catalog: Catalog, collection: str, options: MiningOptions
) -> tuple[int, Engine]:
    """The unfinished generation of this bundle, or a new one; one that was begun with another encoder is removed."""
    for one in generations.all():
        if one.state == "unfinished":
            used = catalog.bundles_used(ledger_of(collection, one.number))
            if one.bundle == options.bundle and one.dims and _only_of(options, used):
                return one.number, generations.open(one.number)
            remove_generation(generations, catalog, collection, one.number)
    engine = generations.make(options.dims, bundle=options.bundle)
    return max(one.number for one in generations.all()), engine


def _only_of(options: MiningOptions, used: Set[str]) -> bool:
    """Whether all vectors are of the options's encoder: a bundle may have been replaced by another of its name."""
    return not used or {_weights(bundle) for bundle in used} == {_weights(options.encoder().bundle)}


def _weights(bundle: str) -> str:
    """NAME@FINGERPRINT of what `Encoder.bundle` says: backends of one bundle give the same vectors."""
    return bundle.rpartition("+")[0]


def _differences(catalog: Catalog, collection: str, ledger: str) -> Iterator[tuple[list[str], list[str]]]:
    """What the next generation lacks or has in another version, and what it has too much, a chunk of each at a time.

    Both ledgers ascend by id, so they are read side by side.
    """
    fresh: list[str] = []
    gone: list[str] = []
    copies = catalog.contents(ledger)
    other = next(copies, None)
    for id_, content in catalog.contents(collection):
        while other is not None and other[0] < id_:
            gone.append(other[0])
            other = next(copies, None)
        if other is not None and other[0] == id_:
            if other[1] != content:
                fresh.append(id_)
            other = next(copies, None)
        else:
            fresh.append(id_)
        if len(fresh) >= CHUNK or len(gone) >= CHUNK:
            yield fresh, gone
            fresh, gone = [], []
    gone += [id_ for id_, _ in ([other] if other else [])]
    gone += [id_ for id_, _ in copies]
    yield fresh, gone
