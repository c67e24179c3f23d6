"""The tree of topics: what is above a topic, and below a parent."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from indexer.common import unit
from indexer.records import Topic, leaves, topic_path
from indexer.topics.labels import JOINT, interleaved, mined_label, parent_label


class TopicTree:
    """Topics and the parents above them.

    Args:
        topics: All of them, in the order in which each level lists them, but for pinned ones, which come first.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.topics = tuple(sorted(topics, key=lambda topic: topic.mark != "pinned"))
        self.by_id = {topic.id: topic for topic in topics}
        self._parents = {topic.id: topic.parent for topic in topics}

    @cached_property
    def leaves(self) -> tuple[Topic, ...]:
        """The topics that documents have."""
        return tuple(leaves(self.topics))

    @cached_property
    def parents(self) -> tuple[Topic, ...]:
        """The topics that have others below them."""
        found = {topic.id for topic in self.leaves}
        return tuple(topic for topic in self.topics if topic.id not in found)

    @property
    def roots(self) -> tuple[Topic, ...]:
        """The topics at the top: parents, and topics without one."""
        return self.subtopics(None)

    def shown(self) -> TopicTree:
        """The tree without what is hidden, and without parents that have nothing else below them."""
        hidden = {topic.id for topic in self.topics if topic.mark == "hidden"}
        if not hidden:
            return self
        paths = [topic_path(topic.id, self._parents) for topic in self.leaves]
        kept = {id_ for path in paths if not hidden & set(path) for id_ in path}
        return TopicTree([topic for topic in self.topics if topic.id in kept])

    def subtopics(self, id_: str | None) -> tuple[Topic, ...]:
        """The topics right below one; empty for a topic of documents."""
        return tuple(topic for topic in self.topics if topic.parent == id_)

    def below(self, id_: str) -> list[str]:
        """The ids of the topics of documents below a parent, at any depth; of a topic of documents its own."""
        return [topic.id for topic in self.leaves if id_ in topic_path(topic.id, self._parents)]

    def path(self, id_: str) -> tuple[Topic, ...]:
        """The topics from the top down to one."""
        return tuple(self.by_id[above] for above in topic_path(id_, self._parents))

    def walk(self, id_: str | None = None, depth: int = 0) -> Iterator[tuple[int, Topic]]:
        """All topics below one, each followed by what is below it, with their depth from 0."""
        for topic in self.subtopics(id_):
            yield depth, topic
            yield from self.walk(topic.id, depth + 1)


def renamed(tree: TopicTree, id_: str, label: str | None, named: Set[str] = frozenset()) -> list[Topic]:
    """The topics with another label for one, and for the parents above it, as far as they are named after it.

    Args:
        label: None restores the mined one.
        named: Parents that a language model has named.
    """
    before = tree.by_id[id_]
    mined = label is None
    label = mined_label(before.mined, before.phrases) if label is None else label
    topics = [
        replace(topic, label=label, label_locked=not mined) if topic.id == id_ else topic
        for topic in tree.leaves
    ]
    inner = tree.parents
    above = {topic.id for topic in tree.path(id_)}
    kept = {t.id: (t.label, t.label_locked) for t in inner if t.label_locked or t.id not in above - named}
    if tree.subtopics(id_):
        kept.pop(id_, None)
        kept |= {} if mined else {id_: (label, True)}
    parents = {topic.id: topic.parent for topic in tree.topics if topic.parent}
    terms = {topic.id: topic.term for topic in inner}
    return with_parents(topics, parents, {topic.id: topic.size for topic in inner}, kept, terms)


def with_names(tree: TopicTree, names: Mapping[str, str]) -> list[Topic]:
    """The topics with other labels for some; other parents are named after their subtopics, unless a user named them."""
    topics = [replace(topic, label=names.get(topic.id, topic.label)) for topic in tree.leaves]
    parents = {topic.id: topic.parent for topic in tree.topics if topic.parent}
    kept = {
        t.id: (names.get(t.id, t.label), t.label_locked)
        for t in tree.parents
        if t.label_locked or t.id in names
    }
    terms = {topic.id: topic.term for topic in tree.parents}
    return with_parents(topics, parents, {topic.id: topic.size for topic in tree.parents}, kept, terms)


