"""Methods that change topics: rename, take a name back, merge, split, move, add what is rising."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from indexer.catalog import Naming
from indexer.catalog.entries import TopicMark
from indexer.collection.base import on_live_generation
from indexer.collection.queries import QueryMethods
from indexer.errors import NotFound, QueryError
from indexer.pipeline.births import Rising, proposals
from indexer.pipeline.next_generation import complete_switch
from indexer.pipeline.shaping import Shaper
from indexer.protocols import Progress, no_progress
from indexer.records import Topic
from indexer.runs.index import check_live
from indexer.topics.fits import Act, last_act
from indexer.topics.hierarchy import TopicTree, renamed
from indexer.topics.history import is_address
from indexer.topics.naming import WITHDRAWN, by_model

MOST_PARTS = 10  # that a topic is split into

T = TypeVar("T")


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
        """Remove the name that a user or a language model gave to a topic: its label is its leading phrase again.

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
            if tree.by_id[id_].term:
                raise QueryError(
                    f"'{tree.by_id[id_].label}' is a term of your vocabulary, and is named there.",
                    command="Add the file with the new name again: indexer topics vocabulary add FILE",
                )
            namings = self.catalog.namings(self.name)
            topics = TopicTree(renamed(tree, id_, label, by_model(tree, namings)))
            topic = topics.by_id[id_]
            if label is None and topic.label == tree.by_id[id_].label and not tree.by_id[id_].label_locked:
                return topic
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
            if label is None:
                self._withdraw(namings, id_)
            self.engine.write_topics(topics.topics)
        return topic

    def _withdraw(self, namings: Sequence[Naming], id_: str) -> None:
        """Record that a user has restored the mined name, so that no fit brings back one that a language model gave."""
        for naming in namings:
            if naming.topic == id_ and naming.name and not naming.refused:
                self.catalog.save_naming(self.name, replace(naming, refused=WITHDRAWN))

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
        tree = self.topic_tree()
        kinds = {bool(tree.subtopics(id_)) for id_ in (target, *sources)}
        if len(kinds) > 1:
            raise QueryError(
                "A topic with subtopics and one without cannot be merged.",
                hint="Put the one below the other: indexer topics move TOPIC PARENT",
            )
        if term := next((tree.by_id[id_] for id_ in sources if tree.by_id[id_].term), None):
            raise QueryError(
                f"'{term.label}' is a term of your vocabulary; only others can be merged into it.",
                command=f"Remove it there: indexer topics vocabulary remove '{term.label}'",
            )
        if kinds == {True}:
            below = {topic.id: target for id_ in (target, *sources) for topic in tree.subtopics(id_)}
            changed = sum(tree.by_id[id_].size for id_ in sources)
            self._shape("merge", {"into": target, "from": sources}, progress,
                        lambda shaper: shaper.place(below, dict.fromkeys(sources, target)))  # fmt: skip
        else:
            changed = self._shape("merge", {"into": target, "from": sources}, progress,
                                  lambda shaper: shaper.merge(target, sources))  # fmt: skip
        return self.topic_tree().by_id[target], changed

    @on_live_generation
    def split_topic(self, name: str, parts: int = 2, *, progress: Progress = no_progress) -> list[Topic]:
        """Split a topic into parts whose documents are like each other; the largest keeps the id. Later fits keep them.

        Returns:
            The parts, the largest first.

        Raises:
            QueryError: The topic is a term or has subtopics, or too few documents that differ.
        """
        id_ = self.topic_id(name)
        tree = self.topic_tree()
        if tree.by_id[id_].term:
            raise QueryError(
                f"'{tree.by_id[id_].label}' is a term of your vocabulary.",
                hint="Add narrower terms to the file.",
            )
        if tree.subtopics(id_):
            raise QueryError(f"'{tree.by_id[id_].label}' ({id_}) has subtopics already.")
        check_parts(parts)
        before = {topic.id for topic in tree.topics} - {id_}
        self._shape(
            "split", {"topic": id_, "parts": parts}, progress, lambda shaper: shaper.split(id_, parts)
        )
        return [topic for topic in self.topics() if topic.id not in before]

    @on_live_generation
    def move_topic(self, name: str, parent: str | None = None, *, progress: Progress = no_progress) -> Topic:
        """Put a topic below another parent, or at the top with None. Later fits keep it there.

        A parent that has fewer than two topics left dissolves, and leads to them.

        Raises:
            QueryError: The parent has no subtopics, or is below the topic itself.
        """
        id_ = self.topic_id(name)
        tree = self.topic_tree()
        above = "" if parent is None else self.topic_id(parent)
        if above and not tree.subtopics(above):
            raise QueryError(
                f"'{tree.by_id[above].label}' ({above}) has no subtopics, so nothing can be put below it.",
                hint="Parents are listed with their subtopics: indexer topics",
            )
        if above and id_ in [topic.id for topic in tree.path(above)]:
            raise QueryError("A topic cannot be put below itself.")
        if (tree.by_id[id_].parent or "") == above:
            return tree.by_id[id_]
        self._shape("move", {"topic": id_, "parent": above}, progress,
                    lambda shaper: shaper.place({id_: above}, {}))  # fmt: skip
        return self.topic_tree().by_id[id_]

    @on_live_generation
    def retire_topics(self, names: Sequence[str], *, progress: Progress = no_progress) -> int:
        """Take topics away. Their documents get others that are near to them, or none; the ids are not used again.

        Returns:
            How many documents changed.

        Raises:
            QueryError: One is a term or has subtopics, or no topic would be left.
        """
        ids = list(dict.fromkeys(self.topic_id(name) for name in names))
        tree = self.topic_tree()
        for topic in (tree.by_id[id_] for id_ in ids):
            if topic.term:
                raise QueryError(
                    f"'{topic.label}' is a term of your vocabulary.",
                    command=f"Remove it there: indexer topics vocabulary remove '{topic.label}'",
                )
            if tree.subtopics(topic.id):
                raise QueryError(f"'{topic.label}' ({topic.id}) has subtopics; retire these.")
        if len(ids) == len(tree.leaves):
            raise QueryError("No topic would be left.")
        return self._shape("retire", {"topics": ids}, progress, lambda shaper: shaper.retire(ids))

    def mark_topic(self, name: str, mark: TopicMark) -> Topic:
        """Pin a topic, so that it is listed first, or hide it from lists, facets and the map; or with "" neither.

        Documents keep a hidden topic, it can be filtered by, and its address stays. Refits and retrains keep the mark.
        """
        id_ = self.topic_id(name)
        self.catalog.mark_topic(self.name, id_, mark)
        return self.topic_tree().by_id[id_]

    def last_act(self) -> Act | None:
        """What a user has done last to the topics, and can undo; None after they were fitted again."""
        return last_act(self.catalog, self.name)

    @on_live_generation
    def undo_topics(self, *, progress: Progress = no_progress) -> tuple[Act, list[Topic]]:
        """Take back the last merge, split, move, birth or retirement of topics: ten of them, until the next fit.

        Documents that came since get the topics that are back.

        Returns:
            What was undone, and the topics that it has changed.

        Raises:
            NotFound: There is nothing to undo.
        """
        if self.last_act() is None:
            raise NotFound(
                "There is nothing to undo.",
                hint="Merging, splitting, moving, adding, retiring can be, until the next fit; pin and hide have --undo.",
            )
        act, changed = self._shape("undo", {}, progress, Shaper.undo)
        topics = self.topic_tree().by_id
        return act, [topics[id_] for id_ in changed if id_ in topics]

    def rising(self) -> list[Rising]:
        """Subjects of documents that came since the topics were fitted, and that have no topic, the largest first."""
        return proposals(self.catalog, self.name)

    @on_live_generation
    def add_rising(self, numbers: Sequence[int] = (), *, progress: Progress = no_progress) -> list[Topic]:
        """Make topics of rising subjects; the other topics keep their ids and names.

        Args:
            numbers: Which of them, from 1, in the order of `rising`; empty: all.

        Raises:
            NotFound: There is none with this number.
        """
        found = self.rising()
        if unknown := [number for number in numbers if not 1 <= number <= len(found)]:
            raise NotFound(
                f"There is no rising topic {unknown[0]}; {len(found)} are known.",
                command="indexer topics rising",
            )
        chosen = [found[number - 1] for number in sorted(set(numbers))] or found
        if not chosen:
            return []
        before = {topic.id for topic in self.topics()}
        self._shape("birth", {"labels": [one.label for one in chosen]}, progress,
                    lambda shaper: shaper.bear(chosen))  # fmt: skip
        return [topic for topic in self.topics() if topic.id not in before]

    def _shape(
        self, kind: str, options: Mapping[str, Any], progress: Progress, act: Callable[[Shaper], T]
    ) -> T:
        """Change the topics in a recorded run."""
        with self.catalog.lock(self.name, f"indexer topics {kind}") as lock:
            complete_switch(self.settings, self.catalog)
            check_live(self.engine)
            run = self.catalog.start_run(self.name, kind, options, lock=lock)
            try:
                done = act(Shaper(self.engine, self.catalog, self.name, run, self._mining(), progress))
            except (QueryError, NotFound) as error:  # refused before anything was changed
                self.catalog.finish_run(run, "failed", {}, str(error))
                raise
            self.catalog.finish_run(
                run, "finished", {"documents": done} if isinstance(done, int) else {"shaped": 1}
            )
        return done


def check_parts(number: int) -> None:
    """Refuse a number of parts that a topic cannot be split into.

    Raises:
        QueryError: It is not 2 to `MOST_PARTS`.
    """
    if not 2 <= number <= MOST_PARTS:
        raise QueryError(f"A topic is split into 2 to {MOST_PARTS} parts, not {number}.")


def _another(topics: Sequence[Topic], id_: str, label: str) -> Topic | None:
    """Another topic that has this name."""
    requested = label.casefold()
    return next((topic for topic in topics if topic.label.casefold() == requested and topic.id != id_), None)
