"""Engines, catalog and models of a worker process. Each is opened on first use and kept; a model is loaded once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.engines.registry import open_engine
from indexer.errors import InputError
from indexer.keyphrases.ranker import Ranker
from indexer.processes import killed_after
from indexer.protocols import Encoder
from indexer.records import Document, Prepared
from indexer.settings import Settings
from indexer.topics.fits import NamedFit, saved_fit
from workers.queues import Queue


class Resources:
    """The resources of one process.

    Args:
        settings: Of this machine: where the engine, the catalog and the bundles are. What belongs to a run (collection,
            bundle, tagger, keyphrases) comes with the run.
        queue: The queue that the process works on.
    """

    def __init__(self, settings: Settings, queue: Queue) -> None:
        self.settings = settings
        self._only_tags = queue == "prepare"
        self._engines: dict[tuple[str, str], Engine] = {}
        self._encoder: tuple[str, Encoder] | None = None
        self._fit: tuple[str, NamedFit] | None = None

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog of the settings."""
        self.settings.make_home()
        return Catalog.open(self.settings.database)

    def engine(self, collection: str, bundle: str) -> Engine:
        """The engine of the live generation of an existing collection.

        Raises:
            NotFound: There is none; the home or server of this worker may differ from that of the sender.
        """
        from indexer.runs.bundle_files import fetch
        from models.load import encoder_dims

        key = (collection, bundle)
        if key in self._engines and self._engines[key].superseded():
            self._engines.pop(key).close()  # the next generation may have the same encoder
        if key not in self._engines:
            settings = self.settings.model_copy(update={"collection": collection, "bundle": bundle})
            fetch(settings, bundle)
            dims = encoder_dims(bundle, settings.home)
            self._engines[key] = open_engine(settings, dims, create=False)
        return self._engines[key]

    def encoder(self, bundle: str) -> Encoder:
        """The encoder of a bundle; only the last one is kept."""
        from models.load import load_encoder

        if self._encoder is None or self._encoder[0] != bundle:
            settings = self.settings
            self._encoder = None  # two at once may not fit
            loaded = load_encoder(
                bundle, home=settings.home, backend=settings.backend, threads=settings.threads
            )
            self._encoder = bundle, loaded
        return self._encoder[1]

    def fit(self, collection: str, run: str) -> NamedFit:
        """The fit of topics that a run made; only the last one is kept."""
        if self._fit is None or (self._fit[0], self._fit[1].run) != (collection, run):
            self._fit = collection, saved_fit(self.catalog, collection, run)
        return self._fit[1]

    def ranker(self, bundle: str) -> Ranker | None:
        """The keyphrase ranker of a bundle; no encoder is loaded for it."""
        from models.load import encoder_ranker

        return encoder_ranker(bundle, self.settings.home)

    def prepare(self, tagger: str, documents: Sequence[Document]) -> list[Prepared | InputError]:
        """Sentences and candidates of documents."""
        from indexer.text.pool import allowed, prepare_here

        with killed_after(allowed(documents, self.settings.tagging_timeout)):
            return prepare_here(tagger, documents, alone=self._only_tags)

    def close(self) -> None:
        """Close files and connections."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        if "catalog" in self.__dict__:
            self.catalog.close()
