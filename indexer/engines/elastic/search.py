"""Searches: rankings by words and by vector, counts, highlights, nearest rows. The free licence is enough.

Each answer takes one request; several searches share one. `indexer.search.search` fuses rankings, which the server does
only with a licence.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from indexer.common import batches
from indexer.engines.base import (
    MIN_DOCUMENTS,
    MOSTLY,
    Counted,
    Filter,
    Fragment,
    NearSentence,
    Ranking,
    SearchAnswer,
    SearchRequest,
    SignificantKeyphrase,
    WordQuery,
    nearest_of_each,
)
from indexer.engines.elastic import queries, rows
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import IndexState, Names
from indexer.engines.elastic.mentions import joined
from indexer.engines.elastic.reading import PAGE, VECTORS, stream
from indexer.engines.elastic.rows import Row
from indexer.engines.elastic.vectors import VectorField, bad_vector, vector_of
from indexer.engines.fragments import fragment_rank, fragments_around, marked_ranges
from indexer.engines.values import restored
from indexer.errors import MappingMismatch
from indexer.records import MentionRow, PhraseRow, Vector

DEEPEST = 10_000  # hits of one search, and candidates of one vector search: limits of the server
SPELLING = {"keyphrase": "keyphrases", "absent_keyphrase": "keyphrases_absent"}  # facet ► field as spelled
MAX_TOPICS = 1_000  # of a part; one answer holds at most 65,536 numbers
MIN_SIGNIFICANT = 100  # minimum number of significant keyphrases to request
MOST_MENTIONS = 32  # rows of a document; version 0.1.0 wrote so many
MARKED_CHARACTERS = 1_000_000  # of a field; the server marks nothing after them
MAX_JOINED = 50_000  # documents that a filter may leave to be part of a vector search by their ids
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")

# Columns, not stored fields: of these the server decompresses a block for each of a thousand hits.
IDS_ONLY = {"stored_fields": "_none_", "docvalue_fields": ["id"]}

Query = dict[str, Any]


def search(
    cluster: Cluster, names: Names, request: SearchRequest, dims: int, state: IndexState
) -> SearchAnswer:
    conditions = queries.of_filters(request.filters)
    limit = max(0, min(request.limit, DEEPEST))
    nearest = limit if request.nearest is None else max(0, min(request.nearest, DEEPEST))
    searches = []
    listed = request.words is not None or request.vector is None
    scored = False
    if listed or request.facets:
        query, scored = queries.of_words(request.words) if request.words else ({"match_all": {}}, False)
        body: Query = {
            "query": {"bool": {"must": [query], "filter": conditions}},
            "size": limit if listed else 0,
            # Equal scores come by id; without scores the id alone is the order.
            "sort": [*(["_score"] if scored else []), {"id": "asc"}],
            "track_total_hits": True,
            **IDS_ONLY,
        }
        if request.facets:
            body["aggs"] = counting(request.facets, request.facet_size)
        searches.append((names.documents, body))
    if request.vector is not None:
        checked(request.vector, dims)
        allowed = [*conditions, *queries.without(request.words)]
        having = {"bool": {"filter": [*allowed, {"exists": {"field": "vector"}}]}}
        searches.append((names.documents, {"size": 0, "track_total_hits": True, "query": having}))
        if nearest:
            near = _nearest(request.vector, nearest, allowed, state.vectors[names.documents])
            searches.append((names.documents, {**near, **IDS_ONLY}))
    answers = cluster.search_many(searches)
    words = meaning = None
    counts: Mapping[str, tuple[tuple[str, int], ...]] = {}
    if listed or request.facets:
        answer = answers.pop(0)
        words = _by_words(answer["hits"], scored) if listed else None
        counts = counted(answer.get("aggregations", {}), request.facets, request.facet_size)
    if request.vector is not None:
        total = int(answers[0]["hits"]["total"]["value"])
        hits = state.same(names.documents, answers[1]["hits"]["hits"]) if nearest else []
        best = [(-cosine(hit), _id(hit)) for hit in hits]
        best.sort()
        meaning = Ranking(tuple(id_ for _, id_ in best), tuple(-score for score, _ in best), total)
    return SearchAnswer(words, meaning, counts)


def _id(hit: Query) -> str:
    return str(hit["fields"]["id"][0])


def _by_words(hits: Query, scored: bool) -> Ranking:
    return Ranking(
        tuple(_id(hit) for hit in hits["hits"]),
        tuple(hit["_score"] if scored else 0.0 for hit in hits["hits"]),
        int(hits["total"]["value"]),
    )


def scan(
    cluster: Cluster, names: Names, words: WordQuery | None, filters: Sequence[Filter]
) -> Iterator[tuple[str, float]]:
    """Iterate over all matching documents, in pages over one point in time."""
    query, scored = queries.of_words(words) if words else ({"match_all": {}}, False)
    requested = {"bool": {"must": [query], "filter": queries.of_filters(filters)}}
    sort = ["_score", "id"] if scored else ["id"]
    for hit in stream(cluster, names.documents, requested, sort=sort, fields=[], page=DEEPEST):
        yield hit["_id"], float(hit["_score"]) if scored else 0.0


def significant_keyphrases(
    cluster: Cluster, names: Names, filters: Sequence[Filter], limit: int
) -> list[SignificantKeyphrase]:
    """Return keyphrases that are more frequent in the mined documents under the filters than in all."""
    if limit <= 0:
        return []
    mined = {"exists": {"field": "bundle"}}
    terms = {
        "field": "keyphrase_keys",
        "size": max(limit, MIN_SIGNIFICANT),  # the server does not define the order of ties
        "min_doc_count": MIN_DOCUMENTS,
        "jlh": {},
        "background_filter": mined,  # otherwise nested and removed rows would count
    }
    answer = cluster.search(
        index=names.documents,
        query={"bool": {"filter": [*queries.of_filters(filters), mined]}},
        size=0,
        aggs={"significant": {"significant_terms": terms}},
        track_total_hits=False,
    )["aggregations"]["significant"]
    ranked = sorted(answer["buckets"], key=lambda b: (-b["score"], -b["doc_count"], b["key"]))[:limit]
    spelling = _spellings(cluster, names, [bucket["key"] for bucket in ranked])
    return [
        SignificantKeyphrase(
            spelling[bucket["key"]], bucket["doc_count"], bucket["bg_count"], bucket["score"]
        )
        for bucket in ranked
    ]


def count_topics(cluster: Cluster, names: Names, parts: Sequence[tuple[Filter, ...]]) -> list[Counted]:
    """Count the documents of each part, and how many of them have each topic."""
    if not parts:
        return []
    conditions = [{"bool": {"filter": queries.of_filters(filters)}} for filters in parts]
    topics = {"terms": {"field": queries.OURS["topic"], "size": MAX_TOPICS}}
    answer = cluster.search(
        index=names.documents,
        size=0,
        aggs={"parts": {"filters": {"filters": conditions}, "aggs": {"topics": topics}}},
        track_total_hits=False,
    )["aggregations"]["parts"]
    return [
        Counted(part["doc_count"], {one["key"]: one["doc_count"] for one in part["topics"]["buckets"]})
        for part in answer["buckets"]
    ]


def _spellings(cluster: Cluster, names: Names, keys: Sequence[str]) -> dict[str, str]:
    """Map case-folded keyphrases to their spelling in a document."""
    body = {"size": 1, "sort": ["_doc"], "_source": ["keyphrases"], "track_total_hits": False}
    requests = [(names.documents, {**body, "query": {"term": {"keyphrase_keys": key}}}) for key in keys]
    found: dict[str, str] = {}
    for key, answer in zip(keys, cluster.search_many(requests) if requests else [], strict=True):
        texts = [text for hit in answer["hits"]["hits"] for text in hit["_source"]["keyphrases"]]
        found[key] = next((text for text in texts if text.casefold() == key), key)
    return found


# -- by vector -----------------------------------------------------------------------------------------------


def _nearest(vector: Vector, limit: int, conditions: Sequence[Query], field: VectorField) -> Query:
    """Return a search for the nearest rows. Filters apply during the search, so they never cost hits."""
    requested = min(limit, DEEPEST)
    # Under a filter, a flat index of 9.2 also returns rows that have no vector.
    allowed = [*conditions, {"exists": {"field": "vector"}}] if conditions else []
    near = field.search(vector, requested, DEEPEST, allowed)
    return {**near, "size": requested, "track_total_hits": False}


def cosine(hit: Query) -> float:
    """Return the cosine of a hit: the server's score is (1 + cosine) / 2, so that none is negative."""
    return 2.0 * float(hit["_score"]) - 1.0


