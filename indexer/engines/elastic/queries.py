"""Word queries and filters in the server's query language. No user input is syntax there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from indexer.engines.base import Clause, Filter, WordQuery
from indexer.engines.elastic.rows import compared, searchable_name
from indexer.engines.values import bindable, has_words, read_number, to_value
from indexer.errors import QueryError

Query = dict[str, Any]

TITLE_WEIGHT = 3  # a word in the title counts three times
FIELDS = [f"title^{TITLE_WEIGHT}", "text"]
ABSENT = "keyphrases_absent.words"
SEVERAL_WORDS = "\u2e80"  # from here on scripts write no space between words
MAX_EXPANSIONS = 1_000  # words that a prefix may match
OURS = {
    "topic": "topics",
    "topic_path": "topic_path_ids",
    "keyphrase": "keyphrase_keys",
    "absent_keyphrase": "keyphrases_absent.key",
    "duplicate_of": "duplicate_of",
}

NOTHING: Query = {"match_none": {}}


def of_words(query: WordQuery) -> tuple[Query, bool]:
    """Return the query, and whether its hits have scores."""
    wanted = _wanted(query)
    excluded = _excluded(query)
    if not wanted:
        return ({"bool": {"must_not": excluded}} if excluded else NOTHING), False
    must = [_best(c, query.absent) for c in wanted if query.require_all or c.required]
    should = [_best(c, query.absent) for c in wanted if not query.require_all and not c.required]
    parts: Query = {"must": must} if must else {}
    if should:
        parts |= {"should": should, "minimum_should_match": 0 if must else 1}
    return {"bool": parts | ({"must_not": excluded} if excluded else {})}, True


def without(query: WordQuery | None) -> list[Query]:
    """Return queries that exclude documents with a negated word; empty when the query negates none."""
    excluded = _excluded(query) if query else []
    return [{"bool": {"must_not": excluded}}] if excluded else []


def _excluded(query: WordQuery) -> list[Query]:
    return [_term(term) for clause in query.clauses if clause.negated for term in _usable(clause)]


def marked_clauses(query: WordQuery) -> list[Query]:
    """Return one query per term that is not negated and has a letter or digit: what to mark in the texts."""
    return [_term(term, query.absent) for clause in _wanted(query) for term in _usable(clause)]


def _wanted(query: WordQuery) -> list[Clause]:
    return [clause for clause in query.clauses if not clause.negated and _usable(clause)]


def _usable(clause: Clause) -> list[Clause]:
    return [term for term in clause.terms if has_words(term.text)]


def _best(clause: Clause, absent: float) -> Query:
    """Translate a clause: its score is that of the best of its terms."""
    terms = [_scored(term, absent) for term in _usable(clause)]
    return terms[0] if len(terms) == 1 else {"dis_max": {"queries": terms}}


def _scored(term: Clause, absent: float) -> Query:
    """Translate a term so that a single word is ranked by BM25F, as in the embedded engine."""
    if term.kind != "word" or not term.text.isalnum() or max(term.text) >= SEVERAL_WORDS:
        return _term(term, absent)
    text = bindable(term.text)
    in_text = {"combined_fields": {"query": text, "fields": FIELDS}}
    if not absent:
        return in_text
    predicted = {
        "match": {ABSENT: {"query": text, "boost": absent}}
    }  # `combined_fields` takes no weight below 1
    return {"bool": {"should": [in_text, predicted], "minimum_should_match": 1}}


def _term(term: Clause, absent: float = 0.0) -> Query:
    """Translate a term. A word is a phrase query: the analyzer may find several tokens in it, which must be adjacent.

    Args:
        absent: Weight of absent keyphrases; 0 excludes them.
    """
    parts: Query = {
        "query": bindable(term.text),
        "type": "phrase",
        "fields": [*FIELDS, *([f"{ABSENT}^{absent}"] if absent else [])],
        "tie_breaker": 1.0,  # the scores of both fields add up
    }
    if term.kind == "prefix":
        parts |= {"type": "phrase_prefix", "max_expansions": MAX_EXPANSIONS}
    return {"multi_match": parts}


# -- filters -------------------------------------------------------------------------------------------------


def of_filters(filters: Sequence[Filter]) -> list[Query]:
    """Return queries that must all match. Conditions with ``=`` on one field are alternatives."""
    alternatives: dict[str, list[Query]] = {}
    others = []
    for condition in filters:
        met = _any_of([_condition(condition, item) for item in _items(condition)])
        if condition.operator == "=":
            alternatives.setdefault(condition.field, []).append(met)
        elif condition.operator == "!=":
            others.append({"bool": {"must_not": [met]}})
        else:
            others.append(met)
    return [*map(_any_of, alternatives.values()), *others]


def field_of(name: str) -> str | None:
    """Return the index field of a filter or facet; None when no field can have that name."""
    if name in OURS:
        return OURS[name]
    return f"meta.{bindable(name)}" if searchable_name(name) else None


def _items(condition: Filter) -> list[Any]:
    if not isinstance(condition.value, list):
        return [condition.value]
    if condition.operator not in ("=", "!="):
        raise QueryError(f"'{condition.field} {condition.operator}' takes one value, not a list.")
    return list(condition.value)


def _any_of(queries: Sequence[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return {"bool": {"should": list(queries), "minimum_should_match": 1}} if queries else NOTHING


_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def _condition(condition: Filter, item: Any) -> Query:
    """Match documents with a value of the field equal to, below or above `item`.

    A stored number compares as a number, everything else as text, whichever way the user wrote it.
    """
    value = to_value(item)
    if value is None:
        raise QueryError(f"'{condition.field}' cannot be compared with {item!r}.")
    if condition.operator not in ("=", "!=", *_RANGES):
        raise QueryError(f"There is no operator '{condition.operator}'; use =, !=, <, <=, > or >=.")
    field = field_of(condition.field)
    if field is None:
        return NOTHING
    if condition.field == "duplicate_of" and not value.text:
        return {"bool": {"must_not": [{"exists": {"field": field}}]}}
    text = compared(value).casefold() if condition.field == "keyphrase" else compared(value)
    number = value.number if value.number is not None else read_number(value.text)
    numbers = None if condition.field in OURS else f"numbers.{bindable(condition.field)}"
    if condition.operator in ("=", "!="):
        same: list[Query] = [{"term": {field: text}}]
        if numbers and number is not None:
            same.append({"term": {numbers: _finite(number)}})
        return _any_of(same)
    word = _RANGES[condition.operator]
    as_text: Query = {"range": {field: {word: text}}}
    if numbers is None:
        return as_text
    as_text = {"bool": {"filter": [as_text], "must_not": [{"range": {numbers: {}}}]}}
    if number is None:
        return as_text
    return _any_of([as_text, {"range": {numbers: {word: _finite(number)}}}])


def _finite(number: float | int) -> float:
    """Clip a number: JSON has no infinity, and no stored number exceeds these limits."""
    return max(-1.7e308, min(1.7e308, float(number)))
