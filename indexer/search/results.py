"""What a collection answers: plain records for the command line, the page and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from indexer.catalog.entries import LineageEntry, Run, TopicEntry, Work
from indexer.engines.base import EngineInfo, Special
from indexer.pipeline.drift_check import Drift
from indexer.records import Document, StoredDocument, Topic


@dataclass(frozen=True)
class Vote:
    """One phrase of a document, and where it put its vote."""

    phrase: str
    weight: float  # share of the document's vote
    topic: str | None  # None: beyond reach of every topic
    similarity: float  # cosine to the nearest centroid, in the space of the fit
    runner_up: str | None
    margin: float  # similarity minus that of the runner-up


@dataclass(frozen=True)
class Why:
    """Why a document has its topics."""

    document: Document
    topics: tuple[tuple[Topic, float], ...]  # with their share of the vote
    runner_up: tuple[Topic, float] | None  # the best topic that the document did not get
    votes: tuple[Vote, ...]  # heaviest first
    reach: float  # the least similarity at which a phrase still votes
    bundle: str  # what made the vectors
    fit: str  # the run that fitted the topics
    whole: bool  # the document was placed as a whole: its phrases have its likeness, and no vote of their own


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
    """A topic with documents that stand for it and its history."""

    topic: Topic
    others: tuple[Topic, ...]  # that the retired topic has become too, when its id was asked for
    documents: tuple[StoredDocument, ...]  # mostly about it and nearest to it first
    special: tuple[Special, ...]  # keyphrases that are more frequent here than elsewhere, most telling first
    history: TopicHistory


@dataclass(frozen=True)
class Plan:
    """What an index run would do."""

    documents: int
    new: int
    changed: int
    unchanged: int
    unreadable: int
    missing: int  # in the collection under these sources, and not in them any more
    megabytes: float  # that the home would grow by, about
    seconds: float | None  # about, from the speed of earlier runs; None without any
    problems: tuple[str, ...]


@dataclass(frozen=True)
class WorkStatus:
    """What is with the workers at this moment.

    Attributes:
        batches: On their way.
        queues: Messages that nobody has taken yet, by queue; None where the broker does not answer. Empty without one.
        left: Documents that are stored and not mined.
        mined: By the runs that are not finished.
        runs: Those.
        retrains: That workers do.
        finishing: Everything of a run is mined, and what ends it is left: keyphrases, topics, phrase rows.
        finisher: Who does that now; empty when nobody does.
        idle_queues: Queues with something to do that nobody is doing at this moment.
    """

    batches: Work
    queues: Mapping[str, int | None]
    left: int
    mined: int
    runs: tuple[Run, ...]
    retrains: tuple[Run, ...]
    finishing: bool
    finisher: str
    idle_queues: tuple[str, ...]

    @property
    def idle(self) -> bool:
        """Nothing is on its way, and no run waits for its end."""
        return not (self.batches.documents or self.runs or self.retrains)


@dataclass(frozen=True)
class Status:
    """State of the collection."""

    collection: str
    engine: EngineInfo
    documents: Mapping[str, int]  # state ► documents
    without_topic: int
    dead: Mapping[str, int]  # stage ► dead letters
    topics: int
    bundle: str
    last_runs: tuple[Run, ...]
    lock: str  # who is writing now, or ""
    retraining: str  # who retrains or rolls back now, or ""
    watching: str  # who keeps up with somebody's index now, or ""
    work: WorkStatus
    drift: Drift
    drifted: tuple[str, ...]  # what of it is beyond its limit, in words

    @property
    def worth_a_retrain(self) -> bool:
        """Whether there is enough that is new and unlike the old."""
        return bool(self.drifted)


@dataclass(frozen=True)
class Reason:
    """A phrase of a found document that is near the query.

    Attributes:
        similarity: Cosine; None when the search was by words alone.
    """

    phrase: str
    similarity: float | None
