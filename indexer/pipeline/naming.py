"""Names by a language model for the topics of a new fit: those that it gave before, and new ones where topics changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from indexer.catalog import Catalog, Naming
from indexer.common import Floats
from indexer.engines.base import Engine
from indexer.errors import NoAnswer
from indexer.log import get_logger
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Progress
from indexer.records import Document, Topic
from indexer.topics.hierarchy import TopicTree
from indexer.topics.language_model import LanguageModel
from indexer.topics.naming import (
    DOCUMENTS,
    INSTRUCTIONS,
    WITHDRAWN,
    flaw,
    message,
    middle_of,
    name_in,
    nearer_topic,
    rivals,
    shown,
)

MAX_FAILURES = 3  # one after the other, after which no more is asked
MAX_SECONDS = 600.0  # for all names of a fit; the next fit asks for the others
MAX_SAID = 1_000  # characters that are kept of an answer

logger = get_logger(__name__)


class TopicNamer:
    """Names the topics of one fit.

    A topic is asked for once, as long as the same name is mined for it: that is what another name would replace. So a
    refit that changes nothing sends no request, and neither does one without a model, which keeps the names there are.

    Args:
        tree: The topics, with the names that they have without a model.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        collection: str,
        options: MiningOptions,
        progress: Progress,
        tree: TopicTree,
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._collection = collection
        self._model = options.language_model
        self._encoder = options.encoder
        self._progress = progress
        self._tree = tree
        self._names: dict[str, str] = {}
        self._failures = 0  # since the last answer
        self._until = time.monotonic() + MAX_SECONDS

    def names(self) -> dict[str, str]:
        """Topic or parent ► its name by a model; those that keep their mined names are missing."""
        namings = self._catalog.namings(self._collection)
        withdrawn = {naming.topic for naming in namings if naming.refused == WITHDRAWN}
        topics = [
            topic
            for topic in (*self._tree.leaves, *self._tree.parents)
            if topic.phrases and not topic.label_locked and topic.id not in withdrawn
        ]
        for topic in topics:
            earlier = [n for n in namings if (n.topic, n.mined) == (topic.id, topic.label)]
            found = self._naming(topic, earlier)
            if found and not flaw(found.name, self._others(topic)):
                self._names[topic.id] = found.name
        return self._names

    def _naming(self, topic: Topic, earlier: Sequence[Naming]) -> Naming | None:
        """The answer that gives a topic its name, from the model of the settings if there is one."""
        answers = [n for n in earlier if n.said and (self._model is None or n.model == self._model.model)]
        if self._model and not answers and self._may_ask():
            answers = [self._ask(self._model, topic)]
        return next((naming for naming in (*answers, *earlier) if naming.name and not naming.refused), None)

    def _may_ask(self) -> bool:
        return self._failures < MAX_FAILURES and time.monotonic() < self._until

    def _ask(self, model: LanguageModel, topic: Topic) -> Naming:
        """Ask for one name, and keep what was shown and said."""
        self._progress("name topics", 0, None)
        self._catalog.check_locks()
        data = shown(topic, self._tree, self._documents(topic))
        naming = Naming(topic.id, topic.label, model.model, data)
        try:
            said = model.ask(INSTRUCTIONS, message(data))
        except NoAnswer as error:
            self._failures += 1
            naming = replace(naming, refused=str(error))
            logger.warning("topic_not_named", topic=topic.id, reason=str(error), stopped=not self._may_ask())
        else:
            self._failures = 0
            name = name_in(said)
            naming = replace(
                naming, said=said[:MAX_SAID], name=name[:MAX_SAID], refused=self._flaw(name, topic)
            )
            logger.info("topic_named", topic=topic.id, name=name, refused=naming.refused)
        self._catalog.save_naming(self._collection, naming)
        return naming

    def _documents(self, topic: Topic) -> list[Document]:
        """Typical documents; none of a parent."""
        if self._tree.subtopics(topic.id):
            return []
        typical = self._engine.topic_documents(topic.id, topic.centroid, limit=DOCUMENTS)
        return [stored.document for stored in self._engine.documents(typical.ids)]

    def _flaw(self, name: str, topic: Topic) -> str:
        """Why a name is refused; empty where it is not."""
        if found := flaw(name, self._others(topic)):
            return found
        vector = self._encoder().encode_phrases([name])[0] - self._middle
        nearer = nearer_topic(vector, topic, rivals(topic, self._tree))
        return f"it is nearer to topic {nearer.id} '{nearer.label}'" if nearer else ""

    @cached_property
    def _middle(self) -> Floats:
        return middle_of(self._tree.leaves, self._encoder().encode_phrases)

    def _others(self, topic: Topic) -> list[str]:
        """The names of all other topics: mined or given by users, and those that a model gave."""
        labels = [other.label for other in self._tree.topics if other.id != topic.id]
        return [*labels, *(name for id_, name in self._names.items() if id_ != topic.id)]
