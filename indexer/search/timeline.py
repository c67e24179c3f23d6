"""Documents over time, and filters by date. Works on any engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from indexer.engines.base import Engine, Filter, SearchRequest
from indexer.engines.values import read_number
from indexer.errors import QueryError
from indexer.search.facets import counted_words
from indexer.search.fields import LOOKED_AT, MAX_DATES, YEARS, _are_dates, is_date
from indexer.search.results import Mode, SearchResults

UNITS = {10: "day", 7: "month", 4: "year"}  # what a person may name, by its length
MAX_PERIODS = 60
MAX_ALTERNATIVES = 1_000  # distinct dates that a year may match with =
PRECISION = {"day": 10, "month": 7, "year": 4, "decade": 3, "century": 2}  # characters of an ISO date


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
    found: SearchResults | None = None,
) -> Timeline | None:
    """How many documents that match there are in each stretch of time; None where dates are too many, or none.

    Conditions on the date itself are left out, so that the others stay in sight.

    Args:
        unit: A key of PRECISION; None chooses one by how far the dates reach.
        found: By the same search: then it need not be found out which words were enough.
    """
    words = found.counted if found else counted_words(engine, query, mode, filters, absent)
    held = tuple(condition for condition in filters if condition.field != field)
    request = SearchRequest(words=words, filters=held, limit=0, facets=(field,), facet_size=MAX_DATES)
    counted = [(at, number) for at, number in engine.search(request).facets[field] if is_date(at)]
    if not counted or len(counted) == MAX_DATES:
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
            if len(list(islice(_between(first, last, unit), MAX_PERIODS + 1))) <= MAX_PERIODS:
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
        if is_date(value) or read_number(value) is not None:
            continue
        request = SearchRequest(limit=0, facets=(condition.field,), facet_size=LOOKED_AT)
        if _are_dates(engine.search(request).facets[condition.field]):
            raise _no_date(value)


def whole_periods(engine: Engine, filters: Sequence[Filter]) -> list[Filter]:
    """The same conditions, in which a year, a month or a day means all of it: ``date<=2015`` holds for all of 2015.

    Engines compare dates as texts, and "2015-06-01" comes behind "2015". Numbers stay what they are.

    Raises:
        QueryError: A condition with ``=`` or ``!=`` matches too many dates.
    """
    return [_whole_period(engine, condition) for condition in filters]


def _whole_period(engine: Engine, condition: Filter) -> Filter:
    field, operator, value = condition.field, condition.operator, condition.value
    if operator in ("<", ">=") or not isinstance(value, str) or not (len(value) in UNITS and is_date(value)):
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
        facet_size=MAX_ALTERNATIVES + 1,
    )
    counted = engine.search(request).facets[field]
    if len(counted) > MAX_ALTERNATIVES:
        raise QueryError(
            f"In {start} '{field}' has more than {MAX_ALTERNATIVES:,} different dates.",
            hint=f"Ask for {field}>={start} and {field}<={start}.",
        )
    return [date_ for date_, _ in counted if start <= date_ < end]


def _no_date(given: str) -> QueryError:
    return QueryError(f"'{given}' is not a date.", hint="For example: 2014, 2014-05 or 2014-05-12.")


def within(field: str, first: str, last: str) -> list[Filter]:
    """Conditions for dates from one year, month or day to another one, both included; an empty one sets no limit.

    Raises:
        QueryError: One of them is not a date, or the first is after the last.
    """
    for given in (first, last):
        if given and not (is_date(given) and len(given) in UNITS):
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