def of_topic(
    cluster: Cluster, names: Names, topic_id: str, centroid: Vector, limit: int, state: IndexState
) -> Ranking:
    """Return representative documents of a topic."""
    having = {"term": {"topics": topic_id}}
    counting = {"size": 0, "track_total_hits": True, "query": having}
    total = int(cluster.search_many([(names.documents, counting)])[0]["hits"]["total"]["value"])
    mainly = _mainly_about(topic_id, state)
    best: list[tuple[float, str]] = []
    for condition in ({"filter": [having, mainly]}, {"filter": [having], "must_not": [mainly]}):
        requested = min(limit, total) - len(best)
        if requested > 0:
            near = _nearest(centroid, requested, [{"bool": condition}], state.vectors[names.documents])
            answer = cluster.search_many([(names.documents, {**near, **IDS_ONLY})])[0]
            hits = state.same(names.documents, answer["hits"]["hits"])
            best += sorted((-cosine(hit), _id(hit)) for hit in hits)
    return Ranking(tuple(id_ for _, id_ in best), tuple(-score for score, _ in best), total)


def _mainly_about(topic_id: str, state: IndexState) -> Query:
    """Return the condition that a topic has at least the weight `MOSTLY`."""
    if not state.nested:
        return {"term": {"main_topics": topic_id}}
    weight = {"range": {"topic_weights.weight": {"gte": MOSTLY}}}
    conditions = [{"term": {"topic_weights.topic": topic_id}}, weight]
    return {"nested": {"path": "topic_weights", "query": {"bool": {"filter": conditions}}}}


