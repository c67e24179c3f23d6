"""The Engine protocol: where documents live and are searched.

One engine object serves one collection. It knows nothing of models or of the catalog: vectors come in and go
out as float32 arrays of unit length, ids as strings. Every write may be repeated: the same rows twice leave
the same state. `tests/contract` runs every engine through the same tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from indexer.records import (
    Document,
    MentionRow,
    MetaValue,
    MinedDocument,
    PhraseRow,
    Refinement,
    StoredDocument,
    Topic,
    Vector,
)

Operator = Literal["=", "!=", "<", "<=", ">", ">="]

MOSTLY = 0.5  # weight of a topic from which on a document is mostly about it
MIN_DOCUMENTS = 2  # documents that a special keyphrase stands in, at least
MAX_VALUE_LENGTH = (
    1024  # characters; longer values of the user's fields are kept, not filtered by nor counted
)


@dataclass(frozen=True)
class Filter:
    """One condition. `field` is ``topic``, ``keyphrase`` or the name of one of the user's own fields.

    Conditions with ``=`` on the same field are alternatives (or), and so are the values of a list;
    everything else must hold together (and). Equality on strings is exact; a list-valued field matches when
    one of its values does. ``keyphrase`` compares the text case-insensitively. Dates are ISO 8601 strings
    and compare as text. A stored number compares as a number, also with a value given as text (``"2020"``).
    ``!=`` holds for documents without the field too.
    """

    field: str
    operator: Operator
    value: MetaValue


@dataclass(frozen=True)
class Clause:
    """One piece of a word query."""

    text: str
    kind: Literal["word", "phrase", "prefix"] = "word"
    negated: bool = False


@dataclass(frozen=True)
class WordQuery:
    """A parsed word query.

    `require_all`: every clause must match; otherwise one is enough. Negated ones never may. A clause without
    a letter or digit is ignored; when nothing is left, nothing matches; when only negated ones are left,
    everything but these does.

    `absent`: what a word of an absent keyphrase counts, beside 1 in the text; with 0 they are not looked at. Negated
    clauses never look there: such a keyphrase is a guess, and no reason to leave a document out.
    """

    clauses: tuple[Clause, ...]
    require_all: bool = True
    absent: float = 0.0


@dataclass(frozen=True)
class SearchRequest:
    """What one search asks of the engine in one round trip.

    `words`, `vector` or both may be given; with neither, all documents under the filters match: the answer's
    `words` lists them in id order with scores of 0.

    Negated clauses of `words` hold for the vector too: documents with one of them are left out before the nearest are
    taken.
    """

    words: WordQuery | None = None
    vector: Vector | None = None
    filters: tuple[Filter, ...] = ()
    limit: int = 100  # length of each ranking; an engine may end at 10,000
    nearest: int | None = None  # length of the ranking by vector, where it is to be another
    facets: tuple[str, ...] = ()  # "topic", "keyphrase" or the name of a field of the user's
    facet_size: int = 10


@dataclass(frozen=True)
class Ranking:
    """Document ids, best first, with the engine's own scores (bm25, or cosine for vectors)."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    total: int  # all matches, not only those listed; by vector: all that could be there, under the filters


@dataclass(frozen=True)
class SearchAnswer:
    """Rankings for the parts that were asked for, and facet counts.

    Facets count all documents that match `words` (or, without words, all documents under the filters):
    never only the nearest by vector. Each facet is (value, count), most frequent first, ties by value.
    """

    words: Ranking | None
    meaning: Ranking | None
    facets: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class SignificantKeyphrase:
    """A keyphrase that is more frequent in some documents than in all."""

    keyphrase: str
    documents: int  # of those looked at
    everywhere: int  # of all mined documents
    score: float  # JLH: see `jlh`


@dataclass(frozen=True)
class Counted:
    """Some documents, and how many of them have each value of a field."""

    documents: int
    values: Mapping[str, int]


