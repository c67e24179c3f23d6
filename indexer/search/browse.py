"""What people look at beside the hits: counts where several choices are open, documents over time, what is near.

Works on any engine, by searches that list nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import islice

import numpy as np

from indexer.common import centred
from indexer.engines.base import Engine, Filter, SearchRequest, WordQuery
from indexer.engines.values import read_number
from indexer.errors import QueryError
from indexer.records import StoredDocument, Topic
from indexer.search.search import (
    Facet,
    Mode,
    named_facets,
    only_excluding,
    parse_words,
)

LOOKED_AT = 20  # most frequent values of a field that tell what it is good for
TELLING = 0.01  # share of all documents that the most frequent value must have, for a field to be narrowed by
UNITS = {10: "day", 7: "month", 4: "year"}  # what a person may name, by its length
MOST_DATES = 10_000  # distinct values of a date field; with more of them nothing is counted over time
MOST_PERIODS = 60
MOST_ALTERNATIVES = 1_000  # distinct dates that a year may stand for where it is compared with =
DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ].*)?)?)?")
YEARS = (1000, 2199)  # other numbers of four digits are no years
PRECISION = {"day": 10, "month": 7, "year": 4, "decade": 3, "century": 2}  # characters of an ISO date
LIKELY = re.compile(r"date|year|published|created|time", re.IGNORECASE)


@dataclass(frozen=True)
class FieldKinds:
    """What the users' own fields are good for."""

    choices: tuple[str, ...]  # to narrow by: values that many documents share
    date: str  # to order by time; empty without one


@dataclass(frozen=True)
class Period:
    """A stretch of time and its documents."""

    name: str  # "2014", "2014-05", "2014-05-12", "2010s" or "1900s"
    start: str  # as dates are compared: from here on
    end: str  # and before this
    documents: int


@dataclass(frozen=True)
class Timeline:
    """Documents by date, without a gap."""

    field: str
    unit: str  # a key of PRECISION
    periods: tuple[Period, ...]


# -- facets --------------------------------------------------------------------------------------------------


def open_facets(
    engine: Engine,
    query: str,
    *,
    mode: Mode,
    filters: Sequence[Filter],
    fields: Sequence[str],
    size: int,
    absent: float,
) -> tuple[Facet, ...]:
    """Counts of fields, each without the choices that were made in itself, so that others can be added to them.

    The choices are the conditions with ``=``, which are alternatives; everything else holds.
    """
    words = _words(engine, query, mode, filters, absent)
    chosen = {condition.field for condition in filters if condition.operator == "="}
    together = [name for name in fields if name not in chosen]
    groups = [together] if together else []
    groups += [[name] for name in fields if name in chosen]
    counted: dict[str, tuple[tuple[str, int], ...]] = {}
    for names in groups:
        held = tuple(c for c in filters if c.operator != "=" or c.field not in names)
        request = SearchRequest(words=words, filters=held, limit=0, facets=tuple(names), facet_size=size)
        counted |= engine.search(request).facets
    return named_facets(engine, {name: counted[name] for name in fields})


