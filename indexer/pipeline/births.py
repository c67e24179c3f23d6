"""Topics that are rising: subjects of documents that came since the topics were fitted, and that none of these has.

Looked for at the end of a run, and kept with the fit in the catalog until a user makes topics of them, or the next fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nsmallest

import numpy as np

from indexer.catalog import Catalog
from indexer.common import Floats, batches, shuffled, unit
from indexer.engines.base import Engine
from indexer.pipeline.duplicates import without_duplicates
from indexer.pipeline.phrase_rows import VECTORS_PER_PHRASE, phrase_count, phrase_row
from indexer.pipeline.topic_fit import CHUNK, SAMPLE_DOCUMENTS
from indexer.topics.births import SMALLEST, rising
from indexer.topics.fits import NamedFit, live_fit
from indexer.topics.labels import LabelMaker, label_of

NEWEST = 600  # documents that are looked at: among more, a subject of 60 is harder to see
GROWN = 1.1  # times as many new documents since the last look; fewer change little
KEPT_AS, SEEN = "rising", "rising_of"  # in what is said of a fit
NEW = "new"  # instead of the id of a topic


@dataclass(frozen=True)
class Rising:
    """A subject without a topic.

    Attributes:
        documents: Their ids.
        phrases: Leading phrases, best first.
    """

    documents: tuple[str, ...]
    phrases: tuple[str, ...]

    @property
    def label(self) -> str:
        return label_of(self.phrases)


def proposals(catalog: Catalog, collection: str) -> list[Rising]:
    """What was found last, since the topics were fitted."""
    fit = next((fit for fit in catalog.fits(collection) if fit.live), None)
    found = fit.info.get(KEPT_AS, ()) if fit else ()
    return [Rising(tuple(one["documents"]), tuple(one["phrases"])) for one in found]


def keep_up(engine: Engine, catalog: Catalog, collection: str) -> None:
    """Look for rising topics where enough documents came since the last look."""
    live = live_fit(catalog, collection)
    if live is None or live.strict:  # the terms of a strict vocabulary are all topics that there may be
        return
    fit = next(fit for fit in catalog.fits(collection) if fit.live)
    came = sum(n for run, n in catalog.count_by_run(collection).items() if run > since(live))
    if came >= SMALLEST and came > GROWN * fit.info.get(SEEN, 0):
        found = [asdict(one) for one in _find(engine, catalog, collection, live)]
        catalog.add_to_fit(collection, live.run, {KEPT_AS: found, SEEN: came})


def carry_over(
    catalog: Catalog, collection: str, source: str, target: str, born: Sequence[Rising] = ()
) -> None:
    """Keep what was found with one fit for another one that a user has made of it.

    Args:
        source, target: Runs of the fits.
        born: Are topics now.
    """
    info = next((fit.info for fit in catalog.fits(collection) if fit.run == source), {})
    if KEPT_AS in info:
        gone = {one.documents for one in born}
        left = [one for one in info[KEPT_AS] if tuple(one["documents"]) not in gone]
        catalog.add_to_fit(collection, target, {KEPT_AS: left, SEEN: info.get(SEEN, 0)})


def since(named: NamedFit) -> str:
    """The run that fitted the topics: documents of later runs are new to them."""
    return named.fitted or named.run


def _find(engine: Engine, catalog: Catalog, collection: str, live: NamedFit) -> Iterator[Rising]:
    born = {t.id for t in catalog.topics(collection) if t.born_run > since(live)}  # of an earlier proposal
    new = without_duplicates(engine, _newest(catalog, collection, since(live)))
    old = nsmallest(SAMPLE_DOCUMENTS, catalog.ids(collection, state="done", until=since(live)), key=shuffled)
    there, old_vectors = _vectors(engine, old, set())
    ids, vectors = _vectors(engine, new, born)
    if not there or not ids:
        return
    middle = old_vectors.mean(
        axis=0
    )  # not in the space of the fit, which lacks the directions of new subjects
    for rows in rising(unit(old_vectors - middle), unit(vectors - middle)):
        documents = tuple(ids[at] for at in rows)
        if phrases := leading_phrases(engine, live, documents):
            yield Rising(documents, phrases)


def _newest(catalog: Catalog, collection: str, run: str) -> list[str]:
    """The documents of the last runs."""
    sizes = sorted(((of, n) for of, n in catalog.count_by_run(collection).items() if of > run), reverse=True)
    runs: list[str] = []
    total = 0
    for of, number in sizes:
        if runs and total + number > NEWEST:
            break
        runs.append(of)
        total += number
    return nsmallest(NEWEST, catalog.ids(collection, state="done", runs=runs), key=shuffled)


def _vectors(engine: Engine, ids: Sequence[str], without: set[str]) -> tuple[list[str], Floats]:
    """Documents with their vectors, float32 [n, dims]; not those whose first topic is one of `without`."""
    found: dict[str, Floats] = {}
    for some in batches(ids, CHUNK):
        for stored in engine.documents(some, vectors=True):
            if stored.vector is not None and not (stored.topics and stored.topics[0].topic_id in without):
                found[stored.document.id] = stored.vector
    return list(found), np.stack(list(found.values())) if found else np.zeros((0, engine.dims), np.float32)


def leading_phrases(engine: Engine, live: NamedFit, documents: Sequence[str]) -> tuple[str, ...]:
    """The leading phrases of documents, as if they had a topic of their own."""
    own = set(documents)
    rows = [row for some in batches(documents, CHUNK) for row in engine.mentions(some)]
    topics = {topic.id: topic for topic in engine.topics() if topic.id in live.ids}
    centroid: Floats = unit(np.sum([row.vector for row in rows], axis=0))
    maker = LabelMaker(
        {NEW: centroid, **{id_: topic.centroid for id_, topic in topics.items()}},
        {NEW: len(own), **{id_: topic.size for id_, topic in topics.items()}},
    )
    phrases = sorted({row.phrase_id for row in rows})
    for some in batches(phrases, CHUNK):
        for mentions in engine.mentions_by_phrase(some, limit=VECTORS_PER_PHRASE):
            counted = [replace(m, topic=NEW) if m.document_id in own else m for m in mentions]
            maker.add(phrase_count(counted, phrase_row(counted)))
    return maker.leading({id_: topic.label for id_, topic in topics.items()})[NEW]
