"""Fit topics to a sample of the mined documents, and give each its id; one that continues an old topic keeps its id."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import nsmallest

import numpy as np

from indexer.catalog import Catalog
from indexer.catalog.entries import LineageEntry, topic_id
from indexer.common import Floats, batches, dotted_path, shuffled, unit
from indexer.engines.base import Engine
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.records import MentionRow, StoredDocument, Topic
from indexer.topics.fits import NamedFit, live_fit, pending_fit, save_fit
from indexer.topics.hierarchy import TopicTree, parents_of, placed
from indexer.topics.labels import LabelMaker, PhraseCount
from indexer.topics.levels import grouped
from indexer.topics.lineage import ContinuedTopics, TopicShape, trace, trace_parents
from indexer.topics.models.base import Sample, TopicFit
from indexer.topics.models.registry import DEFAULT, TopicModel, TopicRequest, topic_model

SAMPLE_DOCUMENTS = 3_000  # more change no topic and cost memory
SAMPLE_PHRASES = 16  # of each sampled document, the best ones
CHUNK = 256  # documents read at once

# A document with its vector, and its mentions, best first.
MinedRows = tuple[StoredDocument, list[MentionRow]]


class TopicFitter:
    """Fits topics for one run.

    Args:
        ledger: The ledger of the documents; that of a generation that is not live has a name of its own.
        model: A topic model given as an object; others are found by their names.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        ledger: str,
        run: str,
        model: TopicModel | None,
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._collection = collection
        self._ledger = ledger
        self._run = run
        self._model = model
        self.read: dict[str, MinedRows] = {}  # the sampled documents as they were read; up to 150 MB

    def fit(
        self, request: TopicRequest, old: Sequence[Topic], live: NamedFit | None = None
    ) -> NamedFit | None:
        """Fit topics and save the fit; None without phrases. Killed and called again, it returns the same topics.

        Args:
            old: Topics that new ones may continue, with centroids in the same space.
            live: The fit that they are of, if it is in the same space, too.
        """
        ids = sample_ids(self._catalog, self._ledger)
        rows, sample = self._sample(ids)
        if sample is None:
            return None
        fingerprint = hashlib.sha256(sample.vectors.astype(np.float16).tobytes()).hexdigest()[:16]
        ancestors = {topic.id for topic in old}
        if pending := pending_fit(self._catalog, self._collection, fingerprint, request, ancestors):
            return pending
        fitted = self._find_model(request.model or DEFAULT)(sample, request.number)
        old_tree = TopicTree(old)
        old_topics = old_tree.leaves
        shapes, owners, merged = self._old_shapes(old_topics, live)
        continued, parts = trace(shapes, _shapes(fitted, rows, sample)).of_owners(owners, merged)
        names = self._names(continued, old_topics) | {n: old_topics[o].id for n, o in parts.items()}
        topics = tuple(names[at] for at in range(len(fitted)))
        present = live or live_fit(self._catalog, self._collection)
        by_hand = present.placed if present else {}
        found = grouped(fitted, sample, topics, request.levels.above(len(set(topics))))
        parents, above = self._parents(found, old_tree, by_hand, set(topics))
        named = NamedFit(
            self._run,
            fitted,
            topics,
            request.number,
            (*self._lineage(continued, names, old_topics), *above),
            request.model or DEFAULT,
            frequencies=DocumentFrequencies.of(
                [row.phrase_id for row in rows] for _, rows in self.read.values()
            ),
            documents=sum(self._catalog.count(self._ledger).values()),
            parents=parents,
            levels=str(request.levels),
            placed=by_hand,
        )
        save_fit(self._catalog, self._collection, named, sample=fingerprint, documents=len(ids))
        return named

    def _parents(
        self, found: Sequence[Set[str]], old: TopicTree, by_hand: Mapping[str, str], topics: Set[str]
    ) -> tuple[dict[str, str], list[LineageEntry]]:
        """Topic or parent ► the parent above it, and what became of the old parents.

        Args:
            found: Groups of topics.
            by_hand: Where a user has put topics.
            topics: Those of documents.
        """
        parents = old.parents
        below = [set(old.below(topic.id)) for topic in parents]
        names = {n: parents[o].id for o, n, _ in trace_parents(below, found).kept}
        named = {names.get(at, f"new {at}"): group for at, group in enumerate(found)}
        groups = list(placed(named, by_hand, topics).values())
        continued = trace_parents(below, groups)
        names = self._names(continued, parents)
        above = parents_of({names[at]: group for at, group in enumerate(groups)})
        return above, list(self._lineage(continued, names, parents))

    def _find_model(self, name: str) -> TopicModel:
        if self._model is not None and dotted_path(self._model) == name:
            return self._model
        return topic_model(name)

    def _old_shapes(
        self, old: Sequence[Topic], live: NamedFit | None
    ) -> tuple[list[TopicShape], list[int], set[int]]:
        """What new topics may continue, the topic of each, and those that a user has merged.

        A merged topic has several directions. A fit finds them again, and they stay one topic.
        """
        present = live or live_fit(self._catalog, self._collection)
        ids = present.ids if present else ()
        merged = {at for at, topic in enumerate(old) if ids.count(topic.id) > 1}
        shapes, owners = [], []
        for at, topic in enumerate(old):
            own = [TopicShape(topic.centroid, topic.phrases)]
            if live and at in merged:
                centroids = zip(live.ids, live.fit.centroids, strict=True)
                own = [TopicShape(centroid, ()) for id_, centroid in centroids if id_ == topic.id]
            shapes += own
            owners += [at] * len(own)
        return shapes, owners, merged

    def _names(self, continued: ContinuedTopics, old: Sequence[Topic]) -> dict[int, str]:
        """Position of each new topic ► its id; a continued topic keeps its own."""
        born = continued.born
        first = self._catalog.next_topic_number(self._collection, len(born)) if born else 0
        names = {n: old[o].id for o, n, _ in continued.kept}
        return names | {n: topic_id(first + i) for i, n in enumerate(born)}

    def _lineage(
        self, continued: ContinuedTopics, names: dict[int, str], old: Sequence[Topic]
    ) -> Iterator[LineageEntry]:
        run = self._run
        for o, n, score in continued.kept:
            yield LineageEntry(run, old[o].id, names[n], "kept", score)
        for o, n, score in continued.split:
            yield LineageEntry(run, old[o].id, names[n], "split", score)
        for o, n, score in continued.merged:
            yield LineageEntry(run, old[o].id, names[n], "merged", score)
        yield from (LineageEntry(run, None, names[n], "born") for n in continued.new)
        yield from (LineageEntry(run, old[o].id, None, "retired") for o in continued.retired)

    def _sample(self, ids: Sequence[str]) -> tuple[list[MentionRow], Sample | None]:
        """The best phrases of the documents that have any: their rows without vectors, and their vectors."""
        rows: list[MentionRow] = []
        vectors: list[Floats] = []
        weights: list[float] = []
        document: list[int] = []
        documents: list[Floats] = []
        self.read = {
            stored.document.id: (stored, rows) for stored, rows in mined_documents(self._engine, ids)
        }
        for stored, mentions in self.read.values():
            kept = mentions[:SAMPLE_PHRASES]
            if not kept or stored.vector is None:
                continue
            rows += [_without_vector(row) for row in kept]
            vectors.append(np.stack([row.vector for row in kept]))
            weights += [max(row.score, 0.01) for row in kept]
            document += [len(documents)] * len(kept)
            documents.append(stored.vector)
        if not rows:
            return [], None
        return rows, Sample(
            np.concatenate(vectors), np.array(weights, np.float32), np.array(document), np.stack(documents)
        )


