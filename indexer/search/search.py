"""Search by words, by meaning, or both; facets, highlights, paging. Talks to an Engine, never to a database.

Both modes are fused here, in the client, by reciprocal rank (Cormack, Clarke and Büttcher 2009: score =
sum of 1 / (60 + rank)), because Elasticsearch sells its own fusion with the Enterprise licence only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, dropwhile
from typing import Literal, get_args

from indexer.common import batches
from indexer.engines.base import (
    Clause,
    Engine,
    Filter,
    Fragment,
    Operator,
    Ranking,
    SearchAnswer,
    SearchRequest,
    WordQuery,
)
from indexer.errors import QueryError
from indexer.protocols import Encoder
from indexer.records import MetaValue, StoredDocument, Vector
from indexer.text.stopwords import words

Mode = Literal["words", "meaning", "both"]
FUSION_CONSTANT = 60  # Cormack et al. 2009; the value every engine ships
SCANNED_AT_ONCE = 250  # documents read at once when all are listed
DEPTH = 100  # the best so many of each ranking are fused; beside words, so many are listed by meaning
KNOWN = (
    1_000  # ranks by words that are looked at, at least: they tell which of the nearest have the words, too
)
NEAREST = 1_000  # documents of a whole list by meaning alone
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
    listed: int | None  # documents on all pages together; None when nobody has counted them
    has_more: bool  # there is another page
    facets: tuple[Facet, ...]
    facets_over: str  # which set the facets count, in words for people
    relaxed: bool  # no document has all the words, so any of them was enough
    any_word: bool  # any of them was enough: because of that, or because OR stands between them
    filtered: bool  # only what filters let through was looked at
    clauses: tuple[Clause, ...]  # what was looked for by words, and left out
    by_meaning: bool  # the nearest are among the hits, or all of them


@dataclass(frozen=True)
class _Asked:
    """A query as it is put to the engine."""

    words: WordQuery | None  # in ``meaning``: only what is excluded
    vector: Vector | None
    wanted: bool  # some clauses of the words are looked for

    @classmethod
    def read(cls, query: str, mode: Mode, encoder: Encoder | None, absent: float) -> _Asked:
        words = replace(parse_words(query), absent=absent)
        wanted = mode != "meaning" and any(not clause.negated for clause in words.clauses)
        if not wanted:
            words = only_excluding(words)
        text = _without_syntax(query)
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


def parse_words(query: str) -> WordQuery:
    """Read a word query: words, "exact phrases", prefix*, and -word to exclude; in capitals AND, OR and NOT.

    Stop words are not required, unless there is nothing else.

    Raises:
        QueryError: There is something, and no letter or digit in it; or OR joins only some of the words.
    """
    if query.strip() and not any(c.isalnum() for c in query):
        raise QueryError(
            f"The query {query!r} has no letter or digit.",
            hint="Words are found by their letters and digits; an empty query lists all documents.",
        )
    pieces = [piece for piece in _typed(query) if piece is None or any(c.isalnum() for c in piece.text)]
    clauses = [piece for piece in pieces if piece is not None]
    telling = [c for c in clauses if c.kind != "word" or c.negated or c.text.lower() not in STOP_WORDS]
    if any(not clause.negated for clause in telling):
        clauses = telling
    return WordQuery(tuple(clauses), require_all=not _are_alternatives(pieces))


def _typed(query: str) -> Iterator[Clause | None]:
    """What stands in a query, in its order; None where it has OR between two other pieces."""
    pieces = list(_PIECE.finditer(query.replace("\x00", " ")))
    negated = False
    for at, found in enumerate(pieces):
        operator = found[0] if at + 1 < len(pieces) else ""
        if operator == "NOT":
            negated = True
        elif operator == "OR" and at:
            yield None
        elif operator != "AND" or not at:
            yield _clause(found, negated or found["sign"] == "-")
            negated = False


def _clause(found: re.Match[str], negated: bool) -> Clause:
    if found["phrase"] is not None:
        return Clause(found["phrase"].strip(), "phrase", negated)
    word = found["word"]
    if len(word) > 1 and word.endswith("*"):
        return Clause(word.rstrip("*"), "prefix", negated)
    return Clause(word, "word", negated)


def _are_alternatives(pieces: Sequence[Clause | None]) -> bool:
    """Whether OR joins all that is looked for. What is left out may stand before or behind that.

    Raises:
        QueryError: OR joins only a part of it, and who searches would get something else than he asked for.
    """
    if None not in pieces:
        return False
    wanted = list(dropwhile(_is_left_out, reversed(list(dropwhile(_is_left_out, pieces)))))
    words, between = wanted[::2], wanted[1::2]
    if len(words) != len(between) + 1 or any(between) or None in words or any(map(_is_left_out, words)):
        raise QueryError(
            'OR stands between single words and "phrases" only, such as: wind OR "solar power" OR tides.',
            hint="Put what belongs together in quotes. As a word, write it in small letters: or.",
        )
    return True


def _is_left_out(piece: Clause | None) -> bool:
    return piece is not None and piece.negated


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
        query: As `parse_words` reads it; for meaning the whole text counts. An empty query lists all documents under
            the filters.
        facets: ``topic``, ``keyphrase``, ``absent_keyphrase`` or the name of a metadata field.
        absent: What a word of an absent keyphrase counts, beside 1 in the text; 0 leaves them out.

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
    asked = _Asked.read(query, mode, encoder, absent)
    last = offset + limit
    request = SearchRequest(
        words=asked.words,
        vector=asked.vector,
        filters=tuple(filters),
        # Fusing moves each of the nearest before its rank by words: so many more must be known.
        limit=max(KNOWN, last + DEPTH) if asked.fused else max(DEPTH, last),
        nearest=DEPTH if asked.fused else None,
        facets=tuple(facets),
        facet_size=facet_size,
    )
    answer, words, relaxed = _answered(engine, asked, request)
    found, listed = _listed(answer, asked)
    page = found[offset:last]
    stored = {s.document.id: s for s in engine.documents([id_ for id_, _, _ in page])}
    fragments = engine.highlights(words, list(stored)) if words and asked.wanted else {}
    total = _total(answer, asked)
    any_word = words is not None and not words.require_all
    over_words = asked.wanted and not (asked.fused and total == 0)
    clauses = asked.words.clauses if asked.words else ()
    return SearchResults(
        query=query,
        mode=mode,
        hits=tuple(
            Hit(offset + i, score, stored[id_], tuple(fragments.get(id_, ())), found_by)
            for i, (id_, score, found_by) in enumerate(page, 1)
            if id_ in stored
        ),
        total=total,
        listed=listed,
        has_more=last < (min(listed, DEEPEST) if listed is not None else DEEPEST),
        facets=named_facets(engine, answer.facets),
        facets_over=_facets_over(
            over_words, any_word, any(clause.negated for clause in clauses), bool(filters)
        ),
        relaxed=relaxed,
        any_word=any_word,
        filtered=bool(filters),
        clauses=clauses,
        by_meaning=asked.vector is not None,
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
    asked = _Asked.read(query, mode, encoder, absent)
    conditions = tuple(filters)
    depth = DEEPEST if asked.fused else NEAREST if asked.vector is not None else 0
    request = SearchRequest(
        words=asked.words,
        vector=asked.vector,
        filters=conditions,
        limit=depth,
        nearest=DEPTH if asked.fused else depth,
    )
    answer, words, _ = _answered(engine, asked, request)
    found, _ = _listed(answer, asked)
    first = _hits(engine, found, 1)
    if asked.vector is not None and not (asked.fused and answer.words and answer.words.total > depth):
        return first
    near = {id_ for id_, _, _ in found}
    rest = (
        (id_, 1 / (FUSION_CONSTANT + rank) if asked.fused else score, {"words": rank} if asked.wanted else {})
        for rank, (id_, score) in enumerate(engine.scan(words, conditions), 1)
        if id_ not in near
    )
    return chain(first, _hits(engine, rest, 1 + len(found)))


_Found = tuple[str, float, dict[str, int]]  # id, score, ranks


def _hits(engine: Engine, found: Iterable[_Found], first: int) -> Iterator[Hit]:
    """Hits without fragments. Ranks have no gap where documents have been deleted meanwhile."""
    rank = first
    for some in batches(found, SCANNED_AT_ONCE):
        stored = {one.document.id: one for one in engine.documents([id_ for id_, _, _ in some])}
        for id_, score, found_by in some:
            if id_ in stored:
                yield Hit(rank, score, stored[id_], (), found_by)
                rank += 1


def _without_syntax(query: str) -> str:
    """The query as a text to encode: without quotes, stars, operators and excluded words."""
    kept = " ".join(piece.text for piece in _typed(query) if piece is not None and not piece.negated)
    return kept.replace("*", " ").strip()


def only_excluding(words: WordQuery) -> WordQuery:
    """What is left of the words where meaning decides."""
    return replace(words, clauses=tuple(clause for clause in words.clauses if clause.negated))


def _answered(
    engine: Engine, asked: _Asked, request: SearchRequest
) -> tuple[SearchAnswer, WordQuery | None, bool]:
    """What the engine answers, to which words, and whether any of them was enough.

    Where no document has the words and the nearest are listed instead, everything is counted.
    """
    answer, words = engine.search(request), asked.words
    relaxed = False
    if words and asked.wanted and _no_words(answer) and words.require_all and len(words.clauses) > 1:
        words = replace(words, require_all=False)
        answer = engine.search(replace(request, words=words))
        relaxed = True
    if words and asked.wanted and _no_words(answer) and asked.vector is not None and request.facets:
        counted = replace(request, words=only_excluding(words), vector=None, limit=0, nearest=None)
        if not counted.words or not counted.words.clauses:
            counted = replace(counted, words=None)
        answer = replace(answer, facets=engine.search(counted).facets)
    return answer, words, relaxed


def _no_words(answer: SearchAnswer) -> bool:
    return answer.words is not None and answer.words.total == 0


def _total(answer: SearchAnswer, asked: _Asked) -> int:
    counted = answer.words if asked.wanted or asked.vector is None else answer.meaning
    return counted.total if counted else 0


def _listed(answer: SearchAnswer, asked: _Asked) -> tuple[list[_Found], int | None]:
    """The beginning of the list, and how long the whole of it is; None when that is not known."""
    if asked.wanted and answer.words and answer.meaning:
        found = _fused(answer.words, answer.meaning)
        return found, len(found) if len(answer.words.ids) == answer.words.total else None
    ranking, name = (answer.words, "words") if asked.vector is None else (answer.meaning, "meaning")
    if ranking is None:
        return [], 0
    told = asked.wanted or asked.vector is not None
    listed = zip(ranking.ids, ranking.scores, strict=True)
    return [
        (id_, score, {name: at} if told else {}) for at, (id_, score) in enumerate(listed, 1)
    ], ranking.total


def _fused(words: Ranking, meaning: Ranking) -> list[_Found]:
    """Join rankings by reciprocal rank, ties by id; then those with the words that come later, as they are ranked.

    Only the best `DEPTH` of each count, however deep they are known: so a document stands on the same page for everybody.
    """
    ranks: dict[str, dict[str, int]] = {}
    for name, ranking in (("words", words), ("meaning", meaning)):
        for rank, id_ in enumerate(ranking.ids[: DEPTH if name == "meaning" else None], 1):
            ranks.setdefault(id_, {})[name] = rank
    scores = {
        id_: sum(1 / (FUSION_CONSTANT + rank) for rank in own.values() if rank <= DEPTH)
        or 1 / (FUSION_CONSTANT + own["words"])
        for id_, own in ranks.items()
    }
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
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


def _facets_over(by_words: bool, any_word: bool, excluding: bool, filtered: bool) -> str:
    counted = "all documents"
    if by_words:
        counted += f" with {'any' if any_word else 'all'} of the words"
    elif excluding:
        counted += " without what is left out"
    return f"{counted} under the filters" if filtered else counted