def jlh(share: float, everywhere: float) -> float:
    """How much more frequent something is in a part than in the whole: what is gained times how many times it is.

    Args:
        share: Of the documents looked at that have it, 0 to 1.
        everywhere: Of all documents that have it, above 0.

    Returns:
        At least 0; 0 when it is not more frequent.

    Source: the default of Elasticsearch's `significant_terms`, so that both engines give the same.
    """
    return max(0.0, share - everywhere) * share / everywhere


@dataclass(frozen=True)
class Fragment:
    """A piece of a field with the matched ranges in it, as offsets into `text`."""

    field: str
    text: str
    marks: tuple[tuple[int, int], ...]


Why = Literal["unsound", "changed", "missing"]
CHANGED = "it changed meanwhile"
NO_DOCUMENT = "there is no such document"


@dataclass(frozen=True)
class Refused:
    """A row that the engine did not take, and why.

    ``unsound`` is for the dead letters. ``changed`` means that the document has another text by now: what was mined from
    the old one is of no use, and mining it again will do. ``missing``: there is no such document, or no longer.
    """

    id: str
    reason: str
    why: Why = "unsound"


@dataclass(frozen=True)
class EngineInfo:
    """Counts and sizes, for `indexer status`."""

    documents: int
    mined: int
    mentions: int
    phrases: int
    topics: int
    without_topic: int  # mined documents that have no topic
    bytes: int
    description: str  # e.g. "local, SQLite 3.45.1"


@dataclass(frozen=True)
class HealthProblem:
    """A problem of the engine for a person to act on. `fatal`: a run would fail."""

    found: str
    hint: str
    fatal: bool