def _words(
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


def field_kinds(engine: Engine) -> FieldKinds:
    """Tell fields to narrow by, and the one that has the date, from their most frequent values.

    Of several with dates it is the one that most documents have; of equal ones the likelier name.
    """
    names = engine.fields()
    if not names:
        return FieldKinds((), "")
    answer = engine.search(SearchRequest(limit=0, facets=tuple(names), facet_size=LOOKED_AT))
    total = answer.words.total if answer.words else 0
    dates = [name for name in names if _are_dates(answer.facets[name])]
    if len(dates) > 1:  # one file with a date of its own does not decide for all
        having = {name: _dated(engine, name) for name in dates}
        dates.sort(key=lambda name: (-having[name], not LIKELY.search(name), name))
    choices = [
        name
        for name in names
        if name not in dates and _is_shared([number for _, number in answer.facets[name]], total)
    ]
    return FieldKinds(tuple(choices), dates[0] if dates else "")


def _dated(engine: Engine, field: str) -> int:
    """How many documents have a date in this field."""
    first, last = YEARS
    possible = (Filter(field, ">=", str(first)), Filter(field, "<", str(last + 1)))
    answer = engine.search(SearchRequest(filters=possible, limit=0))
    return answer.words.total if answer.words else 0


def _is_shared(numbers: Sequence[int], total: int) -> bool:
    return len(numbers) > 1 and max(numbers) >= max(2, TELLING * total)


def _are_dates(values: Sequence[tuple[str, int]]) -> bool:
    return bool(values) and all(_is_date(value) for value, _ in values)


@lru_cache(2 * MOST_DATES)  # a timeline asks for every date of the collection, each time
def _is_date(text: str) -> bool:
    found = DATE.fullmatch(text)
    if not found:
        return False
    try:
        return YEARS[0] <= date(*(int(part or 1) for part in found.groups())).year <= YEARS[1]
    except ValueError:  # the 31st of February
        return False


# -- time ----------------------------------------------------------------------------------------------------


def timeline(
    engine: Engine,
    query: str,
    *,
    mode: Mode,
    filters: Sequence[Filter],
    field: str,
    absent: float,
    unit: str | None = None,
) -> Timeline | None:
    """How many documents that match there are in each stretch of time; None where dates are too many, or none.

    Conditions on the date itself are left out, so that the others stay in sight.

    Args:
        unit: A key of PRECISION; None chooses one by how far the dates reach.
    """
    words = _words(engine, query, mode, filters, absent)
    held = tuple(condition for condition in filters if condition.field != field)
    request = SearchRequest(words=words, filters=held, limit=0, facets=(field,), facet_size=MOST_DATES)
    counted = [(at, number) for at, number in engine.search(request).facets[field] if _is_date(at)]
    if not counted or len(counted) == MOST_DATES:
        return None
    unit = unit or _unit([at for at, _ in counted])
    by_start: Counter[str] = Counter()
    for at, number in counted:
        by_start[at[: PRECISION[unit]]] += number
    starts = list(_between(min(by_start), max(by_start), unit))
    periods = (
        Period(_name(start, unit), _whole(start), _whole(_next(start, unit)), by_start[start])
        for start in starts
    )
    return Timeline(field, unit, tuple(periods))


def _unit(dates: Sequence[str]) -> str:
    """The finest one that every date has, and in which they fill a row that can be looked at."""
    shortest = min(len(at[:10]) for at in dates)
    for unit, characters in PRECISION.items():
        if characters <= shortest:
            first, last = min(dates)[:characters], max(dates)[:characters]
            if len(list(islice(_between(first, last, unit), MOST_PERIODS + 1))) <= MOST_PERIODS:
                return unit
    return "century"


def _between(first: str, last: str, unit: str) -> Iterator[str]:
    while first <= last:
        yield first
        first = _next(first, unit)


def _next(start: str, unit: str) -> str:
    """The start of the stretch behind this one: "2014-12" ► "2015-01"."""
    if unit == "day":
        return (date.fromisoformat(start) + timedelta(days=1)).isoformat()
    if unit == "month":
        year, month = map(int, start.split("-"))
        return f"{year + month // 12:04d}-{month % 12 + 1:02d}"
    return str(int(start) + 1).zfill(len(start))


def _whole(start: str) -> str:
    """A decade or century as the year that it begins with."""
    return start.ljust(4, "0") if len(start) < 4 else start


def _name(start: str, unit: str) -> str:
    return f"{_whole(start)}s" if unit in ("decade", "century") else start


def check_dates(engine: Engine, filters: Sequence[Filter]) -> None:
    """Refuse conditions that compare dates with something else: as texts they would compare somehow.

    Raises:
        QueryError: There is such a condition.
    """
    for condition in filters:
        value = condition.value
        if condition.operator in ("=", "!=") or not isinstance(value, str):
            continue
        if _is_date(value) or read_number(value) is not None:
            continue
        request = SearchRequest(limit=0, facets=(condition.field,), facet_size=LOOKED_AT)
        if _are_dates(engine.search(request).facets[condition.field]):
            raise _no_date(value)


def whole_periods(engine: Engine, filters: Sequence[Filter]) -> list[Filter]:
    """The same conditions, in which a year, a month or a day means all of it: ``date<=2015`` holds for all of 2015.

    Engines compare dates as texts, and "2015-06-01" comes behind "2015". Numbers stay what they are.

    Raises:
        QueryError: A condition with ``=`` or ``!=`` stands for too many dates.
    """
    return [_whole_period(engine, condition) for condition in filters]


def _whole_period(engine: Engine, condition: Filter) -> Filter:
    field, operator, value = condition.field, condition.operator, condition.value
    if operator in ("<", ">=") or not isinstance(value, str) or not (len(value) in UNITS and _is_date(value)):
        return condition
    if not _has_dates_as_text(engine, field):
        return condition
    end = _next(value, UNITS[len(value)])
    if operator == "<=":
        return Filter(field, "<", end)
    if operator == ">":
        return Filter(field, ">=", end)
    return Filter(field, operator, _dates_between(engine, field, value, end) or value)


def _has_dates_as_text(engine: Engine, field: str) -> bool:
    values = engine.search(SearchRequest(limit=0, facets=(field,), facet_size=LOOKED_AT)).facets[field]
    if not _are_dates(values):
        return False
    if any(len(value) > len("2015") for value, _ in values):
        return True
    no_number = Filter(field, ">=", f"{YEARS[0]}-")  # a number is compared with numbers only
    found = engine.search(SearchRequest(limit=0, filters=(no_number,))).words
    return found is not None and found.total > 0


def _dates_between(engine: Engine, field: str, start: str, end: str) -> list[str]:
    """The dates that there are in a stretch of time: as alternatives they can be joined with others, and left out."""
    request = SearchRequest(
        limit=0,
        filters=(Filter(field, ">=", start), Filter(field, "<", end)),
        facets=(field,),
        facet_size=MOST_ALTERNATIVES + 1,
    )
    counted = engine.search(request).facets[field]
    if len(counted) > MOST_ALTERNATIVES:
        raise QueryError(
            f"In {start} '{field}' has more than {MOST_ALTERNATIVES:,} different dates.",
            hint=f"Ask for {field}>={start} and {field}<={start}.",
        )
    return [date_ for date_, _ in counted if start <= date_ < end]


def _no_date(given: str) -> QueryError:
    return QueryError(f"'{given}' is no date.", hint="For example: 2014, 2014-05 or 2014-05-12.")


def within(field: str, first: str, last: str) -> list[Filter]:
    """Conditions for dates from one year, month or day to another one, both included; an empty one sets no limit.

    Raises:
        QueryError: One of them is no date, or the first comes behind the last.
    """
    for given in (first, last):
        if given and not (_is_date(given) and len(given) in UNITS):
            raise _no_date(given)
    end = _next(last, UNITS[len(last)]) if last else ""
    if first and last and first >= end:
        raise QueryError(f"From {first} to {last} runs backwards.", hint="The earlier date comes first.")
    found: list[Filter] = []
    if first:
        found.append(Filter(field, ">=", first))
    if last:
        found.append(Filter(field, "<", end))
    return found


# -- nearness ------------------------------------------------------------------------------------------------


def similar_documents(engine: Engine, id_: str, limit: int) -> list[tuple[StoredDocument, float]]:
    """Documents whose vectors are nearest to that of this one, with the cosine; none when it is not mined."""
    (own,) = engine.documents([id_], vectors=True)
    if own.vector is None:
        return []
    near = engine.search(SearchRequest(vector=own.vector, limit=limit + 1)).meaning
    scores = dict(zip(near.ids, near.scores, strict=True)) if near else {}
    scores.pop(id_, None)
    return [(stored, scores[stored.document.id]) for stored in engine.documents(list(scores)[:limit])]


def near_topics(topics: Sequence[Topic], id_: str, limit: int) -> list[tuple[Topic, float]]:
    """Topics that are nearest to this one, with the likeness by which the map groups them.

    That is the cosine as seen from the middle of all topics: what all have in common tells nothing of two of them.
    """
    own = next(at for at, topic in enumerate(topics) if topic.id == id_)
    directions = centred(np.stack([topic.centroid for topic in topics]).astype(np.float64))
    scores = (directions @ directions[own]).tolist()
    others = [(topic, score) for topic, score in zip(topics, scores, strict=True) if topic.id != id_]
    return sorted(others, key=lambda pair: (-pair[1], pair[0].id))[:limit]
