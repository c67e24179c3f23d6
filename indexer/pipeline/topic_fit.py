"""Fit topics to a sample of the mined documents, and give each its id; one that continues an old topic keeps its id."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from indexer.catalog import Catalog
from indexer.catalog.corrections import Correction
from indexer.catalog.entries import LineageEntry, topic_id
from indexer.catalog.vocabulary import Term
from indexer.common import Floats, batches, dotted_path, shuffled, unit
from indexer.engines.base import Engine, Filter
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.pipeline.duplicates import without_duplicates
from indexer.records import MentionRow, StoredDocument, Topic
from indexer.topics.corrections import followed, taught
from indexer.topics.fits import NamedFit, live_fit, pending_fit, save_fit
from indexer.topics.hierarchy import TopicTree, parents_of, placed
from indexer.topics.labels import LabelMaker, PhraseCount
from indexer.topics.levels import Levels, grouped
from indexer.topics.lineage import (
    RELATED,
    ContinuedTopics,
    TopicShape,
    shape_similarity,
    trace,
    trace_parents,
)
from indexer.topics.models.base import Sample, TopicFit, mapped_unit
from indexer.topics.models.registry import DEFAULT, TopicModel, TopicRequest, topic_model
from indexer.topics.vocabulary import Seeds, broader_groups, with_terms

SAMPLE_DOCUMENTS = 3_000  # more change no topic and cost memory
SAMPLE_PHRASES = 16  # of each sampled document, the best ones
MIDDLE_OF = 300  # phrases whose mean is taken away from the terms of a vocabulary
EXAMPLES = 50  # of a term, where a field of the documents names it
CHUNK = 256  # documents read at once

# A document with its vector, and its mentions, best first.
MinedRows = tuple[StoredDocument, list[MentionRow]]


class TopicFitter:
    """Fits topics for one run.

    Args:
        ledger: The ledger of the documents; that of a generation that is not live has a name of its own.
        model: A topic model given as an object; others are found by their names.
        encode: Encodes the terms of a vocabulary, as texts.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        ledger: str,
        run: str,
        model: TopicModel | None,
        encode: Callable[[Sequence[str]], Floats],
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._collection = collection
        self._ledger = ledger
        self._run = run
        self._model = model
        self._encode = encode
        self._there: list[str] = []  # ids of the topics of the directions that `Sample.before` numbers
        self.read: dict[str, MinedRows] = {}  # the sampled documents as they were read; up to 150 MB

    def fit(
        self, request: TopicRequest, old: Sequence[Topic], live: NamedFit | None = None
    ) -> NamedFit | None:
        """Fit topics and save the fit; None without phrases. Killed and called again, it returns the same topics.

        Args:
            old: Topics that new ones may continue, with centroids in the same space.
            live: The fit that they are of, if it is in the same space, too.
        """
        ids = without_duplicates(self._engine, sample_ids(self._catalog, self._ledger))
        rows, sample = self._sample(ids, None if live is None or live.outdated else live)
        if sample is None:
            return None
        shaped = live is not None and live.shaped and request.number in (None, live.requested)
        sample = replace(sample, shaped=shaped)
        fingerprint = hashlib.sha256(sample.vectors.astype(np.float16).tobytes()).hexdigest()[:16]
        ancestors = {topic.id for topic in old}
        terms, strict = self._catalog.terms(self._collection), self._catalog.strict(self._collection)
        corrected = self._catalog.corrections_changed(self._collection)  # read before what is counted
        corrections = self._corrections({topic.id for topic in old} | {term.topic for term in terms})
        if pending := pending_fit(
            *(self._catalog, self._collection, fingerprint, request, ancestors), (terms, strict), corrected
        ):
            return pending
        fitted = self._find_model(request.model or DEFAULT)(sample, request.number)
        seeds = self._seeds(terms, rows, live)
        if seeds:
            examples = self._examples(corrections, seeds.topics, terms)
            fitted = with_terms(fitted, sample, seeds, strict=strict, examples=examples)
        of_terms = seeds.topics if seeds else ()
        shapes = _shapes(fitted, rows, sample)
        old_tree = TopicTree(old)
        names, lineage = self._topics(old_tree, shapes, of_terms, live, fitted.continues)
        topics = (*of_terms, *names)
        corrections = tuple(followed(corrections, lineage, set(topics)))
        fitted = taught(fitted, topics, self._examples(corrections, names))
        parents, above = self._parents(old_tree, fitted, sample, topics, request.levels, terms)
        present = live or live_fit(self._catalog, self._collection)
        named = NamedFit(
            self._run,
            fitted,
            topics,
            request.number,
            (*lineage, *above),
            request.model or DEFAULT,
            frequencies=DocumentFrequencies.of(
                [row.phrase_id for row in rows] for _, rows in self.read.values()
            ),
            documents=sum(self._catalog.count(self._ledger).values()),
            parents=parents,
            levels=str(request.levels),
            terms=tuple(terms),
            seeds=seeds,
            strict=strict,
            placed=present.placed if present else {},
            corrections=corrections,
            corrected=corrected,
            shaped=shaped,
        )
        save_fit(self._catalog, self._collection, named, sample=fingerprint, documents=len(ids))
        return named

    def _corrections(self, there: set[str]) -> tuple[Correction, ...]:
        """What users have said, of the topics that there are: a retired one has led to others since."""
        found = self._catalog.corrections(self._collection)
        gone = {one.topic for one in found} - there
        leads = {id_: self._catalog.successors(self._collection, id_) for id_ in gone}
        current = {id_: next((new for new in led if new in there), "") for id_, led in leads.items()}
        return tuple(replace(one, topic=current.get(one.topic, one.topic)) for one in found)

    def _examples(
        self, corrections: Sequence[Correction], topics: Collection[str], terms: Sequence[Term] = ()
    ) -> dict[str, Floats]:
        """The vectors of documents that users, or their own fields, give to these topics: float32 [n, dims] each."""
        wanted: dict[str, str] = {}
        for term in terms:
            if term.field:
                having = (id_ for id_, _ in self._engine.scan(None, (Filter(term.field, "=", term.label),)))
                wanted |= dict.fromkeys(nsmallest(EXAMPLES, having, key=shuffled), term.topic)
        wanted |= {one.document: one.topic for one in corrections if one.belongs and one.topic in topics}
        found: dict[str, list[Floats]] = {}
        for some in batches(sorted(wanted), CHUNK):
            for stored in self._engine.documents(some, vectors=True):
                if stored.vector is not None:
                    found.setdefault(wanted[stored.document.id], []).append(stored.vector)
        return {topic: np.stack(vectors) for topic, vectors in found.items()}

    def _topics(
        self,
        old: TopicTree,
        shapes: Sequence[TopicShape],
        of_terms: Sequence[str],
        live: NamedFit | None,
        continues: Sequence[int],
    ) -> tuple[list[str], list[LineageEntry]]:
        """Ids of the mined topics, and what became of the old ones.

        Args:
            shapes: Of the terms, then of the mined topics.
            continues: As in `TopicFit`, of the mined topics.
        """
        before = [topic for topic in old.leaves if topic.id not in of_terms]
        old_shapes, owners, merged = self._old_shapes(before, live)
        same = [
            (shape, new)
            for new, at in enumerate(continues)
            for shape, owner in enumerate(owners)
            if at >= 0 and before[owner].id == self._there[at]
        ]
        continued, parts = trace(old_shapes, shapes[len(of_terms) :], same).of_owners(owners, merged)
        names = self._names(continued, before) | {n: before[o].id for n, o in parts.items()}
        lineage = [*self._lineage(continued, names, before), *self._kept_or_born(of_terms, old)]
        if of_terms:
            lineage = [self._covered(entry, old, shapes, of_terms) for entry in lineage]
        return [names[at] for at in range(len(shapes) - len(of_terms))], lineage

    def _covered(
        self, entry: LineageEntry, old: TopicTree, shapes: Sequence[TopicShape], of_terms: Sequence[str]
    ) -> LineageEntry:
        """A retired topic leads to the term that covers it, if there is one."""
        if entry.new_id is not None or entry.old_id is None:
            return entry
        topic = old.by_id[entry.old_id]
        similar = shape_similarity([TopicShape(topic.centroid, topic.phrases)], shapes)[0, : len(of_terms)]
        at = int(similar.argmax())
        if similar[at] < RELATED:
            return entry
        return replace(entry, new_id=of_terms[at], kind="merged", score=float(similar[at]))

    def _kept_or_born(self, ids: Iterable[str], old: TopicTree) -> Iterator[LineageEntry]:
        """What became of topics whose ids are given."""
        for id_ in ids:
            if id_ in old.by_id:
                yield LineageEntry(self._run, id_, id_, "kept", 1.0)
            else:
                yield LineageEntry(self._run, None, id_, "born")

    def _parents(
        self,
        old: TopicTree,
        fitted: TopicFit,
        sample: Sample,
        topics: Sequence[str],
        levels: Levels,
        terms: Sequence[Term],
    ) -> tuple[dict[str, str], list[LineageEntry]]:
        """Topic or parent ► the parent above it, and what became of the old parents."""  # fmt: skip
        fixed = broader_groups(terms)
        top = {topic: max((id_ for id_ in fixed if topic in fixed[id_]), key=lambda id_: len(fixed[id_]), default=topic)
               for topic in topics}  # fmt: skip
        units = [top[topic] for topic in topics]
        below = {unit_: {topic for topic in topics if top[topic] == unit_} for unit_ in units}
        found = [
            set().union(*(below[unit_] for unit_ in group))
            for group in grouped(fitted, sample, units, levels.above(len(below)))
        ]
        parents = [topic for topic in old.parents if topic.id not in fixed]
        before = [set(old.below(topic.id)) for topic in parents]
        names = {n: parents[o].id for o, n, _ in trace_parents(before, found).kept}
        named = fixed | {names.get(at, f"new {at}"): group for at, group in enumerate(found)}
        present = live_fit(self._catalog, self._collection)
        groups = placed(named, present.placed if present else {}, set(topics), fixed)
        mined = [group for id_, group in groups.items() if id_ not in fixed]
        continued = trace_parents(before, mined)
        names = self._names(continued, parents)
        lineage = [
            *self._lineage(continued, names, parents),
            *self._kept_or_born(fixed.keys() & groups.keys(), old),
        ]
        of_groups = {names[at]: group for at, group in enumerate(mined)}
        return parents_of(of_groups | {id_: groups[id_] for id_ in fixed if id_ in groups}), lineage

    def _seeds(
        self, terms: Sequence[Term], rows: Sequence[MentionRow], live: NamedFit | None
    ) -> Seeds | None:
        """Where terms begin that have no narrower ones; vectors of the live fit are used again."""
        wanted = [term for term in terms if term.key not in {other.broader for other in terms}]
        if not wanted:
            return None
        known: dict[str, Floats] = {}
        middle = None
        if live and live.seeds:
            texts = {term.topic: term.text for term in live.terms}
            known = {
                texts[id_]: vector for id_, vector in zip(live.seeds.topics, live.seeds.vectors, strict=True)
            }
            middle = live.seeds.middle
        missing = sorted({term.text for term in wanted} - known.keys())
        if missing:
            known |= dict(zip(missing, self._encode(missing), strict=True))
        if middle is None:
            phrases = sorted({row.surface for row in rows}, key=shuffled)[:MIDDLE_OF]
            middle = self._encode(phrases).mean(axis=0)
        return Seeds(
            tuple(term.topic for term in wanted), np.stack([known[term.text] for term in wanted]), middle
        )

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

    def _sample(self, ids: Sequence[str], live: NamedFit | None) -> tuple[list[MentionRow], Sample | None]:
        """The best phrases of the documents that have any: their rows without vectors, and their vectors.

        Args:
            live: By which the documents have topics, where these are wanted too.
        """
        rows: list[MentionRow] = []
        vectors: list[Floats] = []
        weights: list[float] = []
        document: list[int] = []
        documents: list[Floats] = []
        topics: list[str] = []
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
            topics.append(stored.topics[0].topic_id if stored.topics else "")
        if not rows:
            return [], None
        before = _directions(topics, np.stack(documents), live) if live and any(topics) else None
        self._there = list(live.ids) if live else []
        return rows, Sample(
            *(np.concatenate(vectors), np.array(weights, np.float32), np.array(document)),
            documents=np.stack(documents),
            before=before,
        )


def _directions(topics: Sequence[str], documents: Floats, live: NamedFit) -> NDArray[np.intp]:
    """The direction of the live fit that each document has its topic from; -1 without one: int [m].

    A merged topic has several, and their mean would be near to few of its documents.
    """
    near = mapped_unit(documents, live.fit.mean, live.fit.projection) @ live.fit.mapped.T
    own = np.array(live.ids)[None] == np.array(topics)[:, None]
    found: NDArray[np.intp] = np.where(own.any(axis=1), np.where(own, near, -np.inf).argmax(axis=1), -1)
    return found


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
