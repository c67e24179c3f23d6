"""A collection that is open: its engine, catalog and encoder, and how it goes on when another generation takes over."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.errors import Superseded, require
from indexer.keyphrases.ranker import Ranker
from indexer.protocols import Encoder
from indexer.runs.bundle_files import open_live
from indexer.settings import Settings, load_settings
from indexer.text import Preparer
from indexer.text.pool import preparer_here

POLL_INTERVAL_S = 1.0  # seconds between two looks whether another generation has taken over

Own = TypeVar("Own", bound="Opened")
P = ParamSpec("P")
T = TypeVar("T")


def on_live_generation(method: Callable[Concatenate[Own, P], T]) -> Callable[Concatenate[Own, P], T]:
    """For methods whose vectors must be of the live generation's encoder: done again when another one takes over."""

    @wraps(method)
    def called(self: Own, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except Superseded:
            self._open_again()
            return method(self, *args, **kwargs)

    return called


class Opened:
    """What every use of a collection begins with. Close it, or use it in a `with` block.

    It may stay open for long: when another generation takes over, it goes on with that and its encoder.
    """

    def __init__(self, settings: Settings, engine: Engine, catalog: Catalog) -> None:
        self.settings = settings
        self.catalog = catalog
        self.name = settings.collection
        self._engine = engine
        self._looked = time.monotonic()

    @classmethod
    def open(cls, settings: Settings | None = None, *, create: bool = True, **flags: Any) -> Self:
        """Open a collection.

        Args:
            settings: Ready settings; otherwise they are read as for the command line.
            create: Make it when it is new; otherwise that is an error, and nothing is left behind.
            flags: Settings by name, e.g. ``home="my-index"``; they win over environment and file.

        Raises:
            NotFound: There is no such collection, and none is to be made.
            PackageMissing: A broker is set, and the extra `workers` is not installed.
        """
        settings = settings or load_settings(**flags)
        if settings.broker:
            require("celery", extra="workers", purpose="INDEXER_BROKER")
        settings, engine = open_live(settings, create=create)
        try:
            settings.make_home()
            catalog = Catalog.open(settings.database)
        except BaseException:
            engine.close()
            raise
        return cls(settings, engine, catalog)

    @property
    def engine(self) -> Engine:
        """Reads and writes the live generation."""
        if time.monotonic() - self._looked > POLL_INTERVAL_S:
            self._looked = time.monotonic()
            if self._engine.superseded():
                self._open_again()
        return self._engine

    @property
    def title(self) -> str:
        """What people call the collection."""
        return self.settings.title or self.name

    def _open_again(self) -> None:
        """Go on with the generation that is live now, and with its encoder."""
        settings, engine = open_live(self.settings, create=False)
        if settings.bundle != self.settings.bundle:
            for learned in ("encoder", "ranker"):
                self.__dict__.pop(learned, None)
        before, self._engine, self.settings = self._engine, engine, settings
        self._leave(before)

    def _leave(self, engine: Engine) -> None:
        """Give back what another generation has taken over from."""
        engine.close()

    def close(self) -> None:
        """Give back files and connections."""
        self._engine.close()
        self.catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings, loaded on first use."""
        from models.load import load_encoder

        settings = self.settings
        return load_encoder(
            settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
        )

    @cached_property
    def ranker(self) -> Ranker | None:
        """What the bundle of the settings has learned of keyphrases; the encoder need not be loaded for it."""
        from models.ranker import read_ranker
        from models.registry import Registry

        return read_ranker(Registry(self.settings.home).get(self.settings.bundle))

    @cached_property
    def _preparer(self) -> Preparer:
        return preparer_here(self.settings.tagger)
