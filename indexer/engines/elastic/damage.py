"""Looks for rows that are missing. What a row contains is checked by the server: Lucene has checksums of its files."""

from __future__ import annotations

from collections.abc import Iterator

from indexer.common import batches
from indexer.engines.base import Damage
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.reading import stream

DOCUMENTS_AT_ONCE = 1_000


def missing_mentions(cluster: Cluster, names: Names) -> Damage:
    """Return the mined documents that have fewer rows of mentions than they name. Refresh both indices before."""
    documents = tuple(_without_all_mentions(cluster, names))
    if not documents:
        return Damage()
    return Damage(
        documents, (), (f"{names.mentions}: {len(documents):,} documents lack rows of their mentions",)
    )


def _without_all_mentions(cluster: Cluster, names: Names) -> Iterator[str]:
    mined = {"exists": {"field": "bundle"}}
    hits = stream(cluster, names.documents, mined, sort=["id"], fields=["phrase_ids"])
    for some in batches(hits, DOCUMENTS_AT_ONCE):
        named = {hit["_id"]: len(set(hit["_source"]["phrase_ids"])) for hit in some}
        stored = _numbers_of_mentions(cluster, names, list(named))
        yield from (id_ for id_, number in named.items() if stored.get(id_, 0) < number)


def _numbers_of_mentions(cluster: Cluster, names: Names, ids: list[str]) -> dict[str, int]:
    answer = cluster.ask(
        cluster.client.search, index=names.mentions, size=0, query={"terms": {"document_id": ids}},
        aggs={"documents": {"terms": {"field": "document_id", "size": len(ids)}}},
    )  # fmt: skip
    return {bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"]["documents"]["buckets"]}
