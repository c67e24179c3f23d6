"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from indexer.engines.base import Clause, Fragment, WordQuery
from indexer.records import StoredDocument

Mode = Literal["words", "meaning", "both"]


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
    passage: str = ""  # the sentence nearest to the query; empty where it was not searched by meaning


@dataclass(frozen=True)
class SearchResults:
    """One page of hits, with what they were found in."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    total: int  # documents that match by words; without words, all under the filters
    listed: int | None  # documents on all pages together; None if they were not counted
    has_more: bool  # there is another page
    facets: tuple[Facet, ...]
    facets_over: str  # which set the facets count, in words for people
    relaxed: bool  # no document has all the words, so any of them was enough
    any_word: bool  # any of them was enough: because of that, or because OR stands between them
    filtered: bool  # only what filters let through was looked at
    clauses: tuple[Clause, ...]  # what was looked for by words, and left out
    counted: WordQuery | None  # the documents that facets count have these words; None: all under the filters
    labels: Mapping[str, str]  # of all topics, by id
    by_meaning: bool  # the nearest are among the hits, or all of them
    corrections: Mapping[str, str]  # word as typed, that no document has ► word that was searched instead
    diverse: bool  # documents that say something else come before those that say the same again
    synonyms: Mapping[str, tuple[str, ...]]  # term as typed ► what was searched for it
    close: bool  # False: the hits are the nearest documents, and no nearer than those of a query without a meaning
