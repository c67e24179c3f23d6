"""A collection that many requests ask at once, and what they share beside it."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from fastapi import Depends, Request

from indexer.collection import Collection
from indexer.engines.base import Engine
from indexer.errors import IndexerError
from indexer.log import get_logger
from indexer.protocols import Encoder
from indexer.search.fields import FieldKinds
from indexer.search.trends import Trends
from indexer.web.auth import Access
from indexer.web.tasks import Tasks

BRIEFLY = 0.3  # seconds that a request may wait for an encoder that is nearly loaded
KINDS_KEPT = 60.0  # seconds that what is known of the users' fields is good for: others may write, too

logger = get_logger(__name__)


class ServedCollection(Collection):
    """A collection for many threads: one of them loads the encoder, and none is cut off when a generation ends."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._lock = threading.RLock()
        self._tried = threading.Event()  # the encoder has been loaded, or could not be
        self._before: Engine | None = None  # of the last generation: a search may still be reading it

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings, loaded once."""
        with self._lock:
            if "encoder" not in self.__dict__:
                self.__dict__["encoder"] = super().encoder
            loaded: Encoder = self.__dict__["encoder"]
            return loaded

    @property
    def is_warm(self) -> bool:
        """Whether the encoder is there: a search by meaning need not wait for it."""
        return "encoder" in self.__dict__

    def is_ready(self, within: float = BRIEFLY) -> bool:
        """Whether a search by meaning need not wait: the encoder is there in a moment, or will never be.

        In the latter case the search says why.
        """
        return self.is_warm or self._tried.wait(within)

    def warm(self) -> None:
        """Load the encoder, frequent words and the tagger in a thread, before a request has to wait for them."""
        self._tried.clear()
        threading.Thread(target=self._load, name="warm", daemon=True).start()

    def _load(self) -> None:
        try:
            _ = self.encoder
            self._tried.set()
            self.engine.read_ahead()
            _ = self._preparer
        except IndexerError as error:
            logger.error("not_warm", reason=str(error), hint=error.hint)
        finally:
            self._tried.set()
            # What is loaded now stays: without this, every full collection of garbage goes through the vocabulary of the
            # tagger and holds up all requests for a quarter of a second.
            gc.collect()
            gc.freeze()

    def _open_again(self) -> None:
        with self._lock:
            if self._engine.superseded():
                super()._open_again()
        self.warm()

    def _leave(self, engine: Engine) -> None:
        if self._before is not None:
            self._before.close()
        self._before = engine

    def close(self) -> None:
        if self._before is not None:
            self._before.close()
        super().close()


@dataclass
class Served:
    """What all requests share."""

    collection: ServedCollection
    access: Access
    tasks: Tasks
    _kinds: tuple[float, str, FieldKinds] | None = field(default=None, init=False)
    _trends: tuple[object, Trends | None] | None = field(default=None, init=False)

    def kinds(self) -> FieldKinds:
        """What the users' fields are good for; looked at once a minute, and when a task has ended."""
        now, last = time.monotonic(), self.tasks.last()
        if self._kinds is None or now - self._kinds[0] > KINDS_KEPT or last != self._kinds[1]:
            self._kinds = now, last, self.collection.field_kinds()
        return self._kinds[2]

    def trends(self) -> Trends | None:
        """How topics grow, by the dates of the documents; counted again when the topics have changed."""
        date = self.kinds().date
        if not date:
            return None
        state = (date, tuple((topic.id, topic.size) for topic in self.collection.topics()))
        if self._trends is None or self._trends[0] != state:
            self._trends = state, self.collection.topic_trends(date)
        return self._trends[1]


async def served(request: Request) -> Served:
    """What the application shares; like all small dependencies async, because a thread costs more than they do."""
    found: Served = request.app.state.served
    return found


Shared = Annotated[Served, Depends(served)]
