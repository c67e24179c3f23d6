"""The end of a run: topics, final keyphrases, phrase rows and labels, from rows that are already in the engine.

No vector of a mention or document is computed here, and nothing is held that grows with the collection: documents
come in chunks, phrases as a stream. Killed at any place, the next run does the unfinished part again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from heapq import nsmallest

import numpy as np

from indexer.catalog import Catalog
from indexer.catalog.entries import LineageEntry, TopicEntry, topic_id, topic_number
from indexer.common import Floats, batches, shuffled, unit
from indexer.engines.base import Engine, Filter, SearchRequest
from indexer.errors import NotFound
from indexer.keyphrases.absent import AbsentFinder, vocabulary_of
from indexer.keyphrases.ranker import Ranker
from indexer.keyphrases.scoring import choose, choose_ranked
from indexer.pipeline import drift_check
from indexer.protocols import Progress
from indexer.records import MentionRow, PhraseRow, Refinement, StoredDocument, Topic, TopicWeight
from indexer.topics.fits import NamedFit, live_fit, saved_fit
from indexer.topics.labels import LabelMaker, PhraseCount, label_of
from indexer.topics.lineage import TopicShape, trace
from indexer.topics.models.base import Sample, TopicFit, vote
from indexer.topics.models.registry import DEFAULT, TOPIC_MODELS, TopicRequest

SAMPLE_DOCUMENTS = 3_000  # a fit learns from so many; more change no topic and cost memory
SAMPLE_PHRASES = 16  # of each sampled document, the best ones
CHUNK = 256  # documents refined at once
PHRASE_CHUNK = 1_000  # phrase rows written at once
VECTORS_PER_PHRASE = 64  # a phrase's vector is the mean of at most so many mentions
MAX_TOPICS = 1_000  # facet values asked for when topics are counted

Timer = Callable[[str], AbstractContextManager[None]]


class Finisher:
    """Finishes what a run has mined.

    Args:
        ledger: Where the documents stand in the ledger; for a generation that is not live yet it is not the
            collection's own name.
        ranker: What chose the keyphrases when the documents were mined; None where the bundle has none.
        absent: Keyphrases for each document that do not stand in it; they need a ranker.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        run: str,
        keyphrases: int,
        progress: Progress,
        *,
        ledger: str = "",
        ranker: Ranker | None = None,
        absent: int = 0,
    ) -> None:
        self.engine = engine
        self.catalog = catalog
        self.collection = collection
        self.ledger = ledger or collection
        self.run = run
        self._keyphrases = keyphrases
        self._progress = progress
        self._ranker = ranker
        self._absent = absent
        self.finished = 0  # documents that were mined and not finished, by whichever run
        self.without_topic = 0  # of the documents that were given topics: those that none reaches

    def finish(self, timed: Timer, asked: TopicRequest, *, refit: bool) -> bool:
        """Bring every document to "done". Returns whether topics were fitted anew.

        Args:
            asked: How topics are found, and how many.
            refit: Fit again even though there are topics.
        """
        live = live_fit(self.catalog, self.collection)
        new = live is None or refit or live.outdated or not _answers(live, asked)
        if live is None or new:
            with timed("fit topics"):
                self._progress("fit topics", 0, None)
                finder = asked.finder or (live.finder if live else DEFAULT)
                as_before = live.asked if live and live.outdated else None
                live = self._fit(TopicRequest(finder, asked.number or as_before), self.engine.topics())
            if live is None:
                return False
        documents = self._documents(again=new)
        self.finished = self.catalog.count(self.ledger)["mined"]
        with timed("assign"):
            self._refine(live, documents)
        with timed("consolidate"):
            labels = self._consolidate(live if new else None)
        topics = self._write_topics(live, labels, rename=new)
        if new:
            self.install(live, topics)
        else:
            entries = topic_entries(self.catalog, self.collection, topics, self.run)
            self.catalog.save_topics(self.collection, entries)
        self._mark_done(documents, live)
        if not new:
            with timed("drift"):
                drift_check.keep_up(self.engine, self.catalog, self.collection)
        return new

    def found(self, ancestors: Sequence[Topic], asked: TopicRequest) -> NamedFit | None:
        """Fit topics and give them to every document, in a generation that is not live yet; None without phrases.

        The catalog learns of them with `install`. Killed and called again, it ends with the same topics.

        Args:
            ancestors: The live topics, with centroids in the space of the new generation.
        """
        named = self._fit(asked, ancestors)
        if named is None:
            return None
        documents = self._documents(again=True)
        self._refine(named, documents)
        self._write_topics(named, self._consolidate(named), rename=True)
        self._mark_done(documents, named)
        return named

    def follow(self, named: NamedFit) -> None:
        """Give topics to the documents that were mined since `found`."""
        documents = self._documents(again=False)
        self._refine(named, documents)
        self._consolidate(None)
        self._write_topics(named, {}, rename=False)
        self._mark_done(documents, named)

    def install(self, named: NamedFit, topics: Sequence[Topic]) -> None:
        """Make a fit and its topics those of the collection, in the catalog."""
        entries = topic_entries(self.catalog, self.collection, topics, self.run)
        self.catalog.install_fit(self.collection, named.run, topics=entries, lineage=named.lineage)

    def merge(self, into: str, others: Sequence[str]) -> int:
        """Make several topics one; `into` keeps its id, the others retire and lead to it.

        The centroids stay: those of the merged topics just carry the same id from now on.

        Returns:
            How many documents changed.
        """
        live = live_fit(self.catalog, self.collection)
        if live is None:
            raise NotFound(f"Collection '{self.collection}' has no topics yet.", command="Run: indexer index")
        documents = sorted(
            {id_ for other in others for id_, _ in self.engine.scan(None, (Filter("topic", "=", other),))}
        )
        merged = NamedFit(
            self.run,
            live.fit,
            tuple(into if id_ in others else id_ for id_ in live.ids),
            live.asked,
            (
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in set(live.ids) - set(others)),
                *(LineageEntry(self.run, other, into, "hand", 1.0) for other in others),
            ),
            live.finder,
            live.fitted or live.run,
        )
        self._save(merged, "", len(documents))
        self._refine(merged, documents)
        self._consolidate(None)
        self.install(merged, self._write_topics(merged, {}, rename=False))
        return len(documents)

    def _documents(self, *, again: bool) -> list[str]:
        """Documents that were mined; with `again` also those that are done. Ascending."""
        ids = list(self.catalog.ids(self.ledger, state="mined"))
        return sorted([*ids, *self.catalog.ids(self.ledger, state="done")]) if again else ids

    def _mark_done(self, documents: Sequence[str], named: NamedFit) -> None:
        for some in batches(documents, CHUNK):
            self.catalog.mark(self.ledger, some, state="done", topic_fit=named.run)

    # -- fitting --------------------------------------------------------------------------------------------

    def _fit(self, asked: TopicRequest, old: Sequence[Topic]) -> NamedFit | None:
        """Fit, and name what continues an old topic after it."""
        ids = nsmallest(SAMPLE_DOCUMENTS, self.catalog.ids(self.ledger), key=shuffled)
        rows, sample = self._sample(sorted(ids))
        if sample is None:
            return None
        fingerprint = hashlib.sha256(sample.vectors.astype(np.float16).tobytes()).hexdigest()[:16]
        pending = self._pending(fingerprint, asked, old)
        if pending:
            return pending
        fitted = TOPIC_MODELS[asked.finder or DEFAULT](sample, asked.number)
        shapes = _shapes(fitted, rows, sample)
        heirs = trace([TopicShape(t.centroid, t.phrases) for t in old], shapes)
        first = self.catalog.next_topic_number(self.collection, len(heirs.born)) if heirs.born else 0
        names = {new: old[o].id for o, new, _ in heirs.kept}
        names |= {new: topic_id(first + i) for i, new in enumerate(heirs.born)}
        lineage = [
            *(LineageEntry(self.run, old[o].id, names[n], "kept", score) for o, n, score in heirs.kept),
            *(LineageEntry(self.run, old[o].id, names[n], "split", score) for o, n, score in heirs.split),
            *(LineageEntry(self.run, old[o].id, names[n], "merged", score) for o, n, score in heirs.merged),
            *(LineageEntry(self.run, None, names[n], "born") for n in heirs.new),
            *(LineageEntry(self.run, old[o].id, None, "retired") for o in heirs.retired),
        ]
        in_order = tuple(names[i] for i in range(len(fitted)))
        named = NamedFit(self.run, fitted, in_order, asked.number, tuple(lineage), asked.finder or DEFAULT)
        self._save(named, fingerprint, len(ids))
        return named

    def _sample(self, ids: Sequence[str]) -> tuple[list[MentionRow], Sample | None]:
        rows: list[MentionRow] = []
        vectors: list[Floats] = []
        weights: list[float] = []
        document: list[int] = []
        documents: list[Floats] = []
        for some in batches(ids, CHUNK):
            for stored, mentions in self._mined(some):
                kept = mentions[:SAMPLE_PHRASES]
                if not kept or stored.vector is None:
                    continue
                rows += [_light(row) for row in kept]
                vectors.append(np.stack([row.vector for row in kept]))
                weights += [max(row.score, 0.01) for row in kept]
                document += [len(documents)] * len(kept)
                documents.append(stored.vector)
        if not rows:
            return [], None
        return rows, Sample(
            np.concatenate(vectors), np.array(weights, np.float32), np.array(document), np.stack(documents)
        )

    def _mined(self, ids: Sequence[str]) -> Iterator[tuple[StoredDocument, list[MentionRow]]]:
        """Documents with their mention rows, best first."""
        rows: dict[str, list[MentionRow]] = {}
        for row in self.engine.mentions(ids):
            rows.setdefault(row.document_id, []).append(row)
        for stored in self.engine.documents(ids, vectors=True):
            yield stored, rows.get(stored.document.id, [])

    def _pending(self, fingerprint: str, asked: TopicRequest, old: Sequence[Topic]) -> NamedFit | None:
        """A fit that a killed run left behind, of the same sample and old topics: its topic ids are given out already."""
        installed = {entry.run for entry in self.catalog.all_lineage(self.collection)}
        for entry in self.catalog.fits(self.collection):
            info = entry.info
            same = info.get("sample") == fingerprint and info.get("asked") == asked.number
            new = entry.run not in installed
            if new and same and info.get("finder", DEFAULT) == (asked.finder or DEFAULT):
                named = saved_fit(self.catalog, self.collection, entry.run)
                if {e.old_id for e in named.lineage if e.old_id} == {t.id for t in old}:
                    return named
        return None

    def _save(self, named: NamedFit, fingerprint: str, documents: int) -> None:
        info = {
            "ids": list(named.ids),
            "asked": named.asked,
            "finder": named.finder,
            "fitted": named.fitted or named.run,
            "sample": fingerprint,
            "documents": documents,
            "silhouette": named.fit.silhouette if np.isfinite(named.fit.silhouette) else None,
            "lineage": [
                {"run": e.run, "old_id": e.old_id, "new_id": e.new_id, "kind": e.kind, "score": e.score}
                for e in named.lineage
            ],
        }
        self.catalog.save_fit(self.collection, named.run, "", named.fit.arrays(), info)

    # -- documents ------------------------------------------------------------------------------------------

    def _refine(self, named: NamedFit, ids: Sequence[str]) -> None:
        total = self.engine.info().documents
        finder = self._absent_finder() if ids else None
        done = self.without_topic = 0
        self._progress("assign", 0, len(ids))
        for some in batches(ids, CHUNK):
            mined = list(self._mined(some))
            phrases = list({row.phrase_id for _, rows in mined for row in rows})
            frequencies = self.engine.document_frequencies(phrases)
            self.catalog.check_locks()
            self.engine.refine(
                [self._refinement(named, stored, rows, frequencies, total, finder) for stored, rows in mined]
            )
            done += len(some)
            self._progress("assign", done, len(ids))

    def _refinement(
        self,
        named: NamedFit,
        stored: StoredDocument,
        rows: Sequence[MentionRow],
        frequencies: Mapping[str, int],
        total: int,
        finder: AbsentFinder | None,
    ) -> Refinement:
        topics = place_rows(named, stored, rows)
        weights = [row.score for row in rows]
        shares = vote([named.ids.index(t) if t else -1 for t in topics], weights)
        self.without_topic += bool(rows) and not shares
        if self._ranker:
            keyphrases = choose_ranked(rows, self._keyphrases)
        else:
            keyphrases = choose(rows, frequencies, total, self._keyphrases)
        if finder and stored.vector is not None:
            keyphrases += finder.find(stored.document, stored.vector, rows, self._absent)
        return Refinement(
            id=stored.document.id,
            keyphrases=keyphrases,
            topics=tuple(TopicWeight(named.ids[at], round(share, 4)) for at, share in shares),
            mention_topics={row.phrase_id: topic for row, topic in zip(rows, topics, strict=True)},
            run=self.run,
        )

    def _absent_finder(self) -> AbsentFinder | None:
        """Knows the keyphrases of a sample of the collection; the same documents as topics are fitted to."""
        if self._ranker is None or not self._absent:
            return None
        ids = sorted(nsmallest(SAMPLE_DOCUMENTS, self.catalog.ids(self.ledger), key=shuffled))
        return AbsentFinder(
            self._ranker,
            vocabulary_of(found for some in batches(ids, CHUNK) for found in self._mined(some)),
        )

    # -- phrases and topics ---------------------------------------------------------------------------------

    def _consolidate(self, new: NamedFit | None) -> dict[str, tuple[str, ...]]:
        """Write the phrase rows whose mentions changed (all with a new fit); leading phrases with a new fit."""
        maker = LabelMaker(self._centroids(new), self._sizes()) if new else None  # names with a new fit only
        changed = None if new else list(self.engine.changed_phrases())
        total = None if changed is None else len(changed)
        rows: list[PhraseRow] = []
        gone: list[str] = []
        done = 0
        for done, mentions in enumerate(self._mentions_of(changed, gone), 1):
            row = phrase_row(mentions)
            if row.documents >= 2 or any(m.keyphrase for m in mentions):
                rows.append(row)
            else:
                gone.append(row.phrase_id)
            if maker and row.topics:
                maker.add(_count(mentions, row))
            if len(rows) >= PHRASE_CHUNK or len(gone) >= PHRASE_CHUNK:
                self._flush(rows, gone)
                self._progress("consolidate", done, total)
        self._flush(rows, gone)
        self._progress("consolidate", done if total is None else total, total)
        return maker.leading() if maker else {}

    def _mentions_of(self, phrases: list[str] | None, gone: list[str]) -> Iterator[list[MentionRow]]:
        """Mentions by phrase; a phrase that was asked for and stands nowhere any more goes to `gone`."""
        if phrases is None:
            yield from self.engine.mentions_by_phrase(limit=VECTORS_PER_PHRASE)
            return
        for some in batches(phrases, PHRASE_CHUNK):
            missing = set(some)
            for mentions in self.engine.mentions_by_phrase(some, limit=VECTORS_PER_PHRASE):
                missing.discard(mentions[0].phrase_id)
                yield mentions
            gone += sorted(missing)

    def _flush(self, rows: list[PhraseRow], gone: list[str]) -> None:
        self.catalog.check_locks()
        self.engine.write_phrases(rows)
        self.engine.delete_phrases(gone)
        rows.clear()
        gone.clear()

    def _centroids(self, named: NamedFit) -> dict[str, Floats]:
        """One centroid per topic: a merged one has several, and their mean speaks for it."""
        parts: dict[str, list[Floats]] = {}
        for id_, centroid in zip(named.ids, named.fit.centroids, strict=True):
            parts.setdefault(id_, []).append(centroid)
        return {id_: unit(np.mean(some, axis=0)) for id_, some in parts.items()}

    def _sizes(self) -> dict[str, int]:
        answer = self.engine.search(SearchRequest(limit=1, facets=("topic",), facet_size=MAX_TOPICS))
        return dict(answer.facets["topic"])

    def _write_topics(
        self, named: NamedFit, leading: Mapping[str, tuple[str, ...]], *, rename: bool
    ) -> list[Topic]:
        """Write the topics of a fit into the engine.

        Args:
            leading: Topic id ► new leading phrases; those that are left out keep theirs.
            rename: Name them after these, but for those that were named by hand.
        """
        sizes = self._sizes()
        known = self._known()
        centroids = self._centroids(named)
        topics = []
        for id_ in dict.fromkeys(named.ids):
            old = known.get(id_)
            phrases = leading.get(id_, old.phrases if old else ())
            by_hand = bool(old and old.label_locked)
            label = label_of(phrases) if old is None or (rename and not by_hand) else old.label
            topics.append(Topic(id_, label, phrases, sizes.get(id_, 0), centroids[id_], by_hand))
        self.catalog.check_locks()
        self.engine.write_topics(topics)
        return topics

    def _known(self) -> dict[str, TopicEntry]:
        """What the catalog knows of topics, and what stands in the engine of those that it does not know yet."""
        known = {topic.id: topic for topic in self.catalog.topics(self.collection, state=None)}
        fresh = {topic.id: _entry(topic, None, self.run) for topic in self.engine.topics()}
        return fresh | known


