"""Reading mentions: rows with vectors, joined with what their documents say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from typing import Any

from indexer.common import batches
from indexer.engines.base import Filter
from indexer.engines.elastic import queries, rows
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import IndexState, Names
from indexer.engines.elastic.reading import PAGE, by_id, stream, vector_of
from indexer.engines.elastic.rows import Choice, Row
from indexer.engines.elastic.search import DEEPEST, cosine, near_rows
from indexer.records import MentionRow, Vector

DOCUMENTS_AT_ONCE = 250
MAX_JOINED = 50_000  # documents that a filter may leave to be part of a vector search by their ids
Query = dict[str, Any]


def of_documents(cluster: Cluster, names: Names, ids: Sequence[str]) -> list[MentionRow]:
    """By document in the order given, then by score."""
    found: dict[str, list[MentionRow]] = {}
    for some in batches(rows.usable(ids), DOCUMENTS_AT_ONCE):
        query = {"terms": {"document_id": some}}
        hits = stream(cluster, names.mentions, query, sort=["document_id", "phrase_id"], vector="vector")
        for row in _joined(cluster, names, ((hit, vector_of(hit)) for hit in hits)):
            found.setdefault(row.document_id, []).append(row)
    for group in found.values():
        group.sort(key=lambda row: (-row.score, row.phrase_id))
    return [row for id_ in ids for row in found.get(id_, [])]


def by_phrase(
    cluster: Cluster, names: Names, ids: Sequence[str] | None, limit: int
) -> Iterator[list[MentionRow]]:
    """Groups in order of phrase id, of all when `ids` is None; at most `limit` rows of each carry their vector."""
    query: Query = {"match_all": {}} if ids is None else {"terms": {"phrase_id": list(ids)}}
    hits = stream(
        cluster, names.mentions, query, sort=["phrase_id", "chance", "document_id"], vector="vector"
    )
    joined = _joined(cluster, names, _limited(hits, limit))
    for _, group in groupby(joined, key=lambda row: row.phrase_id):
        yield list(group)


def _limited(hits: Iterable[Row], limit: int) -> Iterator[tuple[Row, Vector | None]]:
    """Hits with their vectors, of each phrase the first `limit` only: the others are not worth reading."""
    last, count = None, 0
    for hit in hits:
        phrase = hit["_source"]["phrase_id"]
        count = count + 1 if phrase == last else 1
        last = phrase
        yield hit, vector_of(hit) if count <= limit else None


def _joined(
    cluster: Cluster, names: Names, hits: Iterable[tuple[Row, Vector | None]]
) -> Iterator[MentionRow]:
    """Rows of the mentions that their documents name."""
    for some in batches(hits, PAGE):
        choices = _choices(cluster, names, (hit["_source"]["document_id"] for hit, _ in some))
        for hit, vector in some:
            row = hit["_source"]
            choice = choices.get(row["document_id"])
            if choice and row["phrase_id"] in choice.topics:
                yield rows.to_mention(row, choice, vector)


def _choices(cluster: Cluster, names: Names, documents: Iterable[str]) -> dict[str, Choice]:
    found = by_id(cluster, names.documents, list(documents), rows.CHOICE_FIELDS)
    return {id_: rows.to_choice(row) for id_, row in found.items()}


# -- nearest -------------------------------------------------------------------------------------------------


def nearest(
    cluster: Cluster,
    names: Names,
    vector: Vector,
    limit: int,
    filters: Sequence[Filter],
    standing: IndexState,
) -> list[tuple[MentionRow, float]]:
    """Mention rows by cosine. Filters on the user's fields are a part of the search, those on topics and keyphrases
    become one by the ids of their documents."""
    own = [condition for condition in filters if condition.field not in queries.OURS]
    of_document = [condition for condition in filters if condition.field in queries.OURS]
    conditions = queries.of_filters(own)
    if of_document:
        ids = _under(cluster, names, filters)
        if len(ids) > MAX_JOINED:
            # So many documents pass that enough of the nearest rows are theirs.
            near = near_rows(cluster, names.mentions, vector, DEEPEST, conditions, standing, vectors=False)
            ids = _passing(cluster, names, near, filters, limit)
        conditions = [*conditions, {"terms": {"document_id": ids}}]
    hits = near_rows(cluster, names.mentions, vector, limit, conditions, standing)
    scores = {(hit["_source"]["document_id"], hit["_source"]["phrase_id"]): cosine(hit) for hit in hits}
    found = list(_joined(cluster, names, ((hit, vector_of(hit)) for hit in hits)))
    ranked = [(row, scores[row.document_id, row.phrase_id]) for row in found]
    return sorted(ranked, key=lambda pair: (-pair[1], pair[0].document_id, pair[0].phrase_id))


def _under(cluster: Cluster, names: Names, filters: Sequence[Filter]) -> list[str]:
    """Ids of the documents that filters let through, one more than `MAX_JOINED` at most."""
    query = {"bool": {"filter": queries.of_filters(filters)}}
    with closing(stream(cluster, names.documents, query, sort=["id"], fields=[], page=DEEPEST)) as hits:
        return [hit["_id"] for hit in islice(hits, MAX_JOINED + 1)]


def _passing(
    cluster: Cluster, names: Names, hits: Sequence[Row], filters: Sequence[Filter], limit: int
) -> list[str]:
    """Documents of the nearest rows that filters let through; enough for `limit` rows, if there are."""
    passing: list[str] = []
    for some in batches(dict.fromkeys(hit["_source"]["document_id"] for hit in hits), PAGE):
        query = {"bool": {"filter": [*queries.of_filters(filters), {"ids": {"values": some}}]}}
        found = cluster.search(index=names.documents, query=query, size=len(some), source=False)
        passing += [hit["_id"] for hit in found["hits"]["hits"]]
        if len(passing) >= limit:
            break
    return passing