def checked(vector: Vector, dims: int) -> None:
    reason = bad_vector(vector, dims)
    if reason:
        raise MappingMismatch(
            f"The search cannot be made: {reason}.",
            hint="Use the bundle that the collection was indexed with.",
        )


def nearest_phrases(
    cluster: Cluster, names: Names, vector: Vector, limit: int, state: IndexState
) -> list[tuple[PhraseRow, float]]:
    hits = near_rows(cluster, names.phrases, vector, limit, [], state)
    found = [
        (rows.to_phrase(hit["_source"], near), cosine(hit))
        for hit in hits
        if (near := vector_of(hit)) is not None
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].phrase_id))


def near_rows(
    cluster: Cluster,
    index: str,
    vector: Vector,
    limit: int,
    conditions: Sequence[Query],
    state: IndexState,
    *,
    vectors: bool = True,
) -> list[Query]:
    """Return the nearest rows of an index as hits."""
    if limit <= 0:
        return []
    body = _nearest(vector, limit, conditions, state.vectors[index])
    if vectors:
        body["fields"] = ["vector"]
    else:
        body["_source"] = {"excludes": VECTORS}
    return state.same(index, cluster.search_many([(index, body)])[0]["hits"]["hits"])


def near_sentences(
    cluster: Cluster, names: Names, vector: Vector, ids: Sequence[str], state: IndexState
) -> list[NearSentence]:
    """Return the sentences of these documents. With few documents under the filter, the server compares all mentions."""
    limit = min(DEEPEST, MOST_MENTIONS * len(ids))
    if not limit:
        return []
    near = _nearest(vector, limit, [{"terms": {"document_id": ids}}], state.vectors[names.mentions])
    near["_source"] = ["document_id", "phrase_id", "sentence"]
    having = {"query": {"ids": {"values": ids}}, "size": len(ids), "_source": rows.JOINED_FIELDS}
    mentions, documents = cluster.search_many([(names.mentions, near), (names.documents, having)])
    choices = {hit["_id"]: rows.to_choice(hit["_source"]) for hit in documents["hits"]["hits"]}
    hits = state.same(names.mentions, mentions["hits"]["hits"])
    return nearest_of_each(_sentences(hits, choices))


def _sentences(hits: Iterable[Row], choices: Mapping[str, rows.Choice]) -> Iterator[tuple[str, str, float]]:
    for hit in hits:
        row = hit["_source"]
        choice = choices.get(row["document_id"])
        if choice and row["phrase_id"] in choice.topics:
            yield row["document_id"], choice.sentence(row["sentence"]), cosine(hit)


def nearest_mentions(
    cluster: Cluster, names: Names, vector: Vector, limit: int, filters: Sequence[Filter], state: IndexState
) -> list[tuple[MentionRow, float]]:
    """Return mention rows by cosine. Filters on user fields apply directly, those on topics and keyphrases by the ids of
    their documents."""
    own = [condition for condition in filters if condition.field not in queries.OURS]
    of_document = [condition for condition in filters if condition.field in queries.OURS]
    conditions = queries.of_filters(own)
    if of_document:
        ids = _under(cluster, names, filters)
        if len(ids) > MAX_JOINED:
            # With so many passing documents, enough of the nearest rows are theirs.
            near = near_rows(cluster, names.mentions, vector, DEEPEST, conditions, state, vectors=False)
            ids = _passing(cluster, names, near, filters, limit)
        conditions = [*conditions, {"terms": {"document_id": ids}}]
    hits = near_rows(cluster, names.mentions, vector, limit, conditions, state)
    scores = {(hit["_source"]["document_id"], hit["_source"]["phrase_id"]): cosine(hit) for hit in hits}
    found = [
        rows.to_mention(hit["_source"], choice, vector_of(hit))
        for hit, choice in joined(cluster, names, hits)
    ]
    ranked = [(row, scores[row.document_id, row.phrase_id]) for row in found]
    return sorted(ranked, key=lambda pair: (-pair[1], pair[0].document_id, pair[0].phrase_id))


