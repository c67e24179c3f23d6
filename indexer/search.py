"""Search by words, by meaning, or both; facets, highlights, paging. Talks to an Engine, never to a database.

Both modes are fused here, in the client, by reciprocal rank (Cormack, Clarke and Büttcher 2009: score =
sum of 1 / (60 + rank)), because Elasticsearch sells its own fusion with the Enterprise licence only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from indexer.batches import batches
from indexer.encoding import Encoder
from indexer.engines.base import Clause, Engine, Filter, Fragment, Operator, Ranking, SearchRequest, WordQuery
from indexer.errors import QueryError
from indexer.records import MetaValue, StoredDocument
from indexer.text.stopwords import words

Mode = Literal["words", "meaning", "both"]
FUSION_CONSTANT = 60  # Cormack et al. 2009; the value every engine ships
SCANNED_AT_ONCE = 250  # documents read at once when all are listed
DEPTH = 100  # at least so many of each ranking are fused
DEEPEST = 10_000  # paging goes no deeper: nobody reads there, and rankings are held in memory

# Words that carry no meaning of their own: never required, unless the query has nothing else.
STOP_WORDS = words(
    """
    a an and are as at be been but by can did do does for from had has have how if in into is it its of on or
    our so such that the their then there these they this to was we were what when where which who why will
    with
    """
)
_PIECE = re.compile(r'(?P<sign>[-+]?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_FILTER = re.compile(r"^(?P<field>[\w.\-]+)\s*(?P<operator>!=|<=|>=|=|<|>)\s*(?P<value>.*)$", re.DOTALL)


@dataclass(frozen=True)
class Facet:
    """Counts of one field over the set that `SearchResults.facets_over` names."""

    field: str
    values: tuple[tuple[str, str, int], ...]  # value, readable name (a topic's label), documents


@dataclass(frozen=True)
class Hit:
    """One document found."""

    rank: int  # from 1
    score: float  # of the mode: bm25, cosine, or fused
    stored: StoredDocument
    fragments: tuple[Fragment, ...]
    found_by: Mapping[str, int]  # "words" and/or "meaning" ► rank there


@dataclass(frozen=True)
class SearchResults:
    """One page of hits, with what they were found in."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    total: int  # documents that match by words; without words, all under the filters
    facets: tuple[Facet, ...]
    facets_over: str  # which set the facets count, in words for people
    relaxed: bool  # no document has all the words, so any of them was enough


def parse_words(query: str) -> WordQuery:
    """Read a word query: words, "exact phrases", prefix*, and -word to exclude. Any text is a valid query.

    Stop words are not required, unless there is nothing else.
    """
    clauses = []
    for found in _PIECE.finditer(query.replace("\x00", " ")):
        negated = found["sign"] == "-"
        if found["phrase"] is not None:
            clauses.append(Clause(found["phrase"].strip(), "phrase", negated))
        else:
            word = found["word"]
            kind: Literal["word", "prefix"] = "prefix" if len(word) > 1 and word.endswith("*") else "word"
            clauses.append(Clause(word.rstrip("*") if kind == "prefix" else word, kind, negated))
    clauses = [clause for clause in clauses if any(c.isalnum() for c in clause.text)]
    telling = [c for c in clauses if c.kind != "word" or c.negated or c.text.lower() not in STOP_WORDS]
    if any(not clause.negated for clause in telling):
        clauses = telling
    return WordQuery(tuple(clauses))


def parse_filter(text: str) -> Filter:
    """Read a condition such as ``year>=2015`` or ``label=cs.RO``. The engine compares with numbers as numbers.

    Raises:
        QueryError: There is no operator in it.
    """
    found = _FILTER.match(text.strip())
    if not found or not found["value"].strip():
        raise QueryError(
            f"The condition {text!r} is not FIELD, operator, value.",
            hint="Operators: = != < <= > >=. For example: year>=2015, or label=cs.RO.",
            command="In a shell, quote it: --where 'year>=2015'",
        )
    operator: Operator = found["operator"]  # type: ignore[assignment]
    return Filter(found["field"], operator, _value(found["value"].strip()))


