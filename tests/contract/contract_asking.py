"""Questions to an engine, short."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from indexer.engines.base import Clause, Engine, Filter, SearchRequest, WordQuery


def words(*texts: str, **options: Any) -> WordQuery:
    return WordQuery(tuple(Clause(text) for text in texts), **options)


def found(engine: Engine, query: WordQuery, *filters: Filter) -> set[str]:
    ranking = engine.search(SearchRequest(words=query, filters=filters)).words
    assert ranking.total == len(ranking.ids)
    assert all(first >= second for first, second in pairwise(ranking.scores))
    return set(ranking.ids)


def under(engine: Engine, *filters: Filter) -> list[str]:
    """Ids of the documents that filters let through."""
    return list(engine.search(SearchRequest(filters=filters)).words.ids)


def marked(fragment) -> list[str]:
    return [fragment.text[start:end] for start, end in fragment.marks]
