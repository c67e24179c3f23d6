"""An open collection: its engine, catalog, encoder and tagger, and the switch to another generation."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.errors import Superseded, require
from indexer.keyphrases.ranker import Ranker
from indexer.pipeline.run import Pipeline
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Encoder, Progress
from indexer.readers.registry import register
from indexer.runs.bundle_files import open_live
from indexer.settings import Settings, load_settings
from indexer.text import Preparer
from indexer.text.pool import preparer_here
from indexer.topics.models.registry import TopicModel

POLL_INTERVAL_S = 1.0  # seconds between two checks for another live generation, and for new fields

Own = TypeVar("Own", bound="OpenCollection")
P = ParamSpec("P")
T = TypeVar("T")


def on_live_generation(method: Callable[Concatenate[Own, P], T]) -> Callable[Concatenate[Own, P], T]:
    """Call a method again when another generation becomes live: its vectors must come from that generation's encoder."""

    @wraps(method)
    def called(self: Own, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except Superseded:
            self._open_again()
            return method(self, *args, **kwargs)

    return called


@dataclass(frozen=True)
class Parts:
    """Objects to use instead of those that the settings name; None: as the settings say."""

    encoder: Encoder | None = None
    tagger: Preparer | None = None
    topic_model: TopicModel | None = None

    @property
    def any(self) -> bool:
        """Whether there is one: then workers, which know only the settings, cannot do the mining."""
        return any(part is not None for part in (self.encoder, self.tagger, self.topic_model))


class OpenCollection(ABC):
    """A collection that is open. Close it, or use it in a `with` block.

    It may stay open for long: when another generation becomes live, it continues with that one and its encoder.
    """

    def __init__(self, settings: Settings, engine: Engine, catalog: Catalog, parts: Parts = Parts()) -> None:
        self.settings = settings
        self.catalog = catalog
        self.name = settings.collection
        self._engine = engine
        self._parts = parts
        self._checked = time.monotonic()
        self._fields: tuple[float, tuple[str, ...]] = (0.0, ())  # when they were read; what filters may name
        self._chance = ("", 0.0)  # bundle, and the cosine of queries without a meaning
        self._given_bundle = settings.bundle if parts.encoder is not None else ""

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        create: bool = True,
        encoder: Encoder | str | None = None,
        tagger: Preparer | str | None = None,
        topic_model: TopicModel | None = None,
        **flags: Any,
    ) -> Self:
        """Open a collection.

        Args:
            settings: Ready settings; otherwise they are read as for the command line.
            create: Make it when it is new; otherwise that is an error, and nothing is left behind.
            encoder: An object that implements `indexer.protocols.Encoder`; or, as in the settings, the path of its class.
                A new collection records the bundle or the class of the object.
            tagger: An object that finds candidate phrases as `indexer.text.Preparer` does, in this process; or, as in
                the settings, the name of a spaCy pipeline.
            topic_model: A function of `indexer.topics.models.base.Sample` and the number of topics (or None) that returns
                a `TopicFit`; it finds topics where a call names no other model.
            flags: Settings by name, e.g. ``home="my-index"``; they win over environment and file.

        Raises:
            NotFound: There is no such collection, and `create` is False.
            BundleIncompatible: The collection was mined with another encoder than the given object.
            SettingsError: A reader of the settings cannot be imported, or is not one.
            PackageMissing: A broker is set, and the extra `workers` is not installed.
        """
        parts = Parts(
            None if isinstance(encoder, str) else encoder,
            None if isinstance(tagger, str) else tagger,
            topic_model,
        )
        named = {"encoder": encoder, "tagger": tagger}
        flags |= {name: value for name, value in named.items() if isinstance(value, str)}
        settings = settings or load_settings(**flags)
        if settings.broker:
            require("celery", extra="workers", purpose="INDEXER_BROKER")
        for path in filter(None, settings.reader.split(",")):
            register(path)
        settings, engine = open_live(settings, create=create, encoder=parts.encoder)
        try:
            settings.make_home()
            catalog = Catalog.open(settings.database)
        except BaseException:
            engine.close()
            raise
        return cls(settings, engine, catalog, parts)

    @property
    def engine(self) -> Engine:
        """Reads and writes the live generation."""
        if time.monotonic() - self._checked > POLL_INTERVAL_S:
            self._checked = time.monotonic()
            if self._engine.superseded():
                self._open_again()
        return self._engine

    @property
    def title(self) -> str:
        """The collection's title for people."""
        return self.settings.title or self.name

    def _open_again(self) -> None:
        """Continue with the generation that is live now, and with its encoder."""
        settings, engine = open_live(self.settings, create=False)
        if settings.bundle != self.settings.bundle:
            for learned in ("encoder", "ranker"):
                self.__dict__.pop(learned, None)
        before, self._engine, self.settings = self._engine, engine, settings
        self._fields = (0.0, ())
        self._leave(before)

    def _leave(self, engine: Engine) -> None:
        """Close the engine of a generation that is not live any more."""
        engine.close()

    def close(self) -> None:
        """Release files and connections."""
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
        """The given encoder, or that of the settings, loaded on first use."""
        return self._given_encoder or self._load_encoder(self.settings.bundle)

    @cached_property
    def ranker(self) -> Ranker | None:
        """The keyphrase ranker of the encoder, if it has one; the encoder of a bundle is not loaded for it."""
        return self._ranker_of(self.settings.bundle)

    @property
    def _given_encoder(self) -> Encoder | None:
        """The given encoder while the live generation is of it; another generation has its own."""
        return self._parts.encoder if self.settings.bundle == self._given_bundle else None

    def _load_encoder(self, bundle: str) -> Encoder:
        from models.load import load_encoder

        settings = self.settings
        return load_encoder(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    def _ranker_of(self, bundle: str) -> Ranker | None:
        from models.load import encoder_ranker

        if self._parts.encoder is not None and bundle == self._given_bundle:
            return self._parts.encoder.ranker
        return encoder_ranker(bundle, self.settings.home)

    @cached_property
    def _preparer(self) -> Preparer:
        return self._parts.tagger or preparer_here(self.settings.tagger)

    @abstractmethod
    def _mining(self, bundle: str = "") -> MiningOptions:
        """How documents are mined with a bundle, by default with the collection's own."""

    def _pipeline(self, progress: Progress) -> Pipeline:
        return Pipeline(self.engine, self.catalog, self.name, self._mining(), progress)
