"""Facets: counts of a field over all matches, without the field's own filters, so that alternatives stay visible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from indexer.engines.base import Engine, Filter, SearchRequest, WordQuery
from indexer.search.query import only_excluding, parse_words
from indexer.search.results import Facet, Mode, SearchResults


def named_facets(
    facets: Mapping[str, tuple[tuple[str, int], ...]], labels: Mapping[str, str]
) -> tuple[Facet, ...]:
    """Counts with names that can be read: a topic has its label, a path those from the top down."""

    def named(field: str, value: str) -> str:
        if field not in ("topic", "topic_path"):
            return value
        return "/".join(labels.get(id_, id_) for id_ in value.split("/"))

    return tuple(
        Facet(field, tuple((value, named(field, value), n) for value, n in values))
        for field, values in facets.items()
    )


def without(facets: Sequence[Facet], hidden: Set[str], size: int) -> tuple[Facet, ...]:
    """Facets without some topics, each cut to a number of values."""
    return tuple(
        replace(
            facet,
            values=tuple(
                value
                for value in facet.values
                if facet.field not in ("topic", "topic_path") or value[0].rpartition("/")[2] not in hidden
            )[:size],
        )
        for facet in facets
    )


def open_facets(
    engine: Engine,
    query: str,
    *,
    mode: Mode,
    filters: Sequence[Filter],
    fields: Sequence[str],
    size: int,
    absent: float,
    found: SearchResults | None = None,
) -> tuple[Facet, ...]:
    """Counts of fields, each without the choices that were made in itself, so that others can be added to them.

    The choices are the conditions with ``=``, which are alternatives; everything else holds.

    Args:
        found: By the same search: then it need not be found out which words were enough.
    """
    words = found.counted if found else counted_words(engine, query, mode, filters, absent)
    chosen = {condition.field for condition in filters if condition.operator == "="}
    chosen |= {"topic_path"} if "topic" in chosen else set()  # the same choices, counted by the tree
    together = [name for name in fields if name not in chosen]
    groups = [together] if together else []
    groups += [[name] for name in fields if name in chosen]
    counted: dict[str, tuple[tuple[str, int], ...]] = {}
    for names in groups:
        own = {"topic" if name == "topic_path" else name for name in names}
        held = tuple(c for c in filters if c.operator != "=" or c.field not in own)
        request = SearchRequest(words=words, filters=held, limit=0, facets=tuple(names), facet_size=size)
        counted |= engine.search(request).facets
    labels = (
        {topic.id: topic.label for topic in engine.topics()} if {"topic", "topic_path"} & set(fields) else {}
    )
    return named_facets({name: counted[name] for name in fields}, labels)


def counted_words(
    engine: Engine, query: str, mode: Mode, filters: Sequence[Filter], absent: float
) -> WordQuery | None:
    """The words whose documents `search` counts."""
    words = replace(parse_words(query), absent=absent)
    ways = [words]
    if words.require_all and len(words.clauses) > 1:
        ways.append(replace(words, require_all=False))
    if mode == "meaning":
        ways = [only_excluding(words)]
    elif mode == "both":
        ways.append(only_excluding(words))
    for way in ways[:-1]:
        answer = engine.search(SearchRequest(words=way, filters=tuple(filters), limit=0))
        if answer.words is not None and answer.words.total:
            return way
    return ways[-1] if ways[-1].clauses else None
