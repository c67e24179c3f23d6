"""What the user's own fields are good for: filters, or the date of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from indexer.engines.base import Engine, Filter, SearchRequest

MAX_DATES = 10_000  # distinct values of a date field; with more of them nothing is counted over time
LOOKED_AT = 20  # most frequent values of a field that tell what it is good for
TELLING = 0.01  # share of all documents that the most frequent value must have, for a field to be narrowed by
LIKELY = re.compile(r"date|year|published|created|time", re.IGNORECASE)


@dataclass(frozen=True)
class FieldKinds:
    """What the users' own fields are good for."""

    choices: tuple[str, ...]  # to narrow by: values that many documents share
    date: str  # to order by time; empty without one


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
    return bool(values) and all(is_date(value) for value, _ in values)


DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ].*)?)?)?")
YEARS = (1000, 2199)  # other numbers of four digits are no years


@lru_cache(2 * MAX_DATES)  # a timeline asks for every date of the collection, each time
def is_date(text: str) -> bool:
    found = DATE.fullmatch(text)
    if not found:
        return False
    try:
        return YEARS[0] <= date(*(int(part or 1) for part in found.groups())).year <= YEARS[1]
    except ValueError:  # the 31st of February
        return False
