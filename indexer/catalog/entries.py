"""What goes into the catalog and comes out of it: frozen dataclasses, free of SQL. All times are UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from numpy.typing import NDArray

DocumentState = Literal[
    "stored", "mined", "done"
]  # text in the engine; vectors written; keyphrases and topics final
RunState = Literal["running", "finished", "failed", "interrupted"]
TopicState = Literal["live", "retired"]
LineageKind = Literal["kept", "split", "merged", "born", "retired", "hand", "renamed"]
Stage = Literal["read", "store", "prepare", "encode", "write"]
BatchState = Literal["prepare", "encode"]  # what has to be done next

DOCUMENT_STATES: tuple[DocumentState, ...] = ("stored", "mined", "done")
RUN_STATES: tuple[RunState, ...] = ("running", "finished", "failed", "interrupted")
TOPIC_STATES: tuple[TopicState, ...] = ("live", "retired")
LINEAGE_KINDS: tuple[LineageKind, ...] = get_args(LineageKind)
STAGES: tuple[Stage, ...] = ("read", "store", "prepare", "encode", "write")
TAKING_IN: tuple[Stage, ...] = ("read", "store")  # what failed there is in its file only
MINING: tuple[Stage, ...] = ("prepare", "encode", "write")  # what failed there is in the engine, as text
BATCH_STATES: tuple[BatchState, ...] = ("prepare", "encode")


@dataclass(frozen=True)
class LedgerEntry:
    """One document as the catalog knows it."""

    id: str
    content_hash: str
    state: DocumentState = "stored"
    bundle: str = ""  # what made its vectors, as Encoder.bundle says it
    run: str = ""  # the run that read it last
    source: str = ""  # FILE or FILE:LINE
    topic_fit: str = ""  # run of the fit that its topics come from


@dataclass(frozen=True)
class Run:
    """One call of index, enrich, retrain and so on."""

    id: str  # sorts by time
    collection: str
    kind: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    options: Mapping[str, Any]
    counts: Mapping[str, Any]
    error: str
    started_by: str  # USER@HOST

    @property
    def was_idle(self) -> bool:
        """Whether it has found that there is nothing to do."""
        return self.state == "finished" and self.counts.get("verdict") == "nothing"


@dataclass(frozen=True)
class Failure:
    """A document, or a place in a file, that could not be processed: to be buried."""

    source: str
    stage: Stage
    reason: str
    document_id: str = ""  # "" when reading failed before there was one


@dataclass(frozen=True)
class DeadLetter:
    """A buried letter."""

    source: str
    stage: Stage
    reason: str  # of the last attempt
    document_id: str
    attempts: int
    first_at: datetime
    last_at: datetime
    id: int = 0  # by which it can be named


@dataclass(frozen=True)
class TopicEntry:
    """A topic as the catalog remembers it, for ever; the engine has the live ones, with centroids."""

    number: int
    label: str
    phrases: tuple[str, ...] = ()  # leading phrases, best first
    size: int = 0  # documents that have it
    label_locked: bool = False
    state: TopicState = "live"
    born_run: str = ""
    retired_run: str = ""

    @property
    def id(self) -> str:
        return topic_id(self.number)


@dataclass(frozen=True)
class LineageEntry:
    """What became of a topic in a run. `old_id` is None for a born or renamed topic, `new_id` for a retired one."""

    run: str  # empty where no run did it: a topic was renamed
    old_id: str | None
    new_id: str | None
    kind: LineageKind
    score: float = 0.0  # similarity of the match
    at: datetime | None = None  # set when it is recorded
    label: str = ""  # the name that `new_id` had from then on; set when it is recorded


@dataclass(frozen=True)
class GenerationEntry:
    """What the catalog must know of a generation to go to it, beside the documents in its ledger."""

    number: int
    live: bool  # the documents, the fit and the topics of the collection are those of this one
    fit: str  # run of the fit that it had when it was live last; empty without topics
    replaced: int  # the generation that was live before it came; 0 for the first
    run: str  # that made it live last


@dataclass(frozen=True, eq=False)
class Fit:
    """The arrays that assign topics, and where they come from. Named by the run that made it."""

    run: str
    bundle: str
    created_at: datetime
    live: bool
    info: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class BundleEntry:
    """A bundle that this collection has used or tried."""

    name: str
    fingerprint: str
    path: str = ""
    parent: str = ""  # name of the bundle it was trained from
    scores: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None  # set when it is recorded


@dataclass(frozen=True)
class BundleCandidate:
    """Sentences and candidate phrases of a document: ranges of its content, and no text."""

    content_hash: str  # of the text that the ranges count in
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WaitingBatches:
    """A batch that nobody works on, and how many seconds ago its message was sent; None: never."""

    id: str
    collection: str
    state: BatchState
    sent_ago: float | None


@dataclass(frozen=True)
class Work:
    """What of a collection is on its way through workers.

    Attributes:
        waiting, held: Batches by what has to be done next: those that nobody works on, and those that somebody does.
        delayed: Batches that are not to be tried again yet.
        documents: In all these batches.
        holders: HOST:PID of those who work.
        problems: Why batches were given back undone.
    """

    waiting: Mapping[BatchState, int]
    held: Mapping[BatchState, int]
    delayed: int
    documents: int
    holders: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class LockHolder:
    """Who is writing to a collection."""

    owner: str  # e.g. "indexer index"
    pid: int
    host: str
    since: datetime
    expires_at: datetime

    def __str__(self) -> str:
        return f"{self.owner} (process {self.pid} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


def topic_id(number: int) -> str:
    """The permanent id of a topic: ``t-000042``."""
    return f"t-{number:06d}"


def topic_number(id: str) -> int:
    """The number in a topic id; -1 when it is none."""
    return int(id[2:]) if id.startswith("t-") and id[2:].isdecimal() else -1
