"""A year, a month or a day in a condition means all of it, in every engine."""

from __future__ import annotations

import pytest
from contract_asking import under
from contract_rows import document

from indexer.errors import QueryError
from indexer.search.query import parse_filter
from indexer.search.timeline import whole_periods


@pytest.fixture(scope="session")
def dated(opener, tmp_path_factory):
    """Dates as long as a day, with a time and in lists; `year` is a number, `printed` the same as a text."""
    documents = [
        document("a", date="2014-12-31", year=2014, printed="2014"),
        document("b", date="2015-01-01", year=2015, printed="2015"),
        document("c", date="2015-06-15T12:00:00Z", year=2015.5, printed="2015"),
        document("d", date="2015-12-31", year=2015, printed="2015"),
        document("e", date="2016-01-01", year=2016, printed="2016"),
        document("f", date=["2014-05-01", "2016-05-01"]),  # two dates, none of them in 2015
        document("g"),
    ]
    with opener(tmp_path_factory.mktemp("dated")) as opened:
        opened.engine.store(documents)
        yield opened.engine


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["date<=2015"], "abcdf"),
        (["date<2015"], "af"),
        (["date>2015"], "ef"),
        (["date>=2015"], "bcdef"),
        (["date=2015"], "bcd"),
        (["date!=2015"], "aefg"),
        (["date=2015", "date=2014-12"], "abcd"),  # one of them
        (["date=2015", "date>2015-01"], "cd"),
        (["date<=2015-06"], "abcf"),
        (["date>2015-06"], "def"),
        (["date=2015-06"], "c"),
        (["date=2015-06-15"], "c"),
        (["date<=2015-06-15"], "abcf"),
        (["date>2015-06-15T11:00"], "cdef"),
        (["date=2011"], ""),
        (["date!=2011"], "abcdefg"),
        (["printed<=2015", "printed>2014"], "bcd"),
        (["printed=2015", "printed=2016"], "bcde"),
        (["year<=2015"], "abd"),  # numbers stay what they are
        (["year>2015"], "ce"),
        (["year=2015"], "bd"),
        (["year=2015", "year=2016"], "bde"),
    ],
)
def test_a_part_of_a_date_is_all_of_its_time(dated, conditions, expected):
    filters = whole_periods(dated, [parse_filter(text) for text in conditions])
    assert "".join(under(dated, *filters)) == expected


def test_more_dates_than_can_be_named_are_asked_for_otherwise(engine, monkeypatch):
    monkeypatch.setattr("indexer.search.timeline.MAX_ALTERNATIVES", 2)
    engine.store([document(f"d{day}", date=f"2015-01-0{day}") for day in range(1, 5)])
    with pytest.raises(QueryError, match="In 2015 'date' has more than 2") as raised:
        whole_periods(engine, [parse_filter("date=2015")])
    assert raised.value.hint == "Ask for date>=2015 and date<=2015."
    both = whole_periods(engine, [parse_filter("date>=2015"), parse_filter("date<=2015")])
    assert under(engine, *both) == ["d1", "d2", "d3", "d4"]
