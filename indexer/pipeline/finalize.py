"""The end of a run: topics, final keyphrases, phrase rows and labels, from rows that are already in the engine.

No vector of a mention or document is computed here, and memory does not grow with the collection: documents come in
chunks, phrases as a stream. After a kill at any point, the next run does the unfinished part again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

import numpy as np

from indexer.catalog import Catalog
from indexer.catalog.entries import TopicEntry, topic_number
from indexer.common import Floats, batches, unit
from indexer.engines.base import Engine, Filter, SearchRequest
from indexer.keyphrases.absent import AbsentFinder, vocabulary_of
from indexer.pipeline import births, drift_check
from indexer.pipeline.assign import Assigner
from indexer.pipeline.duplicates import DuplicateFinder
from indexer.pipeline.naming import TopicNamer
from indexer.pipeline.phrase_rows import VECTORS_PER_PHRASE, is_kept, phrase_count, phrase_row
from indexer.pipeline.steps import MiningOptions
from indexer.pipeline.topic_fit import CHUNK, MinedRows, TopicFitter, mined_documents, sample_ids
from indexer.pipeline.write_behind import WriteBehind
from indexer.protocols import Progress
from indexer.records import MentionRow, PhraseRow, Topic
from indexer.topics.fits import NamedFit, live_fit
from indexer.topics.hierarchy import TopicTree, with_names, with_parents
from indexer.topics.labels import LabelMaker, label_of, lasting, mined_label
from indexer.topics.levels import Levels
from indexer.topics.models.registry import TopicRequest

PHRASE_CHUNK = 1_000  # phrase rows written at once
MOST = 0.25  # of the documents: when more are finished, all phrases are written, which are then read faster
MAX_TOPICS = 1_000  # facet values read when topics are counted

Timer = Callable[[str], AbstractContextManager[None]]


class Finisher:
    """Finishes the mined documents of a run.

    Args:
        ledger: The ledger of the documents, if it is not the collection's own: a generation that is not live has another.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        run: str,
        options: MiningOptions,
        progress: Progress,
        *,
        ledger: str = "",
    ) -> None:
        self.engine = engine
        self.catalog = catalog
        self.collection = collection
        self.ledger = ledger or collection
        self.run = run
        self._options = options
        self._progress = progress
        self._ranker = options.ranker()
        self._read: dict[str, MinedRows] = {}  # by a fit, for the documents that are assigned after it
        self._begun: NamedFit | None = None
        self._labels: dict[str, str] = {}  # mined in this run, of the topics that got new leading phrases
        self.finished = 0  # documents that were mined and not finished, by any run
        self.without_topic = 0  # of the documents that were assigned: those without a topic
        self.fitted_to = 0  # documents of the collection when its topics were fitted; 0: not known
        self.duplicates = 0  # near duplicates among the documents that were compared

    def begin(self, timed: Timer, request: TopicRequest, *, refit: bool) -> Assigner | None:
        """Return what assigns the further documents of this run when they are written, or None where `finish` must.

        Fits topics, if there are none, to the documents of the sample, which have been mined.
        """
        live = live_fit(self.catalog, self.collection)
        if self._keeps_absent or (live and self._needs_fit(live, request, refit)):
            return None
        if live is None:
            self._find_duplicates(timed)
            with timed("fit topics"):
                live = self._begun = self._fit_again(None, request)
            if live is None:
                return None
            with timed("assign"):
                sample = sorted(self._read)
                self._assign(live, sample, None)
                for some in batches(sample, CHUNK):
                    self.catalog.mark(self.ledger, some, topic_fit=live.run)
        return self._assigner(live)

    @property
    def _keeps_absent(self) -> bool:
        """Whether absent keyphrases are found: among those of all documents of the sample, so not before the end."""
        return self._ranker is not None and self._options.absent > 0

    def _needs_fit(self, live: NamedFit, request: TopicRequest, refit: bool) -> bool:
        terms, strict = self.catalog.terms(self.collection), self.catalog.strict(self.collection)
        changed = live.terms != tuple(terms) or (bool(terms) and live.strict != strict)
        changed = changed or live.corrected != self.catalog.corrections_changed(self.collection)
        return refit or live.outdated or changed or not live.answers(request)

    def finish(self, timed: Timer, request: TopicRequest, *, refit: bool) -> bool:
        """Bring every document to "done". Returns whether topics were fitted.

        Args:
            request: How to find topics, and how many.
            refit: Fit even though there are topics.
        """
        self._find_duplicates(timed)
        request = request.or_model(self._options.topic_model)
        live = live_fit(self.catalog, self.collection)
        new = live is None or self._needs_fit(live, request, refit)
        if live is None or new:
            with timed("fit topics"):
                live = self._begun or self._fit_again(live, request, keep=not refit)
            if live is None:
                return False
        documents = self._documents(again=new)
        counts = self.catalog.count(self.ledger)
        self.finished = counts["mined"]
        everything = new or len(documents) > MOST * (counts["mined"] + counts["done"])
        touched: set[str] | None = None if everything else set()
        with timed("assign"):
            ready = set(self.catalog.ids(self.ledger, state="mined", topic_fit=live.run))
            self._assign(live, [id_ for id_ in documents if id_ not in ready], touched)
            if not new:
                self._note_assigned(sorted(ready), touched)
        with timed("consolidate"):
            leading = self._consolidate(touched) if touched is not None else self._consolidate_all(live, new)
        topics = self._write_topics(live, leading, rename=new)
        if new:
            self.install(live, topics)
        else:
            entries = topic_entries(self.catalog, self.collection, topics, self.run)
            self.catalog.save_topics(self.collection, entries)
        self._mark_done(documents, live)
        self.fitted_to = live.documents
        if not new:
            with timed("drift"):
                drift_check.keep_up(self.engine, self.catalog, self.collection)
                births.keep_up(self.engine, self.catalog, self.collection)
        return new

    def _find_duplicates(self, timed: Timer) -> None:
        """Before topics are fitted: a text that is there many times would weigh as many."""
        if self._options.duplicates:
            with timed("duplicates"):
                finder = DuplicateFinder(self.engine, self.catalog, self.collection, self._progress)
                self.duplicates += finder.update()

    def _fit_again(
        self, live: NamedFit | None, request: TopicRequest, *, keep: bool = False
    ) -> NamedFit | None:
        """Fit topics; the model stays unless another is requested.

        Args:
            keep: The number of topics stays as a user requested it, too: only texts, terms or corrections have changed.
        """
        self._progress("fit topics", 0, None)
        number = live.requested if live and (live.outdated or keep) else None
        levels = request.levels if str(request.levels) or not live else Levels.read(live.levels)
        number = request.number or levels.topics or number
        request = TopicRequest(request.model or (live.model if live else ""), number, levels)
        return self._fit(request, self.engine.topics(), live)

    def _fit(
        self, request: TopicRequest, ancestors: Sequence[Topic], live: NamedFit | None = None
    ) -> NamedFit | None:
        fitter = TopicFitter(
            *(self.engine, self.catalog, self.collection, self.ledger, self.run, self._options.topic_model),
            encode=lambda texts: self._options.encoder().encode_texts(texts),
        )
        named = fitter.fit(request, ancestors, live)
        self._read = fitter.read
        return named

    def found(self, ancestors: Sequence[Topic], request: TopicRequest) -> NamedFit | None:
        """Fit topics and assign every document, in a generation that is not live yet; None without phrases.

        The catalog has them after `install`. Killed and called again, it ends with the same topics.

        Args:
            ancestors: The live topics, with centroids in the space of the new generation.
        """
        named = self._fit(request, ancestors)
        if named is None:
            return None
        documents = self._documents(again=True)
        self._assign(named, documents, None)
        self._write_topics(named, self._consolidate_all(named, True), rename=True)
        self._mark_done(documents, named)
        return named

    def follow(self, named: NamedFit) -> None:
        """Assign the documents that were mined since `found`."""
        documents = self._documents(again=False)
        touched: set[str] = set()
        self._assign(named, documents, touched)
        self._consolidate(touched)
        self._write_topics(named, {}, rename=False)
        self._mark_done(documents, named)

    def install(self, named: NamedFit, topics: Sequence[Topic]) -> None:
        """Make a fit and its topics those of the collection, in the catalog."""
        entries = topic_entries(self.catalog, self.collection, topics, self.run)
        self.catalog.install_fit(self.collection, named.run, topics=entries, lineage=named.lineage)

    def _documents(self, *, again: bool) -> list[str]:
        """Documents that were mined; with `again` also those that are done. Ascending."""
        ids = list(self.catalog.ids(self.ledger, state="mined"))
        return sorted([*ids, *self.catalog.ids(self.ledger, state="done")]) if again else ids

    def _mark_done(self, documents: Sequence[str], named: NamedFit) -> None:
        for some in batches(documents, CHUNK):
            self.catalog.mark(self.ledger, some, state="done", topic_fit=named.run)

    # -- documents ------------------------------------------------------------------------------------------

    def _assign(self, named: NamedFit, ids: Sequence[str], touched: set[str] | None) -> None:
        """Give documents and their mentions their topics, and choose their final keyphrases.

        Args:
            touched: The phrases of these documents are added to it; None where all phrases are written anyway.
        """
        assigner = self._assigner(named)
        done = self.without_topic = 0
        self._progress("assign", 0, len(ids))
        with WriteBehind() as later:
            for some in batches(ids, CHUNK):
                known = [self._read.pop(id_) for id_ in some if id_ in self._read]
                unread = set(some).difference(stored.document.id for stored, _ in known)
                mined = [*known, *mined_documents(self.engine, sorted(unread))]
                if touched is not None:
                    touched |= {row.phrase_id for _, rows in mined for row in rows}
                final = [assigner.refinement(s.document, s.vector, rows) for s, rows in mined]
                self.without_topic += sum(bool(row.mention_topics) and not row.topics for row in final)
                self.catalog.check_locks()
                later(partial(self.engine.refine, final))
                done += len(some)
                self._progress("assign", done, len(ids))

    def _note_assigned(self, ids: Sequence[str], touched: set[str] | None) -> None:
        """Add the phrases of documents that were assigned when they were written; count those without a topic."""
        for some in batches(ids, CHUNK):
            for outline in self.engine.outlines(some):
                self.without_topic += bool(outline.phrases) and not outline.topics
                if touched is not None:
                    touched.update(outline.phrases)

    def _assigner(self, named: NamedFit) -> Assigner:
        return Assigner(
            named,
            self.run,
            self._options.keyphrases,
            ranked=self._ranker is not None,
            absent=self._absent_finder(),
            absent_keyphrases=self._options.absent,
        )

    def _absent_finder(self) -> AbsentFinder | None:
        """Finds absent keyphrases among those of a sample of the collection, the one that topics are fitted to."""
        if self._ranker is None or not self._keeps_absent:
            return None
        sample = mined_documents(self.engine, sample_ids(self.catalog, self.ledger))
        return AbsentFinder(self._ranker, vocabulary_of(sample))

    # -- phrases and topics ---------------------------------------------------------------------------------

    def _consolidate_all(self, fit: NamedFit, new: bool) -> dict[str, tuple[str, ...]]:
        """Write all phrase rows, delete those without a mention; returns the leading phrases of new topics."""
        maker = LabelMaker(self._centroids(fit), self._sizes()) if new else None
        self._write_phrases(self.engine.mentions_by_phrase(limit=VECTORS_PER_PHRASE), [], None, maker)
        self._consolidate(set())
        leading = maker.leading(self._given_names(fit)) if maker else {}
        self._labels = maker.labels(leading) if maker else {}
        return leading

    def _given_names(self, fit: NamedFit) -> dict[str, str]:
        """The names of terms, and of topics that a user has named."""
        locked = {t.id: t.label for t in self.catalog.topics(self.collection, state=None) if t.label_locked}
        ids = set(fit.ids)
        return {id_: label for id_, label in locked.items() if id_ in ids} | {
            t.topic: t.label for t in fit.terms
        }

    def _consolidate(self, touched: set[str]) -> dict[str, tuple[str, ...]]:
        """Write the phrase rows of these phrases, and of those that have lost a mention; no topic gets new phrases."""
        changed = sorted(touched.union(self.engine.changed_phrases()))
        if not changed:
            return {}
        gone: list[str] = []
        self._write_phrases(self._mentions_of(changed, gone), gone, len(changed), None)
        return {}

    def _write_phrases(
        self, groups: Iterable[list[MentionRow]], gone: list[str], total: int | None, maker: LabelMaker | None
    ) -> None:
        """Write the row of each group of mentions of one phrase, or delete it where it has none.

        Args:
            gone: Phrases whose rows are to be deleted; the iterator of groups may add to it.
            maker: Counts the phrases of topics, where these get labels.
        """
        rows: list[PhraseRow] = []
        done = 0
        with WriteBehind() as later:
            for done, mentions in enumerate(groups, 1):
                row = phrase_row(mentions)
                if is_kept(row, mentions):
                    rows.append(row)
                else:
                    gone.append(row.phrase_id)
                if maker and row.topics:
                    maker.add(phrase_count(mentions, row))
                if len(rows) >= PHRASE_CHUNK or len(gone) >= PHRASE_CHUNK:
                    self.catalog.check_locks()
                    later(partial(self._replace_phrases, rows[:], gone[:]))
                    rows.clear()
                    gone.clear()
                    self._progress("consolidate", done, total)
        self.catalog.check_locks()
        self._replace_phrases(rows, gone)
        self._progress("consolidate", done if total is None else total, total)

    def _mentions_of(self, phrases: Sequence[str], gone: list[str]) -> Iterator[list[MentionRow]]:
        """Mentions by phrase; a requested phrase that occurs nowhere any more goes to `gone`."""
        for some in batches(phrases, PHRASE_CHUNK):
            missing = set(some)
            for mentions in self.engine.mentions_by_phrase(some, limit=VECTORS_PER_PHRASE):
                missing.discard(mentions[0].phrase_id)
                yield mentions
            gone += sorted(missing)

    def _replace_phrases(self, rows: Sequence[PhraseRow], gone: Sequence[str]) -> None:
        self.engine.write_phrases(rows)
        self.engine.delete_phrases(gone)

    def _centroids(self, named: NamedFit) -> dict[str, Floats]:
        """One centroid per topic: the mean where a merged one has several."""
        parts: dict[str, list[Floats]] = {}
        for id_, centroid in zip(named.ids, named.fit.centroids, strict=True):
            parts.setdefault(id_, []).append(centroid)
        return {id_: unit(np.mean(some, axis=0)) for id_, some in parts.items()}

    def _sizes(self) -> dict[str, int]:
        found = self.engine.search(SearchRequest(limit=1, facets=("topic",), facet_size=MAX_TOPICS))
        return dict(found.facets["topic"])

    def _parent_sizes(self, named: NamedFit) -> dict[str, int]:
        """How many documents have any topic below each parent."""
        groups = named.groups()
        below = [(Filter("topic", "=", sorted(topics)),) for topics in groups.values()]
        counted = self.engine.count_topics(below) if below else []
        return {id_: part.documents for id_, part in zip(groups, counted, strict=True)}

    def _write_topics(
        self, named: NamedFit, leading: Mapping[str, tuple[str, ...]], *, rename: bool
    ) -> list[Topic]:
        """Write the topics of a fit into the engine.

        Args:
            leading: Topic id ► new leading phrases; other topics keep theirs.
            rename: Label them after these, or as a language model does, except for labels that a user has given.
        """
        sizes = self._sizes() | self._parent_sizes(named)
        known = self._known()
        terms = {term.topic: term for term in named.terms}
        centroids = self._centroids(named)
        topics = []
        for id_ in dict.fromkeys(named.ids):
            old = known.get(id_)
            phrases = leading.get(id_, old.phrases if old else ())
            term = terms.get(id_)
            locked = bool(term or (old and old.label_locked))
            label = self._labels.get(id_) or label_of(phrases)
            if old and not locked:
                phrases, label = lasting(phrases, label, old.label)
            if old and (
                locked or not rename or named.ids.count(id_) > 1
            ):  # one that users merged keeps its name
                label = old.label
            topics.append(
                Topic(
                    *(id_, term.label if term else label, phrases, sizes.get(id_, 0), centroids[id_], locked),
                    term=term.key if term else "",
                )
            )
        before = TopicTree(self.engine.topics())
        kept = {
            id_: (known[id_].label, known[id_].label_locked)
            for id_ in known.keys() & set(named.parents.values())
            if known[id_].label_locked
            or (not rename and {t.id for t in before.subtopics(id_)} == _below(named.parents, id_))
        }
        kept |= {term.topic: (term.label, True) for term in named.terms}
        keys = {term.topic: term.key for term in named.terms}
        topics = with_parents(topics, named.parents, sizes, kept, keys)
        if rename:
            topics = self._with_names_of_model(TopicTree(topics))
        self.catalog.check_locks()
        self.engine.write_topics(topics)
        return topics

    def _with_names_of_model(self, tree: TopicTree) -> list[Topic]:
        namer = TopicNamer(self.engine, self.catalog, self.collection, self._options, self._progress, tree)
        names = namer.names()
        return with_names(tree, names) if names else list(tree.topics)

    def _known(self) -> dict[str, TopicEntry]:
        """Topics of the catalog, and those of the engine that the catalog does not have yet.

        A generation that is not live has names and phrases of its own; names that users gave are those of the catalog.
        """
        known = {topic.id: topic for topic in self.catalog.topics(self.collection, state=None)}
        fresh = {topic.id: _entry(topic, None, self.run) for topic in self.engine.topics()}
        if self.ledger == self.collection:
            return fresh | known
        return known | {id_: _as_given(topic, known.get(id_)) for id_, topic in fresh.items()}


def _below(parents: Mapping[str, str], id_: str) -> set[str]:
    return {topic for topic, parent in parents.items() if parent == id_}


def _as_given(topic: TopicEntry, known: TopicEntry | None) -> TopicEntry:
    """A topic of a generation that is not live, with the name that a user gave in the live one, if there is one."""
    if known is None:
        return topic
    label = known.label if known.label_locked else topic.label
    return replace(topic, label=label, label_locked=known.label_locked)


def topic_entries(catalog: Catalog, collection: str, topics: Sequence[Topic], run: str) -> list[TopicEntry]:
    """Topics of an engine as entries for the catalog; those that are new to it were born in `run`."""
    known = {topic.id: topic for topic in catalog.topics(collection, state=None)}
    return [_entry(topic, known.get(topic.id), run) for topic in topics]


def _entry(topic: Topic, known: TopicEntry | None, run: str) -> TopicEntry:
    return TopicEntry(
        number=topic_number(topic.id),
        label=topic.label,
        phrases=topic.phrases,
        size=topic.size,
        label_locked=topic.label_locked,
        born_run=known.born_run if known else run,
        mined=topic.label if mined_label(topic.label, topic.phrases) == topic.label else "",
    )