def with_parents(
    topics: Sequence[Topic],
    parents: Mapping[str, str],
    sizes: Mapping[str, int],
    kept: Mapping[str, tuple[str, bool]],
    terms: Mapping[str, str] = MappingProxyType({}),
) -> list[Topic]:
    """Topics of documents, and the parents above them, made of what is right below each.

    Args:
        topics: Those of documents.
        parents: Topic or parent ► the parent above it.
        sizes: Documents of each parent.
        kept: Parents that keep their label ► it, and whether a user has given it.
        terms: Parents that are terms of the vocabulary ► their keys.
    """
    found = {topic.id: replace(topic, parent=parents.get(topic.id)) for topic in topics}
    heads = {topic.id: topic.label if topic.label_locked else topic.label.split(JOINT)[0] for topic in topics}
    taken = {topic.label.casefold() for topic in topics}
    waiting = set(parents.values())
    while waiting:
        ready = {
            id_ for id_ in waiting if found.keys() >= {at for at, above in parents.items() if above == id_}
        }
        for id_ in sorted(ready):
            below = [found[at] for at, above in parents.items() if above == id_]
            below.sort(key=lambda topic: (-topic.size, topic.id))
            label, locked = kept.get(id_, ("", False))
            label = label or parent_label([heads[topic.id] for topic in below], taken)
            heads[id_] = label if locked else heads[below[0].id]
            centroid = np.average([t.centroid for t in below], axis=0, weights=[t.size + 1 for t in below])
            found[id_] = Topic(
                id=id_,
                label=label,
                phrases=interleaved([topic.phrases for topic in below]),
                size=sizes.get(id_, 0),
                centroid=unit(centroid.astype(np.float32)),
                label_locked=locked,
                parent=parents.get(id_),
                term=terms.get(id_, ""),
            )
        waiting -= ready
    return list(found.values())


Groups = Mapping[str, Set[str]]  # parent ► the topics of documents below it, at any depth


def parents_of(groups: Groups) -> dict[str, str]:
    """Topic or parent ► the parent right above it: the smallest group that holds it."""
    parents: dict[str, str] = {}
    ascending = sorted(groups, key=lambda id_: (len(groups[id_]), id_))
    for at, id_ in enumerate(ascending):
        parents |= {topic: id_ for topic in sorted(groups[id_]) if topic not in parents}
        wider = next((other for other in ascending[at + 1 :] if groups[id_] < groups[other]), None)
        if wider is not None:
            parents[id_] = wider
    return parents


def tidy(groups: Groups, fixed: Container[str] = ()) -> dict[str, Set[str]]:
    """The groups without those of fewer than two topics, and those that have the same topics as an earlier one.

    Args:
        fixed: Groups that stay while they have a topic: those that the user's vocabulary makes.
    """
    found: dict[str, Set[str]] = {}
    for id_ in groups:
        if len(groups[id_]) > (id_ not in fixed) and (id_ in fixed or groups[id_] not in found.values()):
            found[id_] = groups[id_]
    return found


def placed(
    groups: Groups, wanted: Mapping[str, str], known: Set[str], fixed: Container[str] = ()
) -> dict[str, Set[str]]:
    """The groups, with some topics where a user has put them, as far as both are there.

    Args:
        wanted: Topic or parent ► the parent right above it, or an empty text for the top.
        known: The topics of documents.
        fixed: See `tidy`.
    """
    # Of two that get the same topics, the one that was narrower stays.
    found = {id_: groups[id_] for id_ in sorted(groups, key=lambda id_: (len(groups[id_]), id_))}
    for id_, parent in wanted.items():
        topics = groups.get(id_, {id_} & known)
        if not topics or (parent and (parent not in found or found[parent] <= topics)):
            continue
        target = found.get(parent, frozenset())
        for other, members in found.items():
            if other != id_ and members >= topics:
                found[other] = members - topics
            if parent and members >= target:
                found[other] = found[other] | topics
    return tidy(found, fixed)
