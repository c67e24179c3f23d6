"""The engine of a URL scheme, imported only when it is used.

To add an engine: write its folder, whose package defines the functions of `EngineFactory`, and name it in `ENGINES`.
"""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from typing import Protocol, cast

from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.errors import SettingsError
from indexer.settings import Settings

ELASTICSEARCH = "indexer.engines.elastic"
ENGINES = {"local": "indexer.engines.local", "http": ELASTICSEARCH, "https": ELASTICSEARCH}


class EngineFactory(Protocol):
    """The functions that the package of an engine defines."""

    def open_engine(self, settings: Settings, dims: int, *, create: bool) -> Engine: ...

    def open_generations(self, settings: Settings) -> Generations: ...

    def exists(self, settings: Settings) -> bool: ...


def open_engine(settings: Settings, dims: int, *, create: bool = True) -> Engine:
    """Open the engine of the settings' collection.

    Args:
        dims: Length of the encoder's vectors.
        create: Create the collection when it does not exist.

    Raises:
        NotFound: The collection does not exist, and `create` is False.
        SearchError: The engine cannot be used; see the subclasses of that class.
    """
    return _factory(settings).open_engine(settings, dims, create=create)


def open_generations(settings: Settings) -> Generations:
    """Open the generations of the settings' collection, independent of the encoder that the settings name."""
    return _factory(settings).open_generations(settings)


def exists(settings: Settings) -> bool:
    """Return False when the collection certainly does not exist; creates nothing and sends no request."""
    return _factory(settings).exists(settings)


def live_bundle(settings: Settings) -> str:
    """Return the encoder that the live generation was mined with; empty when there is none or it was not recorded."""
    with closing(open_generations(settings)) as generations:
        return next((one.bundle for one in generations.all() if one.state == "live"), "")


def is_elasticsearch(settings: Settings) -> bool:
    """Return whether the settings name an Elasticsearch server."""
    return _module(settings) == ELASTICSEARCH


def _factory(settings: Settings) -> EngineFactory:
    return cast(EngineFactory, import_module(_module(settings)))


def _module(settings: Settings) -> str:
    scheme = settings.engine.partition("://")[0]
    if scheme not in ENGINES:
        raise SettingsError(
            f"There is no engine '{scheme}'; the schemes are {', '.join(ENGINES)}.",
            hint="Set INDEXER_ENGINE to local, or to a URL such as http://localhost:9200",
        )
    return ENGINES[scheme]
