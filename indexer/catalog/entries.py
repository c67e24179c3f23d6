"""Records of the catalog: frozen dataclasses, independent of SQL. All times are UTC."""

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
LineageKind = Literal[
    "kept", "split", "merged", "born", "retired", "hand", "renamed", "pinned", "hidden", "unmarked"
]
TopicMark = Literal["", "pinned", "hidden"]
Stage = Literal["read", "store", "prepare", "encode", "write"]
BatchState = Literal["prepare", "encode"]  # the next step

DOCUMENT_STATES: tuple[DocumentState, ...] = ("stored", "mined", "done")
RUN_STATES: tuple[RunState, ...] = ("running", "finished", "failed", "interrupted")
TOPIC_STATES: tuple[TopicState, ...] = ("live", "retired")
LINEAGE_KINDS: tuple[LineageKind, ...] = get_args(LineageKind)
STAGES: tuple[Stage, ...] = ("read", "store", "prepare", "encode", "write")
TAKING_IN: tuple[Stage, ...] = ("read", "store")  # their failures exist in the file only
MINING: tuple[Stage, ...] = ("prepare", "encode", "write")  # their failures are stored in the engine, as text
BATCH_STATES: tuple[BatchState, ...] = ("prepare", "encode")


@dataclass(frozen=True)
class LedgerEntry:
    """One document as the catalog knows it."""

    id: str
    content_hash: str
    state: DocumentState = "stored"
    bundle: str = ""  # of the encoder that made its vectors, see Encoder.bundle
    run: str = ""  # the run that read it last
    source: str = ""  # FILE or FILE:LINE
    topic_fit: str = ""  # run of the fit that its topics come from
    sketch: bytes | None = (
        None  # of its text, see `indexer.text.shingles`; None: not compared with the others yet
    )


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
        """Whether it found nothing to do."""
        return self.state == "finished" and self.counts.get("verdict") == "nothing"


@dataclass(frozen=True)
class Failure:
    """A document, or a line of a file, that could not be processed."""

    source: str
    stage: Stage
    reason: str
    document_id: str = ""  # "" when reading failed before there was one


@dataclass(frozen=True)
class DeadLetter:
    """A recorded failure, with its attempts."""

    source: str
    stage: Stage
    reason: str  # of the last attempt
    document_id: str
    attempts: int
    first_at: datetime
    last_at: datetime
    id: int = 0  # number of the entry


@dataclass(frozen=True)
class TopicEntry:
    """A topic as the catalog keeps it permanently; the engine has the live ones, with centroids."""

    number: int
    label: str
    phrases: tuple[str, ...] = ()  # leading phrases, best first
    size: int = 0  # documents that have it
    label_locked: bool = False
    state: TopicState = "live"
    born_run: str = ""
    retired_run: str = ""
    mark: TopicMark = ""  # by a user: listed first, or not at all
    mined: str = ""  # label that was mined last; empty where the first of the phrases was

    @property
    def id(self) -> str:
        return topic_id(self.number)


@dataclass(frozen=True)
class LineageEntry:
    """One change of a topic in a run. `old_id` is None for a born, renamed or marked topic.

    `new_id` is None for a retired one.
    """

    run: str  # empty for a renaming or a mark by a user
    old_id: str | None
    new_id: str | None
    kind: LineageKind
    score: float = 0.0  # similarity of the match
    at: datetime | None = None  # set when it is recorded
    label: str = ""  # of `new_id` from then on; set when it is recorded


@dataclass(frozen=True)
class GenerationEntry:
    """Data for the switch to a generation, in addition to the documents in its ledger."""

    number: int
    live: bool  # documents, fit and topics of the collection belong to it
    fit: str  # run of its last live fit; empty without topics
    replaced: int  # the generation that was live before it; 0 for the first
    run: str  # that activated it last


@dataclass(frozen=True, eq=False)
class Fit:
    """The arrays that assign topics, named by the run that fitted them."""

    run: str
    bundle: str
    created_at: datetime
    live: bool
    info: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class BundleEntry:
    """A bundle that this collection has used or evaluated."""

    name: str
    fingerprint: str
    path: str = ""
    parent: str = ""  # name of the bundle it was trained from
    scores: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None  # set when it is recorded


@dataclass(frozen=True)
class BundleCandidate:
    """Sentences and candidate phrases of a document, as ranges of its content."""

    content_hash: str  # of the text that the ranges refer to
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WaitingBatches:
    """A free batch, and the age of its message in seconds (None: never sent)."""

    id: str
    collection: str
    state: BatchState
    sent_ago: float | None


@dataclass(frozen=True)
class Work:
    """The batches of a collection.

    Attributes:
        waiting, held: Free and claimed batches, by next step.
        delayed: Batches whose retry is not due yet.
        documents: In all these batches.
        holders: HOST:PID of the workers.
        problems: Reasons of releases without success.
    """

    waiting: Mapping[BatchState, int]
    held: Mapping[BatchState, int]
    delayed: int
    documents: int
    holders: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class LockHolder:
    """The process that holds the write lock of a collection."""

    owner: str  # e.g. "indexer index"
    pid: int
    host: str
    since: datetime
    expires_at: datetime

    def __str__(self) -> str:
        return f"{self.owner} (process {self.pid} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


def topic_id(number: int) -> str:
    """Return the permanent id of a topic: ``t-000042``."""
    return f"t-{number:06d}"


def topic_number(id: str) -> int:
    """Return the number in a topic id; -1 when the id is invalid."""
    return int(id[2:]) if id.startswith("t-") and id[2:].isdecimal() else -1
