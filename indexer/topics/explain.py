"""Why a document has its topics, recomputed from what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.errors import NotFound
from indexer.records import Document, Topic
from indexer.topics.fits import NamedFit, live_fit
from indexer.topics.models.base import OwnTopic

WHOLE_TEXT = "(the whole text)"  # instead of a phrase


def explain(engine: Engine, catalog: Catalog, collection: str, document_id: str) -> Why:
    """The votes of a document's phrases: for which topic, how similar, and the second most similar topic.

    Raises:
        NotFound: The document is stored, but not mined yet.
    """
    stored = engine.documents([document_id], vectors=True)
    named = live_fit(catalog, collection)
    rows = engine.mentions([document_id])
    if named is None or stored[0].vector is None:
        raise NotFound(
            f"Document '{document_id}' has not been mined yet.",
            hint="It is, after the next run.",
            command="Run: indexer index",
        )
    assigned = named.fit.assign(np.stack([r.vector for r in rows]), stored[0].vector) if rows else None
    own = named.fit.own_topic(stored[0].vector)
    total = (sum(row.score for row in rows) or 1.0) * (1 if own is None else 2)
    votes = [] if own is None else [_own_vote(named, own, alone=not rows)]
    votes += [
        Vote(
            phrase=row.surface,
            weight=row.score / total,
            topic=named.ids[assigned.topic[i]] if assigned.topic[i] >= 0 else None,
            similarity=float(assigned.similarity[i]),
            runner_up=_second(named, int(assigned.topic[i]), int(assigned.runner_up[i])),
            margin=float(assigned.margin[i]),
        )
        for i, row in enumerate(rows)
        if assigned is not None
    ]
    topics = {topic.id: topic for topic in engine.topics()}
    has = tuple((topics[t.topic_id], t.weight) for t in stored[0].topics if t.topic_id in topics)
    said = named.said_of(stored[0].document)
    excluded = {topic.id for topic, _ in has} | {id_ for id_, belongs in said.items() if not belongs}
    return Why(
        document=stored[0].document,
        topics=has,
        runner_up=None if True in said.values() else _runner_up(votes, topics, excluded),
        votes=tuple(sorted(votes, key=lambda v: -v.weight)),
        threshold=named.fit.threshold,
        bundle=stored[0].bundle,
        fit=named.run,
        whole=named.fit.whole,
        said=tuple((topics[id_], belongs) for id_, belongs in said.items() if id_ in topics),
    )


def _own_vote(named: NamedFit, own: OwnTopic, *, alone: bool) -> Vote:
    """What the document itself votes for: as much as all its phrases together."""
    return Vote(
        phrase=WHOLE_TEXT,
        weight=1.0 if alone else 0.5,
        topic=named.ids[own.topic] if own.topic >= 0 else None,
        similarity=own.similarity,
        runner_up=_second(named, own.topic, own.runner_up),
        margin=own.margin,
    )


def _second(named: NamedFit, first: int, second: int) -> str | None:
    """The id of the second nearest centroid; None when it is of the same topic (topics were merged)."""
    if second < 0 or (first >= 0 and named.ids[first] == named.ids[second]):
        return None
    return named.ids[second]


def _runner_up(
    votes: Iterable[Vote], topics: Mapping[str, Topic], own: set[str]
) -> tuple[Topic, float] | None:
    """The topic that got most of the vote without becoming one of the document's; else the most frequent second."""
    shares: dict[str, float] = {}
    for vote in votes:
        for candidate in (vote.topic, vote.runner_up):
            if candidate and candidate not in own:
                shares[candidate] = shares.get(candidate, 0.0) + (
                    vote.weight if candidate == vote.topic else 0.0
                )
    named = [(share, id_) for id_, share in shares.items() if id_ in topics]
    if not named:
        return None
    share, id_ = max(named, key=lambda item: (item[0], item[1]))
    return topics[id_], share


@dataclass(frozen=True)
class Vote:
    """One phrase of a document, or the document itself, and where it put its vote."""

    phrase: str  # or `WHOLE_TEXT`
    weight: float  # share of the document's vote
    topic: str | None  # None: no topic is similar enough
    similarity: float  # cosine to the nearest centroid, in the space of the fit
    runner_up: str | None
    margin: float  # similarity minus that of the runner-up


@dataclass(frozen=True)
class Why:
    """Why a document has its topics."""

    document: Document
    topics: tuple[tuple[Topic, float], ...]  # with their share of the vote
    runner_up: (
        tuple[Topic, float] | None
    )  # the best topic that the document did not get; None where a user chose
    votes: tuple[Vote, ...]  # heaviest first
    threshold: float  # the least similarity at which a phrase still votes
    bundle: str  # encoder of the vectors
    fit: str  # the run that fitted the topics
    whole: bool  # the document was assigned as a whole: its phrases have its similarity, and no vote
    said: tuple[tuple[Topic, bool], ...] = ()  # by a user, or by its own fields: whether it has the topic
