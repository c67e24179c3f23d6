"""Elasticsearch as the engine: one collection is five indices behind aliases."""

from indexer.engines.elastic.engine import ElasticEngine

__all__ = ["ElasticEngine"]