class Engine(Protocol):
    """Store and search one collection. Errors are `SearchError` and its subclasses."""

    dims: int  # of the vectors

    # -- writing ---------------------------------------------------------------------------------------------

    def store(self, documents: Sequence[Document]) -> list[Refused]:
        """Write title, text and meta; searchable by words when this returns.

        A document whose content hash differs from the stored one loses what was mined from the old text; an
        equal one is left as it is. The embedded engine shows all documents of one call at once; Elasticsearch, which
        has no transactions over several rows, may show some of them before the call returns.
        """
        ...

    def write_mined(self, rows: Sequence[MinedDocument]) -> list[Refused]:
        """Replace keyphrases, topics, vector and mentions of stored documents.

        Refused are unknown ids, and rows that were mined from another text than the one that is stored now: however
        slow a worker is, it never puts old phrases to a new text.
        """
        ...

    def refine(self, rows: Iterable[Refinement]) -> list[Refused]:
        """Replace keyphrases and topics of mined documents; keep the vectors.

        Mentions named in `mention_topics` get that topic, the others keep theirs. Documents that are unknown
        or were not mined are refused.
        """
        ...

    def delete(self, ids: Sequence[str]) -> int:
        """Remove documents with their mentions. Unknown ids are ignored. Returns how many there were."""
        ...

    def write_phrases(self, rows: Iterable[PhraseRow]) -> None:
        """Write or overwrite phrase rows. A row that cannot be stored raises `WriteRefused`."""
        ...

    def delete_phrases(self, ids: Iterable[str]) -> None: ...

    def write_topics(self, topics: Sequence[Topic]) -> None:
        """Make these the topics of the collection; others disappear (the catalog remembers them)."""
        ...

    def catch_up(self) -> None:
        """See everything that other processes have written up to now; without it, that may take a moment."""
        ...

    def compact(self) -> None:
        """Give back the space of overwritten and removed rows, and refresh statistics. May be left out."""
        ...

    def wasteful(self) -> bool:
        """Whether `compact` would give much back. Takes no time; rows that somebody is writing may look lost."""
        ...

    def superseded(self) -> bool:
        """Whether another generation is live by now than the one that this was opened on."""
        ...

    def retrying(self) -> AbstractContextManager[None]:
        """Inside, requests wait some minutes for a server that is away: for runs, where nobody sits and waits."""
        ...

    def close(self) -> None: ...

    # -- reading ---------------------------------------------------------------------------------------------

    def info(self) -> EngineInfo: ...

    def problems(self, *, full: bool = False) -> list[HealthProblem]:
        """Return what keeps this collection from being written or read; empty when nothing is known.

        Args:
            full: For `indexer doctor`, also look for problems that take many requests to find. Without it, each
                request has a timeout of a few seconds, and a server that does not answer is one of the problems.
        """
        ...

    def fields(self) -> list[str]:
        """Names of the users' own fields, which filters and facets may name; sorted."""
        ...

    def documents(self, ids: Sequence[str], *, vectors: bool = False) -> list[StoredDocument]:
        """The documents with these ids, in the order given; unknown ones are left out."""
        ...

    def document_ids(self) -> Iterator[str]:
        """All ids, ascending."""
        ...

    def mentions(self, document_ids: Sequence[str]) -> list[MentionRow]:
        """Mention rows of these documents, with vectors, by document in the order given, then by score."""
        ...

    def mentions_by_phrase(
        self, phrase_ids: Sequence[str] | None = None, *, limit: int = 64
    ) -> Iterator[list[MentionRow]]:
        """Mention rows grouped by phrase, ascending by phrase id; all phrases when `phrase_ids` is None.

        At most `limit` rows of each phrase carry a vector that was read (chosen by hash of document id, so
        that the choice does not depend on the order of writing); of the others `vector` is an empty array.
        """
        ...

    def document_frequencies(self, phrase_ids: Sequence[str]) -> dict[str, int]:
        """In how many documents each phrase has a mention row; 0 for unknown ones."""
        ...

    def phrases(self, ids: Sequence[str]) -> list[PhraseRow]:
        """Phrase rows in the order given; unknown ones are left out."""
        ...

    def changed_phrases(self) -> Iterator[str]:
        """Phrases whose mention rows (or their topic or choice) changed since their phrase row was last written.

        `write_phrases` and `delete_phrases` take a phrase off this list, unless it was put there again after this
        object read its mentions (`mentions_by_phrase`); everything else that touches mention rows puts it on.
        """
        ...

    def phrase_ids(self) -> Iterator[str]: ...

    def topics(self) -> list[Topic]:
        """All topics, largest first."""
        ...

    def topic_documents(self, topic_id: str, centroid: Vector, *, limit: int = 10) -> Ranking:
        """Documents that stand for a topic: of those that are mostly about it, the nearest to its centroid first.

        Behind them come the others that have it, in the same order. Scores are cosines; `total` counts all that have it.
        """
        ...

    # -- searching -------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchAnswer: ...

    def scan(
        self, words: WordQuery | None = None, filters: tuple[Filter, ...] = ()
    ) -> Iterator[tuple[str, float]]:
        """All documents that match, with their scores: as `search` ranks them, and no end at 10,000.

        They are those of the moment when the first is asked for. Without words all under the filters, by id.
        """
        ...

    def count_topics(self, parts: Sequence[tuple[Filter, ...]]) -> list[Counted]:
        """How many documents there are under each of these sets of conditions, and how many of them have each topic.

        All of it is counted together: this is for many parts, such as years, and all topics.
        """
        ...

    def significant_keyphrases(
        self, filters: tuple[Filter, ...], *, limit: int = 10
    ) -> list[SignificantKeyphrase]:
        """What is special about the mined documents under the filters: keyphrases that are more frequent there.

        Most telling first; equal ones by number of documents, then by text without case. Those of a single document tell
        nothing, and are left out.
        """
        ...

    def highlights(
        self, words: WordQuery, ids: Sequence[str], *, fragments: int = 3
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """Pieces of title and text of these documents with the matched words marked, best first.

        At most `fragments` a document. Any wanted clause is marked, also where the whole query does not
        match; documents without a marked word are left out.
        """
        ...

    def nearest_phrases(self, vector: Vector, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        """Phrase rows by cosine, best first."""
        ...

    def nearest_mentions(
        self, vector: Vector, *, limit: int = 10, filters: tuple[Filter, ...] = ()
    ) -> list[tuple[MentionRow, float]]:
        """Mention rows by cosine, best first; `filters` are on their documents."""
        ...
