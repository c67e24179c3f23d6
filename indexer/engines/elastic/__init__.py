"""Elasticsearch as the engine: one collection is five indices behind aliases."""

from __future__ import annotations

from indexer.engines.elastic.cluster import Cluster, connect
from indexer.engines.elastic.engine import ElasticEngine
from indexer.engines.elastic.generations import ElasticGenerations
from indexer.settings import Settings

CACHE = "vectors"  # folder in the home

__all__ = ["ElasticEngine", "connect_to", "exists", "open_engine", "open_generations"]


def connect_to(settings: Settings) -> Cluster:
    """Make a client for the server of the settings; nothing is sent yet."""
    return connect(
        settings.engine,
        credentials=settings.credentials.get_secret_value(),
        certificates=settings.certificates,
        timeout=settings.request_timeout,
    )


def open_engine(settings: Settings, dims: int, *, create: bool) -> ElasticEngine:
    cluster = connect_to(settings)
    try:
        return ElasticEngine(
            cluster,
            settings.index_prefix,
            settings.collection,
            dims,
            bundle=settings.bundle,
            vector_index=settings.vector_index,
            language=settings.language,
            create=create,
            cache=settings.home / CACHE,
        )
    except BaseException:
        cluster.close()
        raise


def open_generations(settings: Settings) -> ElasticGenerations:
    return ElasticGenerations(
        lambda: connect_to(settings),
        settings.index_prefix,
        settings.collection,
        vector_index=settings.vector_index,
        language=settings.language,
        cache=settings.home / CACHE,
    )


def exists(settings: Settings) -> bool:
    return True  # only a request could tell; opening without `create` raises NotFound
