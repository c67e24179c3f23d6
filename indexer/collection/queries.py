"""Methods that read a collection: searches, phrases, documents, topics."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from indexer.collection.base import POLL_INTERVAL_S, OpenCollection, on_live_generation
from indexer.engines.base import NO_DUPLICATES, Filter, SearchRequest
from indexer.engines.deadline import deadline
from indexer.errors import NotFound, QueryError
from indexer.keyphrases.absent import AbsentFinder
from indexer.pipeline.metrics import SEARCH_SECONDS
from indexer.pipeline.steps import mined
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Window
from indexer.records import Document, Keyphrase, MentionRow, PhraseRow, StoredDocument, Topic
from indexer.search.closeness import closeness_file, cosine_by_chance
from indexer.search.completion import Completion, completions
from indexer.search.facets import open_facets, without
from indexer.search.fields import FieldKinds, field_kinds
from indexer.search.query import check_number, without_syntax
from indexer.search.reasons import Reason, reasons
from indexer.search.related import LONGEST_PHRASE, near_topics, other_phrases, similar_documents
from indexer.search.results import Facet, Hit, Mode, SearchResults
from indexer.search.search import scan, search
from indexer.search.spelling import Spelled, spelled
from indexer.search.synonyms import synonyms_of
from indexer.search.timeline import Timeline, check_dates, timeline, whole_periods
from indexer.search.trends import Trends, topic_trends
from indexer.topics.explain import Why, explain
from indexer.topics.hierarchy import TopicTree
from indexer.topics.history import TopicDetails, TopicHistory, last_of, topic_history, topic_ids
from indexer.topics.naming import WhyName, why_name

if TYPE_CHECKING:
    from indexer.topics.map import TopicMap

MINED_FIELDS = ("topic", "topic_path", "keyphrase", "absent_keyphrase", "duplicate_of")
IN_CONTEXT = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


class QueryMethods(OpenCollection):
    """A collection to be read."""

    # -- searching ------------------------------------------------------------------------------------------

    @on_live_generation
    def search(
        self,
        query: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        facets: Sequence[str] = ("topic", "keyphrase"),
        facet_size: int = 10,
        limit: int = 10,
        offset: int = 0,
        diverse: bool = False,
        verbatim: bool = False,
    ) -> SearchResults:
        """Find documents by words, by meaning, or both; see `indexer.search.search.search`.

        Args:
            verbatim: Search the words as they are; otherwise those that no document has are searched as the nearest ones,
                and others with the user's own synonyms.
        """
        self.check_filters(filters, facets)
        encoder = None if mode == "words" or not query.strip() else self.encoder
        start = time.perf_counter()
        hidden = self._hidden(facets)
        with self._limited():
            asked = self._spelled(query, verbatim)
            results = search(
                self.engine,
                encoder,
                asked.query,
                mode=mode,
                filters=self._resolved(filters),
                facets=facets,
                facet_size=facet_size + len(hidden),
                limit=limit,
                offset=offset,
                absent=self.settings.absent_weight,
                diverse=diverse,
                chance=self._cosine_by_chance,
            )
        SEARCH_SECONDS.labels(mode).observe(time.perf_counter() - start)
        shown = without(results.facets, hidden, facet_size)
        return replace(
            results, query=query, facets=shown, corrections=asked.corrections, synonyms=asked.synonyms
        )

    def _hidden(self, facets: Sequence[str]) -> set[str]:
        """The topics that facets leave out, where they count topics."""
        if not {"topic", "topic_path"} & set(facets):
            return set()
        tree = self.topic_tree()
        return tree.by_id.keys() - tree.shown().by_id.keys()

    def _spelled(self, query: str, verbatim: bool) -> Spelled:
        """The query with corrections and synonyms, unless it is to be searched as typed."""
        from models.words import english_words

        if verbatim:
            return Spelled(query)
        own = synonyms_of(self.settings.synonyms)
        asked = spelled(self.engine, query, lambda: own.words | english_words())
        text, used = own.applied(asked.query)
        return replace(asked, query=text, synonyms=used)

    def _cosine_by_chance(self) -> float:
        """See `indexer.search.closeness`; worked out once for each encoder."""
        bundle, cosine = self._chance
        if bundle != self.settings.bundle:
            memory = closeness_file(self.settings.home, self.name)
            cosine = cosine_by_chance(self.engine, self.encoder, memory)
            self._chance = self.settings.bundle, cosine
        return cosine

    @on_live_generation
    def scan(
        self, query: str, *, mode: Mode = "words", filters: Sequence[Filter] = (), verbatim: bool = False
    ) -> Iterator[Hit]:
        """All documents that `search` lists on its pages, for export; see `indexer.search.search.scan`."""
        self.check_filters(filters)
        encoder = None if mode == "words" or not query.strip() else self.encoder
        return scan(
            self.engine,
            self._spelled(query, verbatim).query,
            self._resolved(filters),
            mode=mode,
            encoder=encoder,
            absent=self.settings.absent_weight,
        )

    def open_facets(
        self,
        query: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        fields: Sequence[str] = ("topic", "keyphrase"),
        size: int = 10,
        verbatim: bool = False,
        found: SearchResults | None = None,
    ) -> tuple[Facet, ...]:
        """Counts as in `search`, but of each field without its own filters; see `indexer.search.facets.open_facets`."""
        if not fields:
            return ()
        self.check_filters(filters, fields)
        hidden = self._hidden(fields)
        with self._limited():
            counted = open_facets(
                self.engine,
                query if found else self._spelled(query, verbatim).query,
                mode=mode,
                filters=self._resolved(filters),
                fields=fields,
                size=size + len(hidden),
                absent=self.settings.absent_weight,
                found=found,
            )
        return without(counted, hidden, size)

    def timeline(
        self,
        query: str,
        field: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        unit: str | None = None,
        verbatim: bool = False,
        found: SearchResults | None = None,
    ) -> Timeline | None:
        """How many documents that match there are in each year, month or day; None where a field has no dates."""
        self.check_filters(filters, [field])
        with self._limited():
            return timeline(
                self.engine,
                query if found else self._spelled(query, verbatim).query,
                mode=mode,
                filters=self._resolved(filters),
                field=field,
                absent=self.settings.absent_weight,
                unit=unit,
                found=found,
            )

    def _limited(self) -> AbstractContextManager[None]:
        return deadline(self.settings.search_timeout)

    def field_kinds(self) -> FieldKinds:
        """The user's fields that suit filters, and the one with the date."""
        return field_kinds(self.engine)

    def check_filters(self, filters: Sequence[Filter], fields: Sequence[str] = ()) -> None:
        """Refuse a field that no document has, and an invalid date: they would find nothing.

        Raises:
            QueryError: There is one; the hint names the known fields.
        """
        check_number(filters)
        if NO_DUPLICATES in filters and sum(c.field == NO_DUPLICATES.field for c in filters) > 1:
            raise QueryError(
                "Duplicates are hidden and asked for by a condition on duplicate_of.",
                hint="Leave out one of both.",
            )
        self._check_fields([*(condition.field for condition in filters), *fields])
        check_dates(self.engine, filters)

    def _check_fields(self, names: Sequence[str]) -> None:
        at, known = self._fields
        if time.monotonic() - at <= POLL_INTERVAL_S and set(names).issubset(known):
            return
        known = (*MINED_FIELDS, *self.engine.fields())
        self._fields = time.monotonic(), known
        for name in names:
            if name not in known:
                from difflib import get_close_matches

                near = get_close_matches(name.casefold(), {k.casefold(): k for k in known}, n=1)
                meant = next((k for k in known if near and k.casefold() == near[0]), "")
                raise QueryError(
                    f"There is no field '{name}' in collection '{self.name}'.",
                    hint=f"Did you mean {meant}?" if meant else f"There are: {', '.join(known)}.",
                )

    def _resolved(self, filters: Sequence[Filter]) -> list[Filter]:
        """Conditions for the engine: topics by their ids, and dates as precise as those of the documents."""
        return whole_periods(self.engine, [self._with_topic_ids(condition) for condition in filters])

    def _with_topic_ids(self, condition: Filter) -> Filter:
        """A topic may be named by id or label; a retired id means all its successors, a parent all that is below it."""
        if condition.field not in ("topic", "topic_path"):
            return condition
        tree = self.topic_tree()
        named = condition.value if isinstance(condition.value, list) else [condition.value]
        names = [last_of(str(name), tree) if condition.field == "topic_path" else str(name) for name in named]
        found = [below for name in names for id_ in self._topic_ids(name) for below in tree.below(id_)]
        ids = list(dict.fromkeys(found))
        return Filter("topic", condition.operator, ids[0] if len(ids) == 1 else ids)

    @on_live_generation
    def reasons(self, results: SearchResults) -> dict[str, list[Reason]]:
        """Why each hit was found: document id ► its phrases that have a word of the query or are near it."""
        vector = None
        if results.mode != "words" and any(c.isalnum() for c in results.query):
            vector = self.encoder.encode_phrases([results.query])[0]
        with self._limited():
            return reasons(self.engine, results, vector)

    def completions(self, beginning: str, *, limit: int = 8) -> list[Completion]:
        """Topics, keyphrases and titles that begin so; see `indexer.search.completion`."""
        with self._limited():
            return completions(self.engine, beginning, limit, hidden=self._hidden(("topic",)))

    # -- phrases --------------------------------------------------------------------------------------------

    @on_live_generation
    def phrases(self, phrase: str, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        """Phrases of the collection by similarity to a phrase without context, with the cosine."""
        if not any(c.isalnum() for c in phrase):
            raise QueryError(f"The phrase {phrase!r} has no letter or digit.")
        vector = self.encoder.encode_phrases([phrase])[0]
        with self._limited():
            return self.engine.nearest_phrases(vector, limit=limit)

    @on_live_generation
    def other_phrases(self, query: str, *, limit: int = 4) -> list[tuple[PhraseRow, float]]:
        """Phrases of the collection that mean nearly what a query says in other words, with the cosine.

        None for a query of more than five words, or one with other syntax.
        """
        if not query.strip() or len(query.split()) > LONGEST_PHRASE or query != without_syntax(query):
            return []
        vector = self.encoder.encode_phrases([query])[0]
        with self._limited():
            return other_phrases(self.engine, query, vector, limit)

    @on_live_generation
    def phrases_in(
        self, text: str, *, limit: int = 10, filters: Sequence[Filter] = ()
    ) -> list[tuple[MentionRow, float]]:
        """Mentions similar to the one marked with ``[[…]]`` in a sentence, in its context.

        Raises:
            QueryError: Nothing, or more than one thing, is marked.
        """
        marked = IN_CONTEXT.findall(text)
        if text.count("[[") != 1 or not any(c.isalnum() for c in "".join(marked)):
            raise QueryError(
                f"Exactly one phrase must be marked with [[ and ]], not as in {text!r}.",
                hint="For example: the cell [[membrane]] is thin.",
                command='indexer phrases --in "the cell [[membrane]] is thin"',
            )
        self.check_filters(filters)
        start = text.index("[[")
        plain = IN_CONTEXT.sub(r"\1", text)
        encoding = self.encoder.encode([Window(plain, ((start, start + len(marked[0])),))])[0]
        chosen = tuple(self._resolved(filters))
        with self._limited():
            return self.engine.nearest_mentions(encoding.mentions[0], limit=limit, filters=chosen)

    # -- documents ------------------------------------------------------------------------------------------

    def document(self, id_: str) -> StoredDocument:
        """One document with its keyphrases and topics.

        Raises:
            NotFound: There is no such document.
        """
        found = self.engine.documents([id_])
        if not found:
            raise NotFound(
                f"There is no document '{id_}' in collection '{self.name}'.",
                hint="Ids are exact; search lists them.",
            )
        return found[0]

    def duplicates(self, id_: str) -> list[str]:
        """Ids of the near duplicates of a document, ascending."""
        return [found for found, _ in self.engine.scan(None, (Filter("duplicate_of", "=", id_),))]

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Document id ► title, else file, else id."""
        found = {stored.document.id: stored.document.name for stored in self.engine.documents(ids)}
        return {id_: found.get(id_, id_) for id_ in ids}

    def mentions(self, id_: str) -> list[MentionRow]:
        """The phrases that are kept for a document, keyphrases or not, with every offset."""
        return self.engine.mentions([id_])

    def similar(self, id_: str, *, limit: int = 5) -> list[tuple[StoredDocument, float]]:
        """Documents that are nearest to one in meaning, with the cosine.

        Raises:
            NotFound: There is no such document.
        """
        self.document(id_)
        with self._limited():
            return similar_documents(self.engine, id_, limit)

    def documents(self) -> Iterator[StoredDocument]:
        """All documents, by id; for export."""
        from indexer.common import batches

        for some in batches(self.engine.document_ids(), 256):
            yield from self.engine.documents(some)

    def keyphrases(self, document: Document, *, limit: int | None = None) -> tuple[Keyphrase, ...]:
        """Keyphrases of one text, the absent ones last; nothing is stored, and the collection is not used."""
        prepared = self._preparer.prepare([document])
        encoded = encode_documents(self.encoder, [document], prepared)[0]
        ranker = self.encoder.ranker
        found = mined(document, encoded, self.encoder.bundle, "", limit or self.settings.keyphrases, ranker)
        if ranker is None:
            return found.keyphrases
        finder = AbsentFinder(ranker, ranker.vocabulary)
        absent = finder.find(document, found.vector, found.mentions, self.settings.absent_keyphrases)
        return (*found.keyphrases, *absent)

    # -- topics ---------------------------------------------------------------------------------------------

    def topics(self) -> list[Topic]:
        """The topics that documents have: pinned ones, then the others, the largest first."""
        return list(self.topic_tree().leaves)

    def topic_tree(self) -> TopicTree:
        """All topics with the parents above them; `TopicTree.shown` leaves out those that a user has hidden."""
        marks = self.catalog.topic_marks(self.name)
        found = ((topic, *marks.get(topic.id, ("", ""))) for topic in self.engine.topics())
        return TopicTree([replace(topic, mark=mark, mined=mined) for topic, mark, mined in found])

    def topic_id(self, name: str) -> str:
        """The id of a live topic by id, number or label. A retired id leads to its most similar successor.

        Raises:
            NotFound: There is no such topic; the message lists near ones.
        """
        return self._topic_ids(name)[0]

    def _topic_ids(self, name: str) -> list[str]:
        return topic_ids(name, self.engine.topics(), self.catalog, self.name)

    def topic(self, name: str, *, documents: int = 5) -> TopicDetails:
        """A topic by id or label, with its most typical documents and its history."""
        id_, *others = self._topic_ids(name)
        tree = self.topic_tree()
        topic = tree.by_id[id_]
        below = (Filter("topic", "=", tree.below(id_)),)
        with self._limited():
            if tree.subtopics(id_):
                request = SearchRequest(vector=topic.centroid, filters=below, limit=documents)
                leading = self.engine.search(request).meaning
            else:
                leading = self.engine.topic_documents(id_, topic.centroid, limit=documents)
            significant = self.engine.significant_keyphrases(below)
        return TopicDetails(
            topic=topic,
            above=tree.path(id_)[:-1],
            subtopics=tree.subtopics(id_),
            below=tuple(tree.below(id_)),
            others=tuple(tree.by_id[other] for other in others),
            documents=tuple(self.engine.documents(leading.ids if leading else ())),
            significant_keyphrases=tuple(significant),
            history=self.topic_history(id_),
        )

    def near_topics(self, name: str, *, limit: int = 5) -> list[tuple[Topic, float]]:
        """Topics that are nearest to one in meaning, with the cosine."""
        id_ = self.topic_id(name)
        tree = self.topic_tree()
        tree = tree if tree.by_id[id_].mark == "hidden" else tree.shown()
        level = tree.parents if tree.subtopics(id_) else tree.leaves
        return near_topics(level, id_, limit)

    def topic_map(self, *, tall: bool = False) -> TopicMap:
        """Positions of topics in a plane, similar ones near each other; it keeps its shape from fit to fit."""
        from indexer.topics.map import topic_map

        tree = self.topic_tree().shown()
        groups = {topic.id: tree.path(topic.id)[0].id for topic in tree.leaves}
        memory = self.settings.home / "maps" / f"{self.name}.json"
        return topic_map(tree.leaves, memory, tall=tall, groups=groups if tree.parents else None)

    def topic_trends(self, field: str = "") -> Trends | None:
        """Which topics grow; None where documents have no dates, or too many different ones.

        Args:
            field: The field with the date; empty means the most likely one.
        """
        field = field or self.field_kinds().date
        if not field:
            return None
        self._check_fields([field])
        with self._limited():
            return topic_trends(self.engine, field)

    def topic_history(self, name: str) -> TopicHistory:
        """The history of a topic, by id or label; also of a retired one, by its id.

        Raises:
            NotFound: There is no such topic, and never was.
        """
        return topic_history(name, self.engine.topics(), self.catalog, self.name)

    def why_name(self, name: str) -> WhyName:
        """Where the name of a topic comes from; what a language model was shown of it, and said.

        Raises:
            NotFound: There is no such topic.
        """
        id_ = self.topic_id(name)
        return why_name(id_, self.topic_tree(), self.catalog.namings(self.name))

    def why(self, document_id: str) -> Why:
        """The votes of a document's phrases for topics, with similarities and runners-up."""
        self.document(document_id)
        return explain(self.engine, self.catalog, self.name, document_id)
