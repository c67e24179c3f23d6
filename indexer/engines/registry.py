"""Which engine the settings mean. Each is imported only when it is used."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.errors import NotFound
from indexer.settings import Settings

if TYPE_CHECKING:
    from indexer.engines.elastic.cluster import Cluster


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
        from indexer.engines.local.generations import live_folder, note

        new = not settings.collection_folder.exists()
        if not create and new:
            raise NotFound(
                f"There is no collection '{settings.collection}' in {settings.home}.",
                hint="Make one: indexer index SOURCE. Or name another place: --home PATH",
            )
        settings.make_home()
        live = partial(live_folder, settings.collection_folder)
        folder = live()
        engine = LocalEngine(folder, dims, language=settings.language, live=live)
        if new:
            note(folder, settings.bundle)
        return engine
    from indexer.engines.elastic import ElasticEngine

    cluster = connected(settings)
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
        )
    except BaseException:
        cluster.close()
        raise


def open_generations(settings: Settings) -> Generations:
    """The generations of the settings' collection, whatever encoder the settings name."""
    if settings.engine == "local":
        from indexer.engines.local.generations import LocalGenerations

        return LocalGenerations(settings.collection_folder, language=settings.language)
    from indexer.engines.elastic.generations import ElasticGenerations

    return ElasticGenerations(
        lambda: connected(settings),
        settings.index_prefix,
        settings.collection,
        vector_index=settings.vector_index,
        language=settings.language,
    )


def live_bundle(settings: Settings) -> str:
    """The encoder that the collection was mined with; empty when there is no collection, or nobody wrote it down."""
    with closing(open_generations(settings)) as generations:
        return next((one.bundle for one in generations.all() if one.state == "live"), "")


def connected(settings: Settings) -> Cluster:
    """A connection to the cluster of the settings; nothing is sent yet."""
    from indexer.engines.elastic.cluster import connect

    return connect(
        settings.engine,
        credentials=settings.credentials.get_secret_value(),
        certificates=settings.certificates,
    )
