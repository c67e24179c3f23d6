"""Input of the search form. Invalid input is reported next to its field."""

from __future__ import annotations

from indexer.collection import Collection
from indexer.engines.base import Filter
from indexer.errors import QueryError
from indexer.search.query import check_number, parse_filter, parse_words
from indexer.search.timeline import within
from indexer.web.errors import hint_of

Problems = dict[
    str, str
]  # "query", "dates" or "where" ► what is wrong; "wrong" ► the condition, to be mended


def parse_query(query: str) -> tuple[str, str]:
    """What to search for, and what is wrong: then there is nothing to search for."""
    try:
        parse_words(query)
    except QueryError as error:
        return "", report_problem(error)
    return query, ""


def parse_filters(
    collection: Collection, where: tuple[str, ...], date: str, first: str, last: str
) -> tuple[list[Filter], Problems]:
    """Conditions that were typed, without those that cannot be understood; and what is wrong with these.

    Args:
        date: The field with the date; empty without one.
        first, last: From and to.
    """
    found: list[Filter] = []
    problems = dict.fromkeys(("where", "wrong", "dates"), "")
    try:
        check_number(where)
    except QueryError as error:
        problems["where"] = report_problem(error)
        where = ()
    for text in where:
        try:
            condition = parse_filter(text)
            collection.check_filters([condition])
            found.append(condition)
        except QueryError as error:
            problems |= {"where": report_problem(error), "wrong": text}
    try:
        found += within(date, first, last) if date else []
    except QueryError as error:
        problems["dates"] = report_problem(error)
    return found, problems


def report_problem(error: QueryError) -> str:
    """What is wrong, and what to do."""
    return f"{error} {hint_of(error)}".strip()
