"""Methods that change topics: rename, take a name back, merge."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.collection.base import on_live_generation
from indexer.collection.queries import QueryMethods
from indexer.errors import QueryError
from indexer.pipeline.finalize import Finisher
from indexer.pipeline.next_generation import complete_switch
from indexer.protocols import Progress, no_progress
from indexer.records import Topic
from indexer.runs.index import check_live
from indexer.topics.hierarchy import TopicTree, renamed
from indexer.topics.history import is_address


class TopicMethods(QueryMethods):
    """A collection whose topics can be changed."""

    @on_live_generation
    def rename_topic(self, name: str, label: str) -> Topic:
        """Give a topic a name; it stays through every later run.

        Raises:
            QueryError: The name is empty, or like a number or an id, or another topic has it: `facts["other"]` is its id.
            CatalogError: Another process is writing to the collection.
        """
        label = " ".join(label.split())
        if not label:
            raise QueryError("The new name of a topic must not be empty.")
        if is_address(label):
            raise QueryError(
                f"'{label}' is how topics are numbered, and would lead to topic {label}.",
                hint="Choose a name that is neither a number nor an id.",
            )
        return self._name_topic(name, label)

    @on_live_generation
    def unname_topic(self, name: str) -> Topic:
        """Remove the name that a user gave to a topic: its label is its leading phrase again.

        Raises:
            QueryError: Another topic has that name by now: `facts["other"]` is its id.
            CatalogError: Another process is writing to the collection.
        """
        return self._name_topic(name, None)

    def _name_topic(self, name: str, label: str | None) -> Topic:
        with self.catalog.lock(self.name, "indexer topics rename"):
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            id_ = self.topic_id(name)
            tree = self.topic_tree()
            if label is None and not tree.by_id[id_].label_locked:
                return tree.by_id[id_]
            topics = TopicTree(renamed(tree, id_, label))
            topic = topics.by_id[id_]
            if other := _another(topics.topics, id_, topic.label):
                raise QueryError(
                    f"Another topic is named '{topic.label}' already: {other.id}.",
                    hint="Choose another name, or make them one topic.",
                    command=f"Merge them: indexer topics merge {other.id} {id_}",
                    other=other.id,
                )
            for changed in topics.path(id_):
                if changed.label != tree.by_id[changed.id].label or changed.id == id_:
                    self.catalog.rename_topic(
                        self.name, changed.id, changed.label, locked=changed.label_locked
                    )
            self.engine.write_topics(topics.topics)
        return topic

    @on_live_generation
    def merge_topics(
        self, into: str, others: Sequence[str], *, progress: Progress = no_progress
    ) -> tuple[Topic, int]:
        """Make several topics one: `into` keeps its id and name, the others retire and lead to it.

        Returns:
            The topic, and how many documents changed.
        """
        target = self.topic_id(into)
        sources = [id_ for id_ in (self.topic_id(other) for other in others) if id_ != target]
        if not sources:
            raise QueryError("Name at least one other topic to merge.")
        with self.catalog.lock(self.name, "indexer topics merge") as lock:
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            run = self.catalog.start_run(self.name, "merge", {"into": target, "from": sources}, lock=lock)
            finisher = Finisher(self.engine, self.catalog, self.name, run, self._mining(), progress)
            changed = finisher.merge(target, sources)
            self.catalog.finish_run(run, "finished", {"documents": changed})
        return next(t for t in self.engine.topics() if t.id == target), changed


def _another(topics: Sequence[Topic], id_: str, label: str) -> Topic | None:
    """Another topic that has this name."""
    requested = label.casefold()
    return next((topic for topic in topics if topic.label.casefold() == requested and topic.id != id_), None)
