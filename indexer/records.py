"""The nouns of the application: frozen dataclasses, no behaviour beyond their own data.

All character offsets inside the pipeline count in `Document.content` (title, blank line, text), so that one number
line serves sentences, windows and mentions. `Place`, which leaves the program, counts in the field itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats

Vector = NDArray[np.float32]  # unit length, [dims]
MetaValue = str | int | float | bool | list[str]

TITLE_GAP = "\n\n"


@dataclass(frozen=True)
class Document:
    """One document as it was read; `meta` holds the user's own fields."""

    id: str
    text: str
    title: str = ""
    meta: Mapping[str, MetaValue] = field(default_factory=dict)
    source: str = ""  # where it came from, "FILE" or "FILE:LINE", for messages and --delete-missing

    @cached_property
    def content(self) -> str:
        """The mined text: title, blank line, text. Offsets count in it."""
        return f"{self.title}{TITLE_GAP}{self.text}" if self.title else self.text

    @cached_property
    def content_hash(self) -> str:
        """Changes when anything that is stored changes."""
        data = json.dumps([self.title, self.text, dict(self.meta)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def name(self) -> str:
        """Its name for people: its title, else its file, else its id."""
        return self.title or str(self.meta.get("file") or "") or self.id

    @property
    def text_start(self) -> int:
        """Where `text` begins in `content`."""
        return len(self.title) + len(TITLE_GAP) if self.title else 0

    def place(self, start: int, end: int) -> Place:
        """Turn a range of `content` into a range of its field."""
        if start >= self.text_start:
            return Place("text", start - self.text_start, end - self.text_start)
        return Place("title", start, min(end, len(self.title)))


@dataclass(frozen=True)
class Place:
    """A character range of one field of the original document."""

    field: str  # "title" or "text"
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """A range of `Document.content`; never crosses from title to text."""

    start: int
    end: int


@dataclass(frozen=True)
class Mention:
    """One occurrence of a phrase: a range of `Document.content`, inside one sentence."""

    start: int
    end: int
    phrase: str  # normal form, see indexer.text.normal_form


@dataclass(frozen=True)
class Prepared:
    """Result of `prepare` for a document: offsets only, in order of appearance.

    `parts` are ranges that are not candidates but may be keyphrases; see `indexer.text.subspans`.
    """

    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]
    parts: tuple[Mention, ...] = ()


@dataclass(frozen=True)
class EncodedDocument:
    """A document in vectors.

    Attributes:
        vector: float32 [dims], the token-weighted mean of its windows, unit length.
        phrases: Its distinct phrases, in order of first appearance; each with its mentions.
        vectors: float32 [phrases, dims], the mean over the mentions of each phrase, unit length.
        attention: float32 [phrases], attention received, summed over the mentions of each phrase
            (SEKE 2022, equations 9 to 11).
        relevance: float32 [phrases], how relevant each is to the document; see `indexer.protocols.Encoder.relevance`.
        sentences: The sentence of each phrase's first mention.
        own: float32 [phrases], the share of its mentions that are candidates, not parts of longer ones.
    """

    vector: Floats
    phrases: tuple[tuple[Mention, ...], ...]
    sentences: tuple[Sentence, ...]
    vectors: Floats
    attention: Floats
    relevance: Floats
    own: Floats


@dataclass(frozen=True)
class Keyphrase:
    """A phrase chosen for a document. Absent keyphrases have no offsets."""

    phrase_id: str
    text: str  # readable surface
    score: float  # 0..1, comparable inside one document
    places: tuple[Place, ...] = ()

    @property
    def present(self) -> bool:
        return bool(self.places)


@dataclass(frozen=True)
class TopicWeight:
    """One of a document's topics; the weights of a document sum to at most 1, the rest is without a topic."""

    topic_id: str
    weight: float


@dataclass(frozen=True)
class MentionRow:
    """One phrase kept for one document. `_id` = document id + phrase id."""

    document_id: str
    phrase_id: str
    phrase: str  # normal form
    surface: str  # spelling of the first occurrence
    score: float  # base score, without document frequencies
    places: tuple[Place, ...]  # every occurrence
    sentence: str  # the sentence of the first occurrence
    vector: Vector  # mean over its occurrences in this document
    topic: str | None = None
    keyphrase: bool = False  # it is one of the document's keyphrases; set by the engine from those


@dataclass(frozen=True)
class MinedDocument:
    """Everything that mining adds to a stored document. Written as a whole, it replaces earlier results."""

    id: str
    vector: Vector
    keyphrases: tuple[Keyphrase, ...]  # best first
    topics: tuple[TopicWeight, ...]  # heaviest first
    mentions: tuple[MentionRow, ...]
    bundle: str
    run: str
    content_hash: (
        str  # of the document that it was mined from: an engine refuses it when that is no longer stored
    )


@dataclass(frozen=True)
class Refinement:
    """New keyphrases and topics for a document whose vectors stay as they are."""

    id: str
    keyphrases: tuple[Keyphrase, ...]
    topics: tuple[TopicWeight, ...]
    mention_topics: Mapping[str, str | None]  # phrase id ► topic id
    run: str


@dataclass(frozen=True)
class Outline:
    """The phrases and topics of a mined document, by their ids."""

    phrases: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True)
class StoredDocument:
    """A document in the engine."""

    document: Document
    keyphrases: tuple[Keyphrase, ...] = ()
    topics: tuple[TopicWeight, ...] = ()
    vector: Vector | None = None  # only when requested
    bundle: str = ""
    run: str = ""
    duplicate_of: str | None = None  # id of the original, of a near duplicate


@dataclass(frozen=True)
class PhraseRow:
    """A phrase of the collection: a keyphrase of a document, or in two documents or more."""

    phrase_id: str
    phrase: str  # normal form
    surfaces: tuple[str, ...]  # most frequent first
    documents: int
    topics: tuple[str, ...]  # most frequent first
    vector: Vector


@dataclass(frozen=True)
class Topic:
    """A mined topic. The id is permanent, the label may change, a name given by a user stays."""

    id: str  # "t-000042"
    label: str
    phrases: tuple[str, ...]  # leading phrases, best first
    size: int  # documents that have it
    centroid: Vector  # in the encoder's space
    label_locked: bool = False
    parent: str | None = None  # id of the topic above it; its documents are those of its subtopics
    term: str = ""  # key of the term of the user's vocabulary that it is
    mark: str = ""  # by a user: "pinned" or "hidden"; the catalog has it, and no engine
    mined: str = ""  # the label that was mined last; the catalog has it, and no engine


def leaves(topics: Iterable[Topic]) -> list[Topic]:
    """The topics that documents have: those that are no parents."""
    found = list(topics)
    above = {topic.parent for topic in found}
    return [topic for topic in found if topic.id not in above]


def topic_path(id_: str, parents: Mapping[str, str | None]) -> tuple[str, ...]:
    """The ids from the top of the tree down to a topic.

    Args:
        parents: Topic ► the topic above it; what is missing is at the top.
    """
    path = [id_]
    while (above := parents.get(path[0])) and above not in path:
        path.insert(0, above)
    return tuple(path)


def phrase_id(phrase: str) -> str:
    """Id of a phrase: a hash of its normal form, 16 hexadecimal digits."""
    return hashlib.sha1(phrase.encode("utf-8", "surrogatepass")).hexdigest()[:16]
