"""The Engine protocol: where documents live and are searched.

One engine object serves one collection. It depends neither on models nor on the catalog: vectors are float32 arrays of
unit length, ids are strings. Writes are idempotent. `tests/contract` runs every engine through the same tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from indexer.common import Floats
from indexer.records import (
    Document,
    MentionRow,
    MetaValue,
    MinedDocument,
    Outline,
    PhraseRow,
    Refinement,
    StoredDocument,
    Topic,
    Vector,
)

Operator = Literal["=", "!=", "<", "<=", ">", ">="]

MOSTLY = 0.5  # minimum weight of a topic that a document is mostly about
MIN_DOCUMENTS = 2  # minimum number of documents with a significant keyphrase
MAX_VALUE_LENGTH = 1024  # characters; longer values of the user's fields are neither filtered nor counted


@dataclass(frozen=True)
class Filter:
    """One condition. `field` is ``topic``, ``keyphrase``, ``duplicate_of`` or the name of one of the user's own fields.

    Conditions with ``=`` on the same field are alternatives (or), and so are the values of a list;
    everything else must hold together (and). Equality on strings is exact; a list-valued field matches when
    one of its values does. ``keyphrase`` compares the text case-insensitively. Dates are ISO 8601 strings
    and compare as text. A stored number compares as a number, also with a value given as text (``"2020"``).
    ``!=`` holds for documents without the field too. The value of ``duplicate_of`` is the id of an original, or empty.
    """

    field: str
    operator: Operator
    value: MetaValue


NO_DUPLICATES = Filter("duplicate_of", "=", "")  # documents that are a near duplicate of none


@dataclass(frozen=True)
class Clause:
    """One term of a word query.

    `alternatives`: a document with one of them matches too, and counts as what it matches best. What their `negated`,
    `required` and `alternatives` are makes no difference.
    """

    text: str
    kind: Literal["word", "phrase", "prefix"] = "word"
    negated: bool = False
    required: bool = False
    alternatives: tuple[Clause, ...] = ()

    @property
    def terms(self) -> tuple[Clause, ...]:
        """The clause and its alternatives."""
        return (self, *self.alternatives)


@dataclass(frozen=True)
class WordQuery:
    """A parsed word query.

    `require_all`: every clause must match; otherwise those that are `required`, or one where none is. The others add
    to the score. Negated clauses must not match. A clause without a letter or digit is ignored; when no clause is
    left, nothing matches; when only negated ones are left, all other documents match.

    `absent`: weight of a word in an absent keyphrase, relative to 1 in the text; with 0 they are not searched. Negated
    clauses never search them: such a keyphrase is predicted, and must not exclude a document.
    """

    clauses: tuple[Clause, ...]
    require_all: bool = True
    absent: float = 0.0


@dataclass(frozen=True)
class SearchRequest:
    """One search, answered in one round trip.

    `words`, `vector` or both may be given; with neither, all documents under the filters match: the answer's
    `words` lists them in id order with scores of 0.

    Negated clauses of `words` apply to the vector search too, as a filter.
    """

    words: WordQuery | None = None
    vector: Vector | None = None
    filters: tuple[Filter, ...] = ()
    limit: int = 100  # length of each ranking; an engine may stop at 10,000
    nearest: int | None = None  # length of the ranking by vector, when it differs
    facets: tuple[
        str, ...
    ] = ()  # "topic", "topic_path", "keyphrase", "duplicate_of" or the name of a user field
    facet_size: int = 10


@dataclass(frozen=True)
class Ranking:
    """Document ids, best first, with the engine's own scores (bm25, or cosine for vectors)."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    total: int  # all matches, not only those listed; by vector: all candidates under the filters


@dataclass(frozen=True)
class SearchAnswer:
    """Rankings for the requested parts, and facet counts.

    Facets count all documents that match `words` (or, without words, all documents under the filters), whatever the
    vector search returns. Each facet is (value, count), most frequent first, ties by value. The values of ``topic_path``
    are the ids from the top of the tree down to a topic, or to a parent, joined by slashes.
    """

    words: Ranking | None
    meaning: Ranking | None
    facets: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class SignificantKeyphrase:
    """A keyphrase that is more frequent in some documents than in all."""

    keyphrase: str
    documents: int  # in the subset
    everywhere: int  # in all mined documents
    score: float  # JLH: see `jlh`


@dataclass(frozen=True)
class Counted:
    """Some documents, and how many of them have each value of a field."""

    documents: int
    values: Mapping[str, int]


def jlh(share: float, everywhere: float) -> float:
    """Return the JLH score of a term: absolute change of its frequency times relative change.

    Args:
        share: Share of the subset's documents that have the term, 0 to 1.
        everywhere: Share of all documents that have it, above 0.

    Returns:
        At least 0; 0 when the term is not more frequent in the subset.

    Source: the default of Elasticsearch's `significant_terms`, so that both engines return the same.
    """
    return max(0.0, share - everywhere) * share / everywhere