def _under(cluster: Cluster, names: Names, filters: Sequence[Filter]) -> list[str]:
    """Return the ids of documents that pass the filters, at most `MAX_JOINED` + 1."""
    query = {"bool": {"filter": queries.of_filters(filters)}}
    with closing(stream(cluster, names.documents, query, sort=["id"], fields=[], page=DEEPEST)) as hits:
        return [hit["_id"] for hit in islice(hits, MAX_JOINED + 1)]


def _passing(
    cluster: Cluster, names: Names, hits: Sequence[Row], filters: Sequence[Filter], limit: int
) -> list[str]:
    """Return documents of the nearest rows that pass the filters; enough for `limit` rows, if they exist."""
    passing: list[str] = []
    for some in batches(dict.fromkeys(hit["_source"]["document_id"] for hit in hits), PAGE):
        query = {"bool": {"filter": [*queries.of_filters(filters), {"ids": {"values": some}}]}}
        found = cluster.search(index=names.documents, query=query, size=len(some), source=False)
        passing += [hit["_id"] for hit in found["hits"]["hits"]]
        if len(passing) >= limit:
            break
    return passing


# -- counts --------------------------------------------------------------------------------------------------


def counting(fields: Sequence[str], size: int) -> Query:
    """Return aggregations, which count all matches. Most frequent first, ties by value."""
    requests: Query = {}
    for number, name in enumerate(fields):
        field = queries.field_of(name)
        if field is None or size <= 0:
            continue
        order = [{"_count": "desc"}, {"_key": "asc"}]
        counts: Query = {"terms": {"field": field, "size": size, "order": order}}
        if name in SPELLING:
            # Counted case-folded; one document provides the spelling.
            counts["terms"]["collect_mode"] = "breadth_first"
            spelling = {"top_hits": {"size": 1, "sort": ["_doc"], "_source": [SPELLING[name]]}}
            counts["aggs"] = {"spelling": spelling}
        requests[str(number)] = counts
    return requests


def counted(answer: Query, fields: Sequence[str], size: int) -> dict[str, tuple[tuple[str, int], ...]]:
    counts: dict[str, tuple[tuple[str, int], ...]] = {}
    for number, name in enumerate(fields):
        buckets = answer.get(str(number), {}).get("buckets", [])
        found = [(_shown(bucket), int(bucket["doc_count"])) for bucket in buckets]
        if name not in queries.OURS:
            found.sort(key=lambda pair: (-pair[1], *_by_size(pair[0])))
        counts[name] = tuple(found)
    return counts


def _shown(bucket: Query) -> str:
    key = str(bucket["key"])
    if "spelling" in bucket:
        for texts in bucket["spelling"]["hits"]["hits"][0]["_source"].values():
            for text in [texts] if isinstance(texts, str) else texts:
                if key in (text.casefold(), text.lower()):
                    return str(text)
    return key


def _by_size(text: str) -> tuple[bool, float, str]:
    """Sort numbers by size and before texts."""
    number = float(text) if NUMBER.fullmatch(text) else None
    return number is None, number or 0.0, text


# -- highlights ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marked:
    """The row of a document, and its fragments, best first."""

    row: Row
    fragments: tuple[Fragment, ...]


def hits(
    cluster: Cluster, names: Names, query: WordQuery, ids: Sequence[str], limit: int
) -> Mapping[str, Marked]:
    """Return documents with fragments around the required clauses, at most `limit` each.

    The server marks the words in whole fields; `fragments_around` cuts the excerpts, as for every engine.
    """
    requested = queries.marked_clauses(query) if limit > 0 else []
    seal = secrets.token_hex(8)  # occurs in no text
    opening, closing = f"<{seal}>", f"</{seal}>"
    found: dict[str, Marked] = {}
    for some in batches(rows.usable(ids), 500):
        answer = cluster.search(
            index=names.documents,
            query={"ids": {"values": some}},
            size=len(some),
            source={"excludes": VECTORS},
            highlight={
                "highlight_query": {"bool": {"should": requested}},
                "number_of_fragments": 0,
                "max_analyzed_offset": MARKED_CHARACTERS,
                "pre_tags": [opening],
                "post_tags": [closing],
                "fields": {"title": {}, "text": {}},
            },
        )
        for hit in answer["hits"]["hits"]:
            found[hit["_id"]] = Marked(hit["_source"], _fragments(hit, opening, closing)[:limit])
    return found


def _fragments(hit: Query, opening: str, closing: str) -> tuple[Fragment, ...]:
    row = hit["_source"]
    texts = restored(row["title"], row["text"], row.get("nuls"))
    found = [
        fragment
        for field, original in zip(("title", "text"), texts, strict=True)
        for marked in hit.get("highlight", {}).get(field, [])
        for fragment in fragments_around(field, original, marked_ranges(marked, opening, closing))
    ]
    return tuple(sorted(found, key=fragment_rank))