def _value(text: str) -> MetaValue:
    return text.lower() == "true" if text.lower() in ("true", "false") else text.strip("\"'")


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
) -> SearchResults:
    """Find documents.

    Args:
        encoder: Needed for ``meaning`` and ``both``; None searches by words alone.
        query: Words, "phrases", prefix* and -word; for meaning the whole text counts. An empty query lists all
            documents under the filters.
        facets: ``topic``, ``keyphrase``, ``absent_keyphrase`` or the name of a metadata field.
        absent: What a word of an absent keyphrase counts, beside 1 in the text; 0 leaves them out.

    Raises:
        QueryError: An unknown mode, a negative page, or a page deeper than 10,000.
    """
    if mode not in get_args(Mode):
        raise QueryError(f"The mode is {mode!r}; it must be one of {', '.join(get_args(Mode))}.")
    if limit < 1 or offset < 0 or offset + limit > DEEPEST:
        raise QueryError(
            f"A page of {limit} from {offset} was asked for; a page holds at least 1 and ends at {DEEPEST:,} or before.",
            hint="Narrow the search down, or save everything as a file.",
            command="Options: --topic, --keyphrase and --where, or --all --json",
        )
    words = replace(parse_words(query), absent=absent)
    by_words = mode != "meaning" and any(not clause.negated for clause in words.clauses)
    by_meaning = mode != "words" and encoder is not None and any(c.isalnum() for c in query)
    request = SearchRequest(
        words=words if by_words or words.clauses else None,
        vector=encoder.encode_texts([_without_syntax(words, query)])[0] if by_meaning and encoder else None,
        filters=tuple(filters),
        limit=max(DEPTH, offset + limit),
        facets=tuple(facets),
        facet_size=facet_size,
    )
    if mode == "meaning":
        request = replace(request, words=None)
    answer = engine.search(request)
    relaxed = False
    if by_words and answer.words is not None and answer.words.total == 0 and len(words.clauses) > 1:
        words = replace(words, require_all=False)
        answer = engine.search(replace(request, words=words))
        relaxed = True

    rankings = {
        name: ranking
        for name, ranking in (("words", answer.words), ("meaning", answer.meaning))
        if ranking is not None
    }
    excluded = _excluded(engine, words, request) if answer.meaning is not None else frozenset()
    fused = [hit for hit in _fuse(rankings) if hit[0] not in excluded]
    page = fused[offset : offset + limit]
    stored = {s.document.id: s for s in engine.documents([id_ for id_, _, _ in page])}
    fragments = engine.highlights(words, list(stored)) if by_words else {}
    first = rankings.get("words") or rankings.get("meaning")
    return SearchResults(
        query=query,
        mode=mode,
        hits=tuple(
            Hit(offset + i, score, stored[id_], tuple(fragments.get(id_, ())), found_by)
            for i, (id_, score, found_by) in enumerate(page, 1)
            if id_ in stored
        ),
        total=first.total if first else 0,
        facets=named_facets(engine, answer.facets),
        facets_over=_facets_over(by_words, relaxed, bool(filters)),
        relaxed=relaxed,
    )


def scan(engine: Engine, query: str, filters: Sequence[Filter] = (), *, absent: float = 0.0) -> Iterator[Hit]:
    """All documents that match by words, best first, as they are when the first is asked for.

    As in `search`, absent keyphrases count as much as `absent` says, and any of the words is enough when no document has
    all of them. There are no fragments.
    """
    words = replace(parse_words(query), absent=absent)
    wanted = words if words.clauses else None
    conditions = tuple(filters)
    if wanted and len(words.clauses) > 1:
        answer = engine.search(SearchRequest(words=words, filters=conditions, limit=0))
        if answer.words is not None and answer.words.total == 0:
            wanted = replace(words, require_all=False)
    rank = 0
    for some in batches(engine.scan(wanted, conditions), SCANNED_AT_ONCE):
        stored = {found.document.id: found for found in engine.documents([id_ for id_, _ in some])}
        for id_, score in some:
            if id_ in stored:  # it may have been deleted meanwhile
                rank += 1
                yield Hit(rank, score, stored[id_], (), {"words": rank} if wanted else {})


def _without_syntax(words: WordQuery, query: str) -> str:
    """The query as a text to encode: without quotes, stars and excluded words."""
    kept = " ".join(
        found["phrase"] or (found["word"] or "") for found in _PIECE.finditer(query) if found["sign"] != "-"
    )
    return kept.replace("*", " ").strip() or query


def _excluded(engine: Engine, words: WordQuery, request: SearchRequest) -> frozenset[str]:
    """Documents with a word that the query excludes: a vector knows nothing of exclusions."""
    unwanted = tuple(replace(clause, negated=False) for clause in words.clauses if clause.negated)
    if not unwanted:
        return frozenset()
    query = WordQuery(unwanted, require_all=False)
    answer = engine.search(SearchRequest(words=query, filters=request.filters, limit=DEEPEST))
    return frozenset(answer.words.ids if answer.words else ())


def _fuse(rankings: Mapping[str, Ranking]) -> list[tuple[str, float, dict[str, int]]]:
    """Join rankings by reciprocal rank; a single one keeps its own scores. Ties by id."""
    scores: dict[str, float] = {}
    ranks: dict[str, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for rank, (id_, score) in enumerate(zip(ranking.ids, ranking.scores, strict=True), 1):
            gained = score if len(rankings) == 1 else 1 / (FUSION_CONSTANT + rank)
            scores[id_] = scores.get(id_, 0.0) + gained
            ranks.setdefault(id_, {})[name] = rank
    order = list(scores) if len(rankings) == 1 else sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [(id_, scores[id_], ranks[id_]) for id_ in order]


def named_facets(engine: Engine, facets: Mapping[str, tuple[tuple[str, int], ...]]) -> tuple[Facet, ...]:
    """Counts with names that can be read: a topic has its label."""
    labels = {topic.id: topic.label for topic in engine.topics()} if "topic" in facets else {}
    return tuple(
        Facet(
            name,
            tuple((value, labels.get(value, value) if name == "topic" else value, n) for value, n in values),
        )
        for name, values in facets.items()
    )


def _facets_over(by_words: bool, relaxed: bool, filtered: bool) -> str:
    under = " under the filters" if filtered else ""
    if not by_words:
        return f"all documents{under}"
    return f"all documents with {'any' if relaxed else 'all'} of the words{under}"
