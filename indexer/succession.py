"""The next generation of a collection: built beside the live one with another encoder, until it takes over.

    begin        make it, or go on with the one that a killed run left
    keep_up      store what the collection has and it has not; remove what is gone
    mine         vectors, with the new encoder
    found        topics, which continue the live ones
    take_over    under the collection's lock: what came last, the switch, the catalog

Meanwhile the live generation is searched and written as always. Its ledger stands under the collection's name, that of
the next one under ``NAME@NUMBER``. A process may die at any place: before the switch the live generation is what it was,
and the next call goes on; after it, `complete` does what was left for the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from indexer.analysis.finders import Asked
from indexer.analysis.ranker import Ranker
from indexer.batches import batches
from indexer.catalog.entries import LedgerEntry
from indexer.catalog.repository import Catalog
from indexer.encoding import Encoder, Floats
from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.finish import Finisher, NamedFit, saved_fit
from indexer.pipeline import Pipeline, RunReport
from indexer.progress import Progress, no_progress
from indexer.records import Topic
from indexer.windows import unit

CHUNK = 256  # documents copied at once
SAMPLE = 3_000  # documents by which the live topics are carried over into the new space


@dataclass(frozen=True)
class Recipe:
    """How the next generation is mined.

    Attributes:
        bundle: Its name; the vectors of one generation all come from one.
    """

    bundle: str
    encoder: Callable[[], Encoder]
    tagger: str
    taggers: int  # processes
    keyphrases: int
    ranker: Callable[[], Ranker | None] = lambda: None
    absent: int = 0


class Succession:
    """Builds one generation, and lets it take over."""

    def __init__(
        self,
        generations: Generations,
        catalog: Catalog,
        collection: str,
        run: str,
        recipe: Recipe,
        progress: Progress = no_progress,
    ) -> None:
        self._generations = generations
        self._catalog = catalog
        self._collection = collection
        self._run = run
        self._recipe = recipe
        self._progress = progress
        self._live = generations.open(_live(generations))
        self.number, self._next = _begun(generations, catalog, collection, recipe, self._live.dims)
        self._patience = ExitStack()
        for engine in (self._live, self._next):
            self._patience.enter_context(engine.patient())

    def close(self) -> None:
        """Give back both engines."""
        self._patience.close()
        self._live.close()
        self._next.close()

    @property
    def ledger(self) -> str:
        return ledger_of(self._collection, self.number)

    def build(self, topics: Asked) -> NamedFit | None:
        """Do everything that may take long. Returns the fit; None when there is nothing to fit.

        Args:
            topics: How they are found, and how many.
        """
        self.keep_up()
        self.mine()
        return self._finisher().found(self._ancestors(), topics)

    def keep_up(self) -> int:
        """Bring the texts of the next generation to where the collection is. Returns how many were written or removed."""
        changed = 0
        for ids, gone in _differences(self._catalog, self._collection, self.ledger):
            self._copy(ids)
            if gone:
                self._next.delete(gone)
                self._catalog.forget(self.ledger, gone)
            changed += len(ids) + len(gone)
        return changed

    def _copy(self, ids: Sequence[str]) -> None:
        known = self._catalog.ledger(self._collection, ids)
        found = [stored.document for stored in self._live.documents(ids)]
        refused = {row.id for row in self._next.store(found)}
        self._catalog.record(
            self.ledger,
            [
                LedgerEntry(d.id, d.content_hash, "stored", run=known[d.id].run, source=known[d.id].source)
                for d in found
                if d.id in known and d.id not in refused
            ],
        )

    def mine(self) -> None:
        """Make the vectors of what has none."""
        self._pipeline().mine(RunReport(run=self._run))

    def take_over(self, named: NamedFit, catch_up: bool = True) -> None:
        """Make this generation the live one. The caller holds the lock of the collection."""
        if catch_up:
            self.keep_up()
            self.mine()
        self._finisher().follow(named)
        self._names_by_hand()
        self._generations.switch(self.number)
        complete(self._generations, self._catalog, self._collection)

    def _names_by_hand(self) -> None:
        """A topic may have been renamed meanwhile."""
        given = {t.id: t.label for t in self._catalog.topics(self._collection) if t.named_by_hand}
        topics = self._next.topics()
        renamed = [
            replace(topic, label=given[topic.id], named_by_hand=True) if topic.id in given else topic
            for topic in topics
        ]
        if renamed != topics:
            self._next.write_topics(renamed)

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
        return Pipeline(
            self._next,
            self._catalog,
            self.ledger,
            self._recipe.encoder,
            tagger=self._recipe.tagger,
            workers=self._recipe.taggers,
            keyphrases=self._recipe.keyphrases,
            ranker=self._recipe.ranker,
            absent=self._recipe.absent,
            progress=self._progress,
        )

    def _finisher(self) -> Finisher:
        return Finisher(
            self._next,
            self._catalog,
            self._collection,
            self._run,
            self._recipe.keyphrases,
            self._progress,
            ledger=self.ledger,
            ranker=self._recipe.ranker(),
            absent=self._recipe.absent,
        )


def ledger_of(collection: str, number: int) -> str:
    """The name under which the documents of a generation stand that is not live."""
    return f"{collection}@{number}"


def complete(generations: Generations, catalog: Catalog, collection: str) -> bool:
    """Tell the catalog of a generation that has taken over; nothing to do where it knows. Holds the collection's lock.

    Returns:
        Whether there was something to do.
    """
    number = _live(generations)
    ledger = ledger_of(collection, number)
    fit = next((e.topic_fit for e in _entries(catalog, ledger) if e.state == "done"), "")
    if not fit:
        return False
    engine = generations.open(number)
    try:
        named = saved_fit(catalog, collection, fit)
        finisher = Finisher(engine, catalog, collection, fit, 0, no_progress)
        finisher.install(named, engine.topics())
    finally:
        engine.close()
    catalog.adopt(collection, ledger)
    return True


def _entries(catalog: Catalog, ledger: str) -> Iterator[LedgerEntry]:
    for some in batches(catalog.ids(ledger), CHUNK):
        yield from catalog.ledger(ledger, some).values()


def _live(generations: Generations) -> int:
    return next(one.number for one in generations.all() if one.state == "live")


def _begun(
    generations: Generations, catalog: Catalog, collection: str, recipe: Recipe, dims: int
) -> tuple[int, Engine]:
    """The unfinished generation of this bundle, or a new one; one that was begun with another bundle is removed."""
    for one in generations.all():
        if one.state == "unfinished":
            if one.bundle == recipe.bundle and one.dims:
                return one.number, generations.open(one.number)
            generations.remove(one.number)
            catalog.drop_ledger(ledger_of(collection, one.number))
    engine = generations.make(dims, bundle=recipe.bundle)
    return max(one.number for one in generations.all()), engine


def _differences(catalog: Catalog, collection: str, ledger: str) -> Iterator[tuple[list[str], list[str]]]:
    """What the next generation lacks or has in another version, and what it has too much, a chunk of each at a time.

    Both ledgers ascend by id, so they are read side by side.
    """
    fresh: list[str] = []
    gone: list[str] = []
    theirs = catalog.contents(ledger)
    other = next(theirs, None)
    for id_, content in catalog.contents(collection):
        while other is not None and other[0] < id_:
            gone.append(other[0])
            other = next(theirs, None)
        if other is not None and other[0] == id_:
            if other[1] != content:
                fresh.append(id_)
            other = next(theirs, None)
        else:
            fresh.append(id_)
        if len(fresh) >= CHUNK or len(gone) >= CHUNK:
            yield fresh, gone
            fresh, gone = [], []
    gone += [id_ for id_, _ in ([other] if other else [])]
    gone += [id_ for id_, _ in theirs]
    yield fresh, gone