def sample_ids(catalog: Catalog, ledger: str) -> list[str]:
    """Ids of the sampled documents, ascending: the first ones by hash, so that the sample is the same each time."""
    return sorted(nsmallest(SAMPLE_DOCUMENTS, catalog.ids(ledger), key=shuffled))


def mined_documents(engine: Engine, ids: Sequence[str]) -> Iterator[MinedRows]:
    """Documents with their vectors and mention rows, best row first."""
    for some in batches(ids, CHUNK):
        rows: dict[str, list[MentionRow]] = {}
        for row in engine.mentions(some):
            rows.setdefault(row.document_id, []).append(row)
        for stored in engine.documents(some, vectors=True):
            yield stored, rows.get(stored.document.id, [])


def _without_vector(row: MentionRow) -> MentionRow:
    """The row without its vector, which is in the sample already, and without its text."""
    return MentionRow(
        row.document_id, row.phrase_id, row.phrase, row.surface, row.score, (), "", np.zeros(0, np.float32)
    )


def _shapes(fitted: TopicFit, rows: Sequence[MentionRow], sample: Sample) -> list[TopicShape]:
    """Centroid and leading phrases of each new topic, from the sample."""
    topic = fitted.assign(sample.vectors, sample.documents[sample.document]).topic
    names = [str(i) for i in range(len(fitted))]
    by_phrase: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        by_phrase.setdefault(row.phrase, []).append(at)
    sizes = Counter(names[t] for t in topic if t >= 0)
    maker = LabelMaker(dict(zip(names, fitted.centroids, strict=True)), sizes)
    for phrase, positions in by_phrase.items():
        topics = Counter(names[topic[at]] for at in positions if topic[at] >= 0)
        surfaces = Counter(rows[at].surface for at in positions)
        maker.add(PhraseCount(phrase, surfaces, topics, unit(sample.vectors[positions].mean(axis=0))))
    leading = maker.leading()
    return [TopicShape(fitted.centroids[i], leading[name]) for i, name in enumerate(names)]
