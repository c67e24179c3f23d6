"""Which engine the settings mean. Each is imported only when it is used."""

from __future__ import annotations

from indexer.engines.base import Engine
from indexer.errors import NotFound
from indexer.settings import Settings


def open_engine(settings: Settings, dims: int, *, create: bool = True) -> Engine:
    """Open the collection's engine.

    Args:
        dims: Length of the encoder's vectors.
        create: Make the collection when there is none.

    Raises:
        NotFound: There is no collection, and none is to be made.
        SearchError: The engine cannot be used; see the children of that class.
    """
    if settings.engine == "local":
        from indexer.engines.local import LocalEngine

        if not create and not settings.collection_folder.exists():
            raise NotFound(
                f"There is no collection '{settings.collection}' in {settings.home}.",
                hint="Make one: indexer index SOURCE. Or name another place: --home PATH",
            )
        settings.make_home()
        return LocalEngine(settings.collection_folder, dims)
    from indexer.engines.elastic import ElasticEngine
    from indexer.engines.elastic.cluster import connect

    cluster = connect(
        settings.engine,
        credentials=settings.credentials.get_secret_value(),
        certificates=settings.certificates,
    )
    try:
        return ElasticEngine(
            cluster,
            settings.index_prefix,
            settings.collection,
            dims,
            bundle=settings.bundle,
            vector_index=settings.vector_index,
            create=create,
        )
    except BaseException:
        cluster.close()
        raise