def topic_entries(catalog: Catalog, collection: str, topics: Sequence[Topic], run: str) -> list[TopicEntry]:
    """Topics of an engine for the catalog. Those that it does not know were born in `run`."""
    known = {topic.id: topic for topic in catalog.topics(collection, state=None)}
    return [_entry(topic, known.get(topic.id), run) for topic in topics]


def _answers(live: NamedFit, asked: TopicRequest) -> bool:
    """Whether the topics there are are what is asked for."""
    return asked.finder in ("", live.finder) and asked.number in (None, live.asked, len(live.ids))


def place_rows(named: NamedFit, stored: StoredDocument, rows: Sequence[MentionRow]) -> list[str | None]:
    """The topic id of each mention row of a document, None beyond reach."""
    if not rows or stored.vector is None:
        return []
    placed = named.fit.place(np.stack([row.vector for row in rows]), stored.vector)
    return [named.ids[t] if t >= 0 else None for t in placed.topic]


def phrase_row(mentions: Sequence[MentionRow]) -> PhraseRow:
    """Consolidate the mention rows of one phrase. Only what the mentions say counts, so it can be done again."""
    surfaces = Counter(row.surface for row in mentions)
    topics = Counter(row.topic for row in mentions if row.topic)
    vectors = [row.vector for row in mentions if len(row.vector)]
    return PhraseRow(
        phrase_id=mentions[0].phrase_id,
        phrase=mentions[0].phrase,
        surfaces=tuple(s for s, _ in sorted(surfaces.items(), key=_by_count)),
        documents=len(mentions),
        topics=tuple(t for t, _ in sorted(topics.items(), key=_by_count)),
        vector=unit(np.mean(vectors, axis=0)),
    )


