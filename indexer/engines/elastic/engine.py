"""The Elasticsearch engine: each method of the protocol sends a few requests through functions of other modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from indexer.common import Floats, batches
from indexer.engines.base import (
    Counted,
    Damage,
    EngineInfo,
    Filter,
    Fragment,
    HealthProblem,
    NearSentence,
    Ranking,
    Refused,
    SearchAnswer,
    SearchRequest,
    SignificantKeyphrase,
    WordQuery,
)
from indexer.engines.elastic import completion, health, mentions, rows, search, spelling, writing
from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.damage import missing_mentions
from indexer.engines.elastic.indices import Names, add_fields, crowded, grow_graph, index_state, prepare
from indexer.engines.elastic.reading import ChangeMarks, Freshness, by_id, stream, vectors_by_id
from indexer.engines.elastic.vector_cache import VectorCache
from indexer.engines.elastic.vectors import bad_vector
from indexer.engines.elastic.writing import Writer
from indexer.engines.spelling import may_be_misspelt
from indexer.engines.values import bindable, unencodable
from indexer.errors import SearchError, WriteRefused
from indexer.records import (
    Document,
    MentionRow,
    MinedDocument,
    Outline,
    PhraseRow,
    Refinement,
    StoredDocument,
    Topic,
    Vector,
    leaves,
)
from mappings import VectorIndex

REFINED_AT_ONCE = 256
DOCUMENTS_AT_ONCE = 256
PHRASES_AT_ONCE = 1_000
MAX_TERMS = 10_000  # ids in one query; servers take 65,536
KNOWN_WORDS = 50_000  # looked up before, that are kept
EVERYTHING: dict[str, Any] = {"match_all": {}}


class ElasticEngine:
    """One collection in one cluster: five indices behind aliases.

    Args:
        cluster: The connection; closed with the engine.
        prefix: Of the names of all indices of this program.
        collection: Name of the collection.
        dims: Length of the vectors.
        bundle: Recorded in new indices.
        vector_index: Vector index type of new indices.
        language: Of the texts.
        create: Create the indices when there are none.
        names: Of a generation that is not live.
        cache: Folder of the vectors that processes of this machine have written; see `VectorCache`.

    Raises:
        NotFound: The collection does not exist, and `create` is False.
        MappingMismatch: The indices hold vectors of another length, are of a newer version or of another program.
        EngineUnavailable, EngineForbidden, EngineIncompatible: The cluster does not answer, or rejects the request.
    """

    def __init__(
        self,
        cluster: Cluster,
        prefix: str,
        collection: str,
        dims: int,
        *,
        bundle: str = "",
        vector_index: VectorIndex = "auto",
        language: str = "english",
        create: bool = True,
        names: Names | None = None,
        cache: Path | None = None,
    ) -> None:
        self.names = names or Names.of(prefix, collection)
        self.dims = dims
        self._cluster = cluster
        self._state = prepare(
            cluster,
            self.names,
            dims,
            create=create,
            bundle=bundle,
            vector_index=vector_index,
            language=language,
        )
        self._complete = self._state.complete
        self._fresh = Freshness(cluster)
        self._marks = ChangeMarks(cluster, self.names, self._fresh)
        self._cache = VectorCache(cache, dims) if cache else None
        self._known_words: set[str] = set()  # words that documents have, as far as they were looked up
        self._topics = writing.Topics(cluster, self.names)
        self._writer = Writer(cluster, self.names, dims, self._fresh, self._state, self._cache)

    # -- writing ---------------------------------------------------------------------------------------------

    def store(self, documents: Sequence[Document]) -> list[Refused]:
        return self._writer.store(documents)

    def write_mined(self, rows: Sequence[MinedDocument]) -> list[Refused]:
        return self._writer.write_mined(rows, self._topic_names())

    def refine(self, rows: Iterable[Refinement]) -> list[Refused]:
        refused: list[Refused] = []
        for batch in batches(rows, REFINED_AT_ONCE):
            refused += self._writer.refine(batch, self._topic_names())
        return refused

    def write_duplicates(self, originals: Mapping[str, str | None]) -> None:
        self._add_fields()
        self._writer.write_duplicates(originals)

    def delete(self, ids: Sequence[str]) -> int:
        return sum(self._writer.delete(some) for some in batches(dict.fromkeys(ids), DOCUMENTS_AT_ONCE))

    def write_phrases(self, rows: Iterable[PhraseRow]) -> None:
        for batch in batches(rows, PHRASES_AT_ONCE):
            self._write_phrases({row.phrase_id: row for row in batch})

    def _write_phrases(self, batch: Mapping[str, PhraseRow]) -> None:
        for row in batch.values():
            texts = "\n".join([row.phrase_id, row.phrase, *row.surfaces, *row.topics])
            reason = bad_vector(row.vector, self.dims) or unencodable(texts)
            if reason:
                raise WriteRefused(f"Phrase {row.phrase_id} was refused: {reason}.")
        field = self._state.vectors[self.names.phrases]
        self._fresh.must(
            Action("index", self.names.phrases, id_, rows.of_phrase(row, field)) for id_, row in batch.items()
        )
        self._marks.clear(batch)

    def delete_phrases(self, ids: Iterable[str]) -> None:
        for batch in batches(ids, PHRASES_AT_ONCE):
            there = by_id(self._cluster, self.names.phrases, batch, [])
            self._fresh.must(Action("delete", self.names.phrases, id_) for id_ in there)
            self._marks.clear(rows.usable(batch))

    def _add_fields(self) -> None:
        if not self._complete:
            add_fields(self._cluster, self.names)
            self._complete = True

    def write_topics(self, topics_: Sequence[Topic]) -> None:
        self._add_fields()
        writing.write_topics(self._cluster, self.names, self._fresh, topics_, self.dims)

    def catch_up(self) -> None:
        self._fresh.doubt(*self.names.all)
        self._fresh.refresh(*self.names.all)

    def compact(self) -> None:
        """Remove mentions that a killed writer has left, and give large indices a graph. The server merges by itself."""
        self._writer.sweep()
        for alias in crowded(self._cluster, self._state):
            grow_graph(self._cluster, alias, self.dims)

    def wasteful(self) -> bool:
        return self._writer.has_lost_mentions() or bool(crowded(self._cluster, self._state))

    def superseded(self) -> bool:
        return index_state(self._cluster, self.names.documents) != self._state.indices[self.names.documents]

    def read_ahead(self) -> None:
        pass  # the server has caches of its own

    def retrying(self) -> AbstractContextManager[None]:
        return self._cluster.retrying()

    def close(self) -> None:
        with suppress(SearchError):  # nothing is lost: the server refreshes by itself a few seconds later
            self._fresh.refresh(*self.names.all)
        self._cluster.close()

    def _topic_names(self) -> rows.TopicNames:
        self._add_fields()
        self._fresh.refresh(self.names.topics)
        return writing.topic_names(self._cluster, self.names)

    # -- reading ---------------------------------------------------------------------------------------------

    def info(self) -> EngineInfo:
        names = self.names
        self._fresh.refresh(*names.all)
        having_run = {"exists": {"field": "bundle"}}
        without = {"bool": {"filter": [having_run], "must_not": [{"exists": {"field": "topics"}}]}}
        asked = [
            (names.documents, EVERYTHING),
            (names.documents, having_run),
            (names.documents, without),
            (names.mentions, EVERYTHING),
            (names.phrases, EVERYTHING),
        ]
        answers = self._cluster.search_many(
            [(index, {"size": 0, "track_total_hits": True, "query": query}) for index, query in asked]
        )
        documents, mined, without_topic, mentions, phrases = (
            int(answer["hits"]["total"]["value"]) for answer in answers
        )
        client = self._cluster.client
        stats = self._cluster.ask(client.indices.stats, index=names.all, metric="store")
        server = f"{self._cluster.product} {self._cluster.version()}".rstrip()
        return EngineInfo(
            documents=documents,
            mined=mined,
            mentions=mentions,
            phrases=phrases,
            topics=len(leaves(self.topics())),
            without_topic=without_topic,
            bytes=int(stats["_all"]["total"]["store"]["size_in_bytes"]),
            description=f"{server} at {self._cluster.where}, indices {names.stem}-*",
        )

    def problems(self, *, full: bool = False) -> list[HealthProblem]:
        if full:
            return list(health.problems(self._cluster, self.names))
        return health.urgent_problems(self._cluster, self.names)

    def damage(self, *, deep: bool = False) -> Damage:
        if not deep:
            return Damage()
        self._fresh.refresh(self.names.documents)
        self._fresh.refresh(self.names.mentions)
        return missing_mentions(self._cluster, self.names)

    def set_aside(self, damage: Damage) -> None:
        pass  # mining a document again replaces its rows

    def fields(self) -> list[str]:
        answer = self._cluster.ask(self._cluster.client.indices.get_mapping, index=self.names.documents)
        found: set[str] = set()
        for index in answer.values():
            found |= index["mappings"]["properties"]["meta"].get("properties", {}).keys()
        return sorted(map(self._state.fields.original, found))

    def documents(self, ids: Sequence[str], *, vectors: bool = False) -> list[StoredDocument]:
        found = by_id(self._cluster, self.names.documents, ids)
        having: dict[str, Vector] = {}
        if vectors:
            self._fresh.refresh(self.names.documents)
            mined = [id_ for id_, row in found.items() if row.get("bundle")]
            having = vectors_by_id(self._cluster, self.names.documents, mined)
        return [rows.to_stored(found[id_], having.get(id_)) for id_ in ids if id_ in found]

    def outlines(self, ids: Sequence[str]) -> list[Outline]:
        found = by_id(self._cluster, self.names.documents, ids, ["phrase_ids", "topics", "bundle"])
        mined = [row for row in found.values() if row.get("bundle")]
        return [Outline(tuple(row["phrase_ids"]), tuple(row["topics"])) for row in mined]

    def as_stored(self, vectors: Floats) -> Floats:
        return self._state.vectors[self.names.mentions].as_stored(vectors)

    def duplicates(self) -> dict[str, str]:
        self._fresh.refresh(self.names.documents)
        field = "duplicate_of"
        having = {"exists": {"field": field}}
        hits = stream(
            self._cluster, self.names.documents, having, sort=["id"], fields=[field], page=MAX_TERMS
        )
        return {hit["_id"]: hit["_source"][field] for hit in hits}

    def document_ids(self) -> Iterator[str]:
        return self._ids(self.names.documents, "id")

    def mentions(self, document_ids: Sequence[str]) -> list[MentionRow]:
        self._fresh.refresh(self.names.mentions)
        return mentions.mentions_of_documents(self._cluster, self.names, document_ids, self._cache)

    def mentions_by_phrase(
        self, phrase_ids: Sequence[str] | None = None, *, limit: int = 64
    ) -> Iterator[list[MentionRow]]:
        if phrase_ids is None:
            yield from self._marks.noted_before(self._by_phrase(None, limit))
            return
        for some in batches(sorted(rows.usable(phrase_ids)), MAX_TERMS):
            self._marks.note(some)
            yield from self._by_phrase(some, limit)

    def _by_phrase(self, phrase_ids: Sequence[str] | None, limit: int) -> Iterator[list[MentionRow]]:
        # Includes the writes of other processes: their marks may be noted, and are cleared with the phrase.
        self._fresh.refresh_all(self.names.mentions)
        where = self._cluster, self.names
        if phrase_ids is None:
            yield from mentions.all_by_phrase(*where, limit, self._cache)
        else:
            yield from mentions.mentions_of_phrases(*where, phrase_ids, limit, self._cache)

    def phrases(self, ids: Sequence[str]) -> list[PhraseRow]:
        found = by_id(self._cluster, self.names.phrases, ids)
        self._fresh.refresh(self.names.phrases)
        vectors = vectors_by_id(self._cluster, self.names.phrases, list(found))
        return [rows.to_phrase(found[id_], vectors[id_]) for id_ in ids if id_ in found and id_ in vectors]

    def changed_phrases(self) -> Iterator[str]:
        return self._ids(self.names.changes, "phrase_id")

    def phrase_ids(self) -> Iterator[str]:
        return self._ids(self.names.phrases, "phrase_id")

    def _ids(self, index: str, field: str) -> Iterator[str]:
        self._fresh.refresh(index)
        hits = stream(self._cluster, index, EVERYTHING, sort=[field], fields=[], page=MAX_TERMS)
        return (hit["_id"] for hit in hits)

    def topics(self) -> list[Topic]:
        self._fresh.refresh(self.names.topics)
        return self._topics.all()

    def topic_documents(self, topic_id: str, centroid: Vector, *, limit: int = 10) -> Ranking:
        search.checked(centroid, self.dims)
        self._fresh.refresh(self.names.documents)
        return search.of_topic(self._cluster, self.names, bindable(topic_id), centroid, limit, self._state)

    # -- searching -------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchAnswer:
        self._fresh.refresh(self.names.documents)
        names = self._state.fields
        answer = search.search(self._cluster, self.names, names.request(request), self.dims, self._state)
        return names.answer(answer)

    def spellings(self, words: Sequence[str]) -> dict[str, str]:
        asked = [
            word for word in dict.fromkeys(words) if may_be_misspelt(word) and word not in self._known_words
        ]
        if not asked:
            return {}
        self._fresh.refresh(self.names.documents)
        counted = spelling.documents_of(self._cluster, self.names, asked)
        if len(self._known_words) > KNOWN_WORDS:
            self._known_words.clear()
        self._known_words |= {word for word, documents in counted.items() if documents}
        missing = [word for word, documents in counted.items() if not documents]
        return spelling.near(self._cluster, self.names, missing) if missing else {}

    def keyphrases_with(self, beginning: str, *, limit: int) -> list[tuple[str, int]]:
        self._fresh.refresh(self.names.documents)
        return completion.keyphrases_with(self._cluster, self.names, beginning, limit)

    def titles_with(self, beginning: str, *, limit: int) -> list[tuple[str, str]]:
        self._fresh.refresh(self.names.documents)
        return completion.titles_with(self._cluster, self.names, beginning, limit)

    def scan(
        self, words: WordQuery | None = None, filters: tuple[Filter, ...] = ()
    ) -> Iterator[tuple[str, float]]:
        self._fresh.refresh(self.names.documents)
        return search.scan(self._cluster, self.names, words, self._state.fields.filters(filters))

    def count_topics(self, parts: Sequence[tuple[Filter, ...]]) -> list[Counted]:
        self._fresh.refresh(self.names.documents)
        return search.count_topics(self._cluster, self.names, [self._state.fields.filters(p) for p in parts])

    def significant_keyphrases(
        self, filters: tuple[Filter, ...], *, limit: int = 10
    ) -> list[SignificantKeyphrase]:
        self._fresh.refresh(self.names.documents)
        own = self._state.fields.filters(filters)
        return search.significant_keyphrases(self._cluster, self.names, own, limit)

    def hits(
        self, words: WordQuery, ids: Sequence[str], *, fragments: int = 3
    ) -> tuple[list[StoredDocument], Mapping[str, tuple[Fragment, ...]]]:
        self._fresh.refresh(self.names.documents)
        found = search.hits(self._cluster, self.names, words, ids, fragments)
        documents = [rows.to_stored(found[id_].row, None) for id_ in ids if id_ in found]
        marked = {id_: found[id_].fragments for id_ in ids if id_ in found and found[id_].fragments}
        return documents, marked

    def near_sentences(self, vector: Vector, ids: Sequence[str]) -> list[NearSentence]:
        search.checked(vector, self.dims)
        self._fresh.refresh(self.names.mentions, self.names.documents)
        return search.near_sentences(self._cluster, self.names, vector, rows.usable(ids), self._state)

    def nearest_phrases(self, vector: Vector, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        search.checked(vector, self.dims)
        self._fresh.refresh(self.names.phrases)
        return search.nearest_phrases(self._cluster, self.names, vector, limit, self._state)

    def nearest_mentions(
        self, vector: Vector, *, limit: int = 10, filters: tuple[Filter, ...] = ()
    ) -> list[tuple[MentionRow, float]]:
        search.checked(vector, self.dims)
        self._fresh.refresh(self.names.mentions, self.names.documents)
        own = self._state.fields.filters(filters)
        return search.nearest_mentions(self._cluster, self.names, vector, limit, own, self._state)
