"""The topics of the collection, and their names on documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indexer.engines.elastic import rows
from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.reading import NEVER_IN_SOURCE, Freshness, stream, vector_of
from indexer.engines.values import unencodable
from indexer.errors import WriteRefused
from indexer.records import Topic

PAGE = 10_000  # rows of one search; servers give no more


def write(cluster: Cluster, names: Names, fresh: Freshness, topics: Sequence[Topic], dims: int) -> None:
    """Make these the topics of the collection, and give documents their new names."""
    for topic in topics:
        reason = rows.bad_vector(topic.centroid, dims) or unencodable(
            "\n".join([topic.id, topic.label, *topic.phrases])
        )
        if reason:
            raise WriteRefused(f"Topic {topic.id} was refused: {reason}.")
    fresh.refresh(names.topics)
    before = {hit["_id"] for hit in _rows(cluster, names)}
    wanted = {topic.id: topic for topic in topics}
    actions = [Action("index", names.topics, id_, rows.of_topic(topic)) for id_, topic in wanted.items()]
    actions += [Action("delete", names.topics, id_) for id_ in sorted(before - wanted.keys())]
    fresh.must(actions)
    _rename(cluster, names, fresh, {id_: topic.label for id_, topic in wanted.items()})


def _rename(cluster: Cluster, names: Names, fresh: Freshness, labels: Mapping[str, str]) -> None:
    """Rewrite the readable names on documents where they are others."""
    fresh.refresh(names.documents)
    having = {"exists": {"field": "topics"}}
    hits = stream(cluster, names.documents, having, sort=["id"], fields=["topics", "topic_labels"])
    fresh.must(
        (
            Action("update", names.documents, hit["_id"], {"topic_labels": wanted})
            for hit in hits
            if (wanted := rows.label_list(hit["_source"]["topics"], labels)) != hit["_source"]["topic_labels"]
        ),
    )


def read(cluster: Cluster, names: Names) -> list[Topic]:
    """All topics, largest first."""
    found = [(hit["_source"], vector_of(hit, "centroid")) for hit in _rows(cluster, names, vectors=True)]
    topics = [rows.to_topic(row, centroid) for row, centroid in found if centroid is not None]
    return sorted(topics, key=lambda topic: (-topic.size, topic.id))


def labels(cluster: Cluster, names: Names) -> dict[str, str]:
    """Topic id ► readable name."""
    return {hit["_id"]: hit["_source"]["label"] for hit in _rows(cluster, names)}


def _rows(cluster: Cluster, names: Names, *, vectors: bool = False) -> list[Any]:
    """There are never more topics than one search gives."""
    answer = cluster.search(
        index=names.topics,
        size=PAGE,
        source={"excludes": NEVER_IN_SOURCE},
        fields=[{"field": "centroid"}] if vectors else None,
        track_total_hits=False,
    )
    return list(answer["hits"]["hits"])
