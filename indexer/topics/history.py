"""How users refer to a topic (id, number or label), its details, and its history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from indexer.catalog import Catalog
from indexer.catalog.entries import LineageEntry, TopicEntry
from indexer.engines.base import SignificantKeyphrase
from indexer.errors import NotFound, QueryError
from indexer.records import StoredDocument, Topic
from indexer.topics.hierarchy import TopicTree
from indexer.topics.labels import JOINT


def topic_ids(name: str, topics: Sequence[Topic], catalog: Catalog, collection: str) -> list[str]:
    """The ids of live topics that a name means: one, or all that a retired id has become, best match first.

    Raises:
        NotFound: There is no such topic; the message lists near ones.
        QueryError: Several have this label.
    """
    live = {topic.id for topic in topics}
    wanted = _as_id(name)
    if wanted in live:
        return [wanted]
    named = [topic.id for topic in topics if topic.label.casefold() == name.casefold()]
    if len(named) > 1:
        raise QueryError(
            f"{len(named)} topics are called '{name}': {', '.join(named)}.",
            hint="Name one of them by its id.",
        )
    if named:
        return named
    if _is_id(wanted):
        entry = next((topic for topic in catalog.topics(collection, state=None) if topic.id == wanted), None)
        successors = [id_ for id_ in catalog.successors(collection, wanted) if id_ in live] if entry else []
        if successors:
            return successors
        if entry:
            raise NotFound(
                f"Topic {wanted} '{entry.label}' has retired, and no topic continues it.",
                command=f"Its history: indexer topics history {wanted}",
            )
    first = [topic.id for topic in topics if topic.label.split(JOINT)[0].casefold() == name.casefold()]
    if len(first) == 1:
        return first
    labels = [topic.label for topic in topics]
    holding = [label for label in labels if name.strip() and name.casefold() in label.casefold()]
    near = holding[:3] or get_close_matches(name, labels, n=3, cutoff=0.4)
    raise NotFound(
        f"There is no topic '{name}' in collection '{collection}'.",
        hint=f"Did you mean: {', '.join(near)}?" if near else "",
        command="" if near else "indexer topics lists them.",
    )


def last_of(path: str, tree: TopicTree) -> str:
    """The last topic of a path of ids or labels; a label may have a slash itself."""
    for topic in sorted(tree.topics, key=lambda topic: -len(topic.label)):
        if path.casefold() == topic.label.casefold() or path.casefold().endswith(
            f"/{topic.label.casefold()}"
        ):
            return topic.id
    return path.rpartition("/")[2]


def topic_history(name: str, topics: Sequence[Topic], catalog: Catalog, collection: str) -> TopicHistory:
    """What became of a topic; a retired one is named by its id.

    Raises:
        NotFound: There is no such topic, and was none.
    """
    wanted = _as_id(name)
    id_ = wanted if _is_id(wanted) else topic_ids(name, topics, catalog, collection)[0]
    lineage = catalog.lineage(collection, id_)
    kinds = catalog.run_kinds({entry.run for entry in lineage})
    labels = {topic.id: topic.label for topic in catalog.topics(collection, state=None)}
    return TopicHistory(
        entry=catalog.topic(collection, id_),
        events=tuple(
            TopicEvent(entry, kinds.get(entry.run, ""), labels.get(entry.old_id or "", ""))
            for entry in lineage
        ),
        successors=tuple(catalog.successors(collection, id_)),
    )


def is_address(name: str) -> bool:
    """Whether a name means a topic by its number or id, whatever topics are called."""
    return _is_id(_as_id(name))


def _as_id(name: str) -> str:
    return f"t-{int(name):06d}" if name.isdecimal() else name


def _is_id(name: str) -> bool:
    return bool(re.fullmatch(r"t-\d+", name))


@dataclass(frozen=True)
class TopicEvent:
    """Something that happened to a topic."""

    entry: LineageEntry
    by: str  # kind of the run that did it; empty where none did
    old_label: str  # the name of the old topic: its last one, where it is retired


@dataclass(frozen=True)
class TopicHistory:
    """What became of a topic, live or retired."""

    entry: TopicEntry
    events: tuple[TopicEvent, ...]  # oldest first
    successors: tuple[str, ...]  # live topics that it leads to: itself when it is live


@dataclass(frozen=True)
class TopicDetails:
    """A topic with representative documents and its history."""

    topic: Topic
    above: tuple[Topic, ...]  # from the top down
    subtopics: tuple[Topic, ...]  # right below it
    below: tuple[str, ...]  # topics of documents below it, at any depth; itself where it is one
    others: tuple[Topic, ...]  # that the retired topic has become too, when its id was asked for
    documents: tuple[StoredDocument, ...]  # mostly about it and nearest to it first
    significant_keyphrases: tuple[
        SignificantKeyphrase, ...
    ]  # keyphrases that are more frequent here than elsewhere, most telling first
    history: TopicHistory
