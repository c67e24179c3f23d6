"""Search by words, by meaning, or both; facets, highlights, paging. Talks to an Engine, never to a database.

Both modes are fused here, in the client (see `fusion`), because Elasticsearch sells its own fusion with the Enterprise
licence only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import get_args

from indexer.common import batches
from indexer.engines.base import Engine, Filter, SearchAnswer, SearchRequest, WordQuery
from indexer.errors import QueryError
from indexer.protocols import Encoder
from indexer.records import Vector
from indexer.search import fusion
from indexer.search.diversity import REORDERED, diverse_order
from indexer.search.facets import named_facets
from indexer.search.fusion import Found, fuse
from indexer.search.passages import passages
from indexer.search.query import only_excluding, parse_words, without_syntax
from indexer.search.results import Hit, Mode, SearchResults

SCANNED_AT_ONCE = 250  # documents read at once when all are listed
SHORTEST = 100  # ranking that is asked for
NEAREST = 1_000  # documents of a whole list by meaning alone
DEEPEST = 10_000  # paging goes no deeper: rankings are held in memory


@dataclass(frozen=True)
class _ParsedQuery:
    """A query as it is put to the engine."""

    words: WordQuery | None  # in ``meaning``: only what is excluded
    vector: Vector | None
    wanted: bool  # some clauses of the words are looked for

    @classmethod
    def read(cls, query: str, mode: Mode, encoder: Encoder | None, absent: float) -> _ParsedQuery:
        words = replace(parse_words(query), absent=absent)
        wanted = mode != "meaning" and any(not clause.negated for clause in words.clauses)
        if not wanted:
            words = only_excluding(words)
        text = without_syntax(query)
        by_meaning = encoder is not None and mode != "words" and any(c.isalnum() for c in text)
        return cls(
            words=words if words.clauses else None,
            vector=encoder.encode_texts([text])[0] if encoder and by_meaning else None,
            wanted=wanted,
        )

    @property
    def fused(self) -> bool:
        """Both rankings are joined."""
        return self.wanted and self.vector is not None


def search(
    engine: Engine,
    encoder: Encoder | None,
    query: str,
    *,
    mode: Mode = "both",
    filters: Sequence[Filter] = (),
    facets: Sequence[str] = ("topic", "keyphrase"),
    facet_size: int = 10,
    limit: int = 10,
    offset: int = 0,
    absent: float = 0.0,
    diverse: bool = False,
    chance: Callable[[], float] = lambda: -1.0,
) -> SearchResults:
    """Find documents.

    Args:
        encoder: Needed for ``meaning`` and ``both``; None searches by words alone.
        query: As `parse_words` reads it; for meaning the whole text counts. An empty query lists all documents under
            the filters.
        facets: ``topic``, ``keyphrase``, ``absent_keyphrase`` or the name of a metadata field.
        absent: What a word of an absent keyphrase counts, beside 1 in the text; 0 leaves them out.
        diverse: Put documents that say something else before those that say the same again; see `diversity`.
        chance: The cosine that the nearest document of a query without a meaning may have; see `closeness`. It is asked
            for where nothing but nearness decides.

    Raises:
        QueryError: An unknown mode, a negative page, or a page deeper than 10,000; or a query that cannot be read.
    """
    if mode not in get_args(Mode):
        raise QueryError(f"The mode is {mode!r}; it must be one of {', '.join(get_args(Mode))}.")
    if limit < 1 or offset < 0 or offset + limit > DEEPEST:
        raise QueryError(
            f"A page of {limit} from {offset} was asked for; a page holds at least 1 and ends at {DEEPEST:,} or before.",
            hint="Narrow the search down, or save everything as a file.",
            command="Options: --topic, --keyphrase and --where, or --all --json",
        )
    asked = _ParsedQuery.read(query, mode, encoder, absent)
    last = offset + limit
    request = SearchRequest(
        words=asked.words,
        vector=asked.vector,
        filters=tuple(filters),
        # Fusing moves each of the nearest before its rank by words: so many more must be known.
        limit=max(fusion.KNOWN, last + fusion.NEAREST) if asked.fused else max(SHORTEST, last),
        nearest=fusion.NEAREST if asked.fused else None,
        facets=tuple(facets),
        facet_size=facet_size,
    )
    answer, words, counted, relaxed = _answered(engine, asked, request)
    found, listed = _listed(answer, asked)
    diverse = diverse and any(score for _, score, _ in found)
    if diverse:
        found = _diversified(engine, found)
    page = found[offset:last]
    ids = [id_ for id_, _, _ in page]
    documents, fragments = engine.hits(words, ids) if words and asked.wanted else (engine.documents(ids), {})
    stored = {one.document.id: one for one in documents}
    near = {}
    if asked.vector is not None and ids:
        near = passages(engine.near_sentences(asked.vector, ids), documents)
    labels = {topic.id: topic.label for topic in engine.topics()}
    total = _total(answer, asked)
    any_word = words is not None and not words.require_all
    by_nearness = None if asked.wanted and total else answer.meaning
    close = not (by_nearness and by_nearness.scores and by_nearness.scores[0] < chance())
    over_words = asked.wanted and not (asked.fused and total == 0)
    clauses = asked.words.clauses if asked.words else ()
    return SearchResults(
        query=query,
        mode=mode,
        hits=tuple(
            Hit(offset + i, score, stored[id_], tuple(fragments.get(id_, ())), found_by, near.get(id_, ""))
            for i, (id_, score, found_by) in enumerate(page, 1)
            if id_ in stored
        ),
        total=total,
        listed=listed,
        has_more=last < (min(listed, DEEPEST) if listed is not None else DEEPEST),
        facets=named_facets(answer.facets, labels),
        facets_over=_facets_over(
            over_words, any_word, any(clause.negated for clause in clauses), bool(filters)
        ),
        relaxed=relaxed,
        any_word=any_word,
        filtered=bool(filters),
        clauses=clauses,
        counted=counted,
        labels=labels,
        by_meaning=asked.vector is not None,
        diverse=diverse,
        corrections={},
        synonyms={},
        close=close,
    )


def scan(
    engine: Engine,
    query: str,
    filters: Sequence[Filter] = (),
    *,
    mode: Mode = "words",
    encoder: Encoder | None = None,
    absent: float = 0.0,
) -> Iterator[Hit]:
    """All documents that `search` lists on its pages, as they are when the first is asked for; no end at 10,000 by words.

    By meaning alone, the nearest 1,000. There are no fragments.

    Args:
        encoder, absent: As for `search`.
    """
    asked = _ParsedQuery.read(query, mode, encoder, absent)
    conditions = tuple(filters)
    depth = DEEPEST if asked.fused else NEAREST if asked.vector is not None else 0
    request = SearchRequest(
        words=asked.words,
        vector=asked.vector,
        filters=conditions,
        limit=depth,
        nearest=fusion.NEAREST if asked.fused else depth,
    )
    answer, words, _, _ = _answered(engine, asked, request)
    found, _ = _listed(answer, asked)
    first = _hits(engine, found, 1)
    if asked.vector is not None and not (asked.fused and answer.words and answer.words.total > depth):
        return first
    near = {id_ for id_, _, _ in found}
    last = found[-1][1] if found else 0.0
    rest = (
        (id_, last * depth / rank if asked.fused else score, {"words": rank} if asked.wanted else {})
        for rank, (id_, score) in enumerate(engine.scan(words, conditions), 1)
        if id_ not in near
    )
    return chain(first, _hits(engine, rest, 1 + len(found)))


def _hits(engine: Engine, found: Iterable[Found], first: int) -> Iterator[Hit]:
    """Hits without fragments. Ranks have no gap where documents have been deleted in between."""
    rank = first
    for some in batches(found, SCANNED_AT_ONCE):
        stored = {one.document.id: one for one in engine.documents([id_ for id_, _, _ in some])}
        for id_, score, found_by in some:
            if id_ in stored:
                yield Hit(rank, score, stored[id_], (), found_by)
                rank += 1


def _answered(
    engine: Engine, asked: _ParsedQuery, request: SearchRequest
) -> tuple[SearchAnswer, WordQuery | None, WordQuery | None, bool]:
    """What the engine answers, to which words, the words of the documents that are counted, and whether any was enough.

    Where no document has the words and the nearest are listed instead, everything is counted.
    """
    answer, words = engine.search(request), asked.words
    relaxed = False
    if words and asked.wanted and _no_words(answer) and words.require_all and len(words.clauses) > 1:
        words = replace(words, require_all=False)
        answer = engine.search(replace(request, words=words))
        relaxed = True
    counted = words
    if words and asked.wanted and _no_words(answer) and asked.vector is not None:
        excluding = only_excluding(words)
        counted = excluding if excluding.clauses else None
        if request.facets:
            everything = replace(request, words=counted, vector=None, limit=0, nearest=None)
            answer = replace(answer, facets=engine.search(everything).facets)
    return answer, words, counted, relaxed


def _diversified(engine: Engine, found: Sequence[Found]) -> list[Found]:
    first = found[:REORDERED]
    documents = engine.documents([id_ for id_, _, _ in first], vectors=True)
    by_id = {one.document.id: one for one in documents}
    order = diverse_order([score for _, score, _ in first], [by_id.get(id_) for id_, _, _ in first])
    return [*(first[at] for at in order), *found[REORDERED:]]


def _no_words(answer: SearchAnswer) -> bool:
    return answer.words is not None and answer.words.total == 0


def _total(answer: SearchAnswer, asked: _ParsedQuery) -> int:
    counted = answer.words if asked.wanted or asked.vector is None else answer.meaning
    return counted.total if counted else 0


def _listed(answer: SearchAnswer, asked: _ParsedQuery) -> tuple[list[Found], int | None]:
    """The beginning of the list, and how long the whole of it is; None when that is not known."""
    if asked.wanted and answer.words and answer.meaning:
        found = fuse(answer.words, answer.meaning)
        return found, len(found) if len(answer.words.ids) == answer.words.total else None
    ranking, name = (answer.words, "words") if asked.vector is None else (answer.meaning, "meaning")
    if ranking is None:
        return [], 0
    ranked = asked.wanted or asked.vector is not None
    listed = zip(ranking.ids, ranking.scores, strict=True)
    return [
        (id_, score, {name: at} if ranked else {}) for at, (id_, score) in enumerate(listed, 1)
    ], ranking.total


def _facets_over(by_words: bool, any_word: bool, excluding: bool, filtered: bool) -> str:
    counted = "all documents"
    if by_words:
        counted += f" with {'any' if any_word else 'all'} of the words"
    elif excluding:
        counted += " without what is left out"
    return f"{counted} under the filters" if filtered else counted
