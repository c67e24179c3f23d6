"""The indices of a collection in Elasticsearch as version 0.1.0 made them."""

from __future__ import annotations

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names, create_index
from mappings import KINDS, load_mapping

KEPT = {"type": "keyword", "index": False, "doc_values": False}


def make_schema_2(cluster: Cluster, names: Names, dims: int) -> None:
    """Make empty ones: vectors of decimals, topic weights in nested rows, the sentence in each mention, no parents."""
    for kind in KINDS:
        body = load_mapping(kind, dims)
        body["mappings"]["_meta"] |= {"schema": 2, "vector_index": "int8_hnsw"}
        properties = body["mappings"]["properties"]
        if "vector" in properties:
            properties["vector"] |= {"element_type": "float", "index_options": {"type": "int8_hnsw"}}
        if kind == "documents":
            del properties["main_topics"], properties["sentences"], properties["duplicate_of"]
            del properties["topic_path"], properties["topic_path_ids"], properties["terms"]
            weights = {"topic": {"type": "keyword"}, "weight": {"type": "double"}}
            properties["topic_weights"] = {"type": "nested", "properties": weights}
        if kind == "topics":
            del properties["parent"], properties["term"]
        if kind == "mentions":
            del properties["vector_key"]
            properties |= {"sentence": KEPT, "bundle": {"type": "keyword"}}
        assert create_index(cluster, names, kind, 1, body)