def _count(mentions: Sequence[MentionRow], row: PhraseRow) -> PhraseCount:
    """Count a phrase for the labels: the same sentence in many documents (a thread's title, a signature) counts once."""
    told = {"".join(filter(str.isalnum, m.sentence.casefold())): m for m in reversed(mentions)}.values()
    return PhraseCount(
        row.phrase,
        Counter(m.surface for m in told),
        Counter(m.topic for m in told if m.topic),
        row.vector,
    )


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _light(row: MentionRow) -> MentionRow:
    """The row without its vector, which the sample has already."""
    return MentionRow(
        row.document_id, row.phrase_id, row.phrase, row.surface, row.score, (), "", np.zeros(0, np.float32)
    )


def _shapes(fitted: TopicFit, rows: Sequence[MentionRow], sample: Sample) -> list[TopicShape]:
    """Centroid and leading phrases of each new topic, from the sample."""
    placed = fitted.place(sample.vectors, sample.documents[sample.document])
    names = [str(i) for i in range(len(fitted))]
    by_phrase: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        by_phrase.setdefault(row.phrase, []).append(at)
    sizes = Counter(names[t] for t in placed.topic if t >= 0)
    maker = LabelMaker(dict(zip(names, fitted.centroids, strict=True)), sizes)
    for phrase, places in by_phrase.items():
        topics = Counter(names[placed.topic[at]] for at in places if placed.topic[at] >= 0)
        surfaces = Counter(rows[at].surface for at in places)
        maker.add(PhraseCount(phrase, surfaces, topics, unit(sample.vectors[places].mean(axis=0))))
    leading = maker.leading()
    return [TopicShape(fitted.centroids[i], leading[name]) for i, name in enumerate(names)]


def _entry(topic: Topic, known: TopicEntry | None, run: str) -> TopicEntry:
    return TopicEntry(
        number=topic_number(topic.id),
        label=topic.label,
        phrases=topic.phrases,
        size=topic.size,
        label_locked=topic.label_locked,
        born_run=known.born_run if known else run,
    )