@dataclass(frozen=True)
class Fragment:
    """An excerpt of a field, with the matched ranges as offsets into `text`."""

    field: str
    text: str
    marks: tuple[tuple[int, int], ...]


def path_value(path: Sequence[str]) -> str:
    """Return a path of topics as a value of ``topic_path``."""
    return "/".join(path)


Why = Literal["unsound", "changed", "missing"]
CHANGED = "it changed concurrently"
NO_DOCUMENT = "there is no such document"


@dataclass(frozen=True)
class Refused:
    """A row that the engine refused, and why.

    ``unsound``: the row is invalid, and becomes a dead letter. ``changed``: the document has another text, to be
    mined again. ``missing``: the document does not exist, or was deleted.
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


@dataclass(frozen=True)
class Damage:
    """Rows that are not what was written.

    Attributes:
        documents: Ids of those that must be mined again. Their texts are there.
        phrases: Ids of phrases whose rows must be written again.
        found: What was found, a sentence for each file or index.
        beyond_repair: What to do where `set_aside` and mining again cannot help; empty where they can.
    """

    documents: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    beyond_repair: str = ""


@dataclass(frozen=True)
class NearSentence:
    """A sentence of a document that mentions phrases, and the cosine of the nearest of these mentions."""

    document_id: str
    sentence: str
    similarity: float


def nearest_of_each(mentions: Iterable[tuple[str, str, float]]) -> list[NearSentence]:
    """Return each sentence once, from document id, sentence and cosine of every mention."""
    best: dict[tuple[str, str], float] = {}
    for id_, sentence, cosine in mentions:
        best[id_, sentence] = max(cosine, best.get((id_, sentence), -1.0))
    return [NearSentence(*key, cosine) for key, cosine in best.items()]


class Engine(Protocol):
    """Store and search one collection. Errors are `SearchError` and its subclasses."""

    dims: int  # of the vectors

    # -- writing ---------------------------------------------------------------------------------------------

    def store(self, documents: Sequence[Document]) -> list[Refused]:
        """Write title, text and meta; searchable by words when this returns.

        A document whose content hash differs from the stored one loses its mined data; an equal one is not written. The
        embedded engine shows all documents of one call at once; Elasticsearch, which has no transactions over several
        rows, may show some of them before the call returns.
        """
        ...

    def write_mined(self, rows: Sequence[MinedDocument]) -> list[Refused]:
        """Replace keyphrases, topics, vector and mentions of stored documents.

        Unknown ids are refused, and so are rows that were mined from a text that is no longer the stored one: a slow
        worker never attaches old phrases to a new text.
        """
        ...

    def refine(self, rows: Iterable[Refinement]) -> list[Refused]:
        """Replace keyphrases and topics of mined documents; keep the vectors.

        Mentions named in `mention_topics` get that topic, the others keep theirs. Documents that are unknown
        or not mined are refused.
        """
        ...

    def write_duplicates(self, originals: Mapping[str, str | None]) -> None:
        """Set of which document each is a near duplicate, until `store` replaces its text. Unknown ids are ignored."""
        ...

    def delete(self, ids: Sequence[str]) -> int:
        """Remove documents with their mentions. Unknown ids are ignored. Returns the number deleted."""
        ...

    def write_phrases(self, rows: Iterable[PhraseRow]) -> None:
        """Write or overwrite phrase rows. A row that cannot be stored raises `WriteRefused`."""
        ...

    def delete_phrases(self, ids: Iterable[str]) -> None: ...

    def write_topics(self, topics: Sequence[Topic]) -> None:
        """Replace the topics of the collection (the catalog keeps the old ones)."""
        ...

    def catch_up(self) -> None:
        """Make everything that other processes have written visible to this object at once."""
        ...

    def compact(self) -> None:
        """Reclaim the space of overwritten and removed rows, and refresh statistics. Optional."""
        ...

    def wasteful(self) -> bool:
        """Return whether `compact` would reclaim much. Cheap; rows that another process is writing may be counted."""
        ...

    def superseded(self) -> bool:
        """Return whether another generation is live now than the one that this object was opened on."""
        ...

    def read_ahead(self) -> None:
        """Read what most searches need, so that the first ones need not. It may take seconds."""
        ...

    def retrying(self) -> AbstractContextManager[None]:
        """Inside the block, retry requests for some minutes while the server is away: for unattended runs."""
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

    def damage(self, *, deep: bool = False) -> Damage:
        """Compare rows with what was written.

        Args:
            deep: Read everything; otherwise a sample, within a second or two.
        """
        ...

    def set_aside(self, damage: Damage) -> None:
        """Prepare for mining the documents of `damage` again: damaged rows no longer count."""
        ...

    def fields(self) -> list[str]:
        """Return the sorted names of the user fields, which filters and facets may name."""
        ...

    def documents(self, ids: Sequence[str], *, vectors: bool = False) -> list[StoredDocument]:
        """Return the documents with these ids, in the order given; unknown ids are skipped."""
        ...

    def outlines(self, ids: Sequence[str]) -> list[Outline]:
        """Return the phrases and topics of those documents that are mined, in any order."""
        ...

    def as_stored(self, vectors: Floats) -> Floats:
        """Return vectors of documents or mentions as reading them would: rounded, at unit length.

        Args:
            vectors: float32 [n, dims]; finite, no row is zero.
        """
        ...

    def duplicates(self) -> dict[str, str]:
        """Return the original of each near duplicate, by their ids. An original may have been deleted."""
        ...

    def document_ids(self) -> Iterator[str]:
        """Iterate over all ids, ascending."""
        ...

    def mentions(self, document_ids: Sequence[str]) -> list[MentionRow]:
        """Return the mention rows of these documents, with vectors, by document in the order given, then by score."""
        ...

    def mentions_by_phrase(
        self, phrase_ids: Sequence[str] | None = None, *, limit: int = 64
    ) -> Iterator[list[MentionRow]]:
        """Mention rows grouped by phrase, ascending by phrase id; all phrases when `phrase_ids` is None.

        At most `limit` rows of each phrase carry their vector (chosen by hash of document id, so that the choice
        does not depend on the order of writing); the `vector` of the others is an empty array.
        """
        ...

    def phrases(self, ids: Sequence[str]) -> list[PhraseRow]:
        """Return phrase rows in the order given; unknown ids are skipped."""
        ...

    def changed_phrases(self) -> Iterator[str]:
        """Iterate over phrases that have lost a mention row since their phrase row was written.

        Those are phrases of documents that were deleted, replaced, or mined again without them. Phrases that a document
        has now are known from its rows, and an engine need not list them; it may list more than it must. `write_phrases`
        and `delete_phrases` clear the mark, unless the phrase was marked again after this object read its mentions
        (`mentions_by_phrase`).
        """
        ...

    def phrase_ids(self) -> Iterator[str]: ...

    def topics(self) -> list[Topic]:
        """Return all topics, largest first."""
        ...

    def topic_documents(self, topic_id: str, centroid: Vector, *, limit: int = 10) -> Ranking:
        """Return representative documents of a topic: those that are mostly about it, nearest to its centroid first.

        The others that have the topic follow in the same order. Scores are cosines; `total` counts all that have it.
        """
        ...

    # -- searching -------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchAnswer: ...

    def spellings(self, words: Sequence[str]) -> dict[str, str]:
        """Return, for those of these words that no document has, the word of the documents that takes the fewest edits.

        Words that have no near one are missing; see `indexer.engines.spelling`.
        """
        ...

    def keyphrases_with(self, beginning: str, *, limit: int) -> list[tuple[str, int]]:
        """Return keyphrases that begin so, in any case, and the number of documents of each, most documents first."""
        ...

    def titles_with(self, beginning: str, *, limit: int) -> list[tuple[str, str]]:
        """Return ids and titles of documents whose titles begin so; ASCII letters in any case."""
        ...

    def scan(
        self, words: WordQuery | None = None, filters: tuple[Filter, ...] = ()
    ) -> Iterator[tuple[str, float]]:
        """Iterate over all matching documents with their scores, ranked as in `search`, beyond 10,000 too.

        The snapshot is taken when the first one is drawn. Without words: all documents under the filters, by id.
        """
        ...

    def count_topics(self, parts: Sequence[tuple[Filter, ...]]) -> list[Counted]:
        """Count the documents under each of these sets of conditions, and how many of them have each topic.

        All sets are counted together: for many parts, such as years, and all topics.
        """
        ...

    def significant_keyphrases(
        self, filters: tuple[Filter, ...], *, limit: int = 10
    ) -> list[SignificantKeyphrase]:
        """Return keyphrases that are more frequent in the mined documents under the filters than in all.

        Best score first; ties by number of documents, then by case-folded text. Keyphrases of a single document are
        skipped.
        """
        ...

    def hits(
        self, words: WordQuery, ids: Sequence[str], *, fragments: int = 3
    ) -> tuple[list[StoredDocument], Mapping[str, tuple[Fragment, ...]]]:
        """Return documents as `documents` does, and excerpts of title and text with the matched words marked, best first.

        At most `fragments` per document. Every required clause is marked, even when the whole query does not match;
        documents without a marked word have no excerpts.
        """
        ...

    def near_sentences(self, vector: Vector, ids: Sequence[str]) -> list[NearSentence]:
        """Return the sentences of some documents that have mentions, each once, in any order.

        Of a phrase that is in several sentences, the first counts.

        Args:
            ids: Of documents, those of a page of hits.
        """
        ...

    def nearest_phrases(self, vector: Vector, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        """Return phrase rows by cosine, best first."""
        ...

    def nearest_mentions(
        self, vector: Vector, *, limit: int = 10, filters: tuple[Filter, ...] = ()
    ) -> list[tuple[MentionRow, float]]:
        """Return mention rows by cosine, best first; `filters` apply to their documents."""
        ...
