"""Stretches of time, fields to narrow by, conditions on dates."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.engines.base import Filter, Ranking, SearchAnswer
from indexer.engines.local import LocalEngine
from indexer.errors import QueryError
from indexer.records import Document, Topic
from indexer.search.fields import FieldKinds, field_kinds
from indexer.search.related import near_topics
from indexer.search.timeline import timeline, within


class Counted:
    """An engine that has counted these values."""

    def __init__(self, total, **counts):
        self.total = total
        self.counts = counts
        self.requests = []

    def fields(self):
        return sorted(self.counts)

    def search(self, request):
        self.requests.append(request)
        facets = {name: tuple(self.counts[name][: request.facet_size]) for name in request.facets}
        return SearchAnswer(Ranking((), (), self.total), None, facets)


def periods(*dates):
    engine = Counted(len(dates), date=[(date, 1) for date in dates])
    found = timeline(engine, "", mode="words", filters=[], field="date", absent=0)
    return found and (found.unit, [(p.name, p.start, p.end, p.documents) for p in found.periods])


def test_days_months_years_and_decades_by_how_far_the_dates_reach():
    assert periods("2014-02-27", "2014-03-01") == (
        "day",
        [
            ("2014-02-27", "2014-02-27", "2014-02-28", 1),
            ("2014-02-28", "2014-02-28", "2014-03-01", 0),
            ("2014-03-01", "2014-03-01", "2014-03-02", 1),
        ],
    )


def test_months():
    unit, found = periods("2014-11-30", "2015-02-28T12:00:00Z", "2014-11-01")
    assert unit == "month"
    assert found == [
        ("2014-11", "2014-11", "2014-12", 2),
        ("2014-12", "2014-12", "2015-01", 0),
        ("2015-01", "2015-01", "2015-02", 0),
        ("2015-02", "2015-02", "2015-03", 1),
    ]


def test_a_date_that_is_only_a_year_makes_years_of_all():
    assert periods("2014", "2015-06-01") == (
        "year",
        [("2014", "2014", "2015", 1), ("2015", "2015", "2016", 1)],
    )


def test_decades_and_centuries():
    unit, found = periods("1905-01-01", "2001-05-06")
    assert (unit, found[0], found[-1]) == (
        "decade",
        ("1900s", "1900", "1910", 1),
        ("2000s", "2000", "2010", 1),
    )
    assert len(found) == 11
    unit, found = periods("1015", "2001")
    assert (unit, found[0]) == ("century", ("1000s", "1000", "1100", 1))


def test_what_is_no_date_is_not_counted():
    assert periods("2014", "2014-13-01", "2014-02-31", "soon", "9999", "0007") == (
        "year", [("2014", "2014", "2015", 1)]
    )  # fmt: skip
    assert periods("soon") is None


def test_too_many_dates_are_no_picture():
    engine = Counted(20_000, date=[("2014-01-01", 1)] * 10_000)
    assert timeline(engine, "", mode="words", filters=[], field="date", absent=0) is None


def test_conditions_on_the_date_itself_do_not_count():
    engine = Counted(1, date=[("2014", 1)])
    others = Filter("subject", "=", "x")
    timeline(engine, "", mode="words", filters=[Filter("date", ">=", "2015"), others], field="date", absent=0)
    assert engine.requests[0].filters == (others,)


def test_fields_to_narrow_by_are_those_that_documents_share():
    engine = Counted(
        200,
        author=[("a", 1), ("b", 1)],
        same=[("en", 200)],
        subject=[("x", 150), ("y", 50)],
        rare=[("x", 2), ("y", 1)],
        few=[("x", 1), ("y", 1)],
        year=[("1999", 100), ("2000", 100)],
        added=[("2020-01-01", 200)],
    )
    assert field_kinds(engine) == FieldKinds(choices=("rare", "subject"), date="year")
    assert field_kinds(Counted(0)) == FieldKinds((), "")


@pytest.mark.parametrize(
    ("fields", "date"),
    [
        (["created", "date", "date"], "date"),  # one Word file does not take the dates away from the others
        (["added", "published", "seen", "seen"], "seen"),
        (["added", "born"], "added"),
        (["born", "year"], "year"),  # as many: the likely name, and then the first by name
        (["date", "created"], "created"),
    ],
)
def test_the_date_is_what_most_documents_have(tmp_path, fields, date):
    engine = LocalEngine(tmp_path / "dates", 2)
    engine.store(
        [Document(f"d{at}", "A text.", meta={field: f"20{at}4-05-12"}) for at, field in enumerate(fields, 1)]
    )
    assert field_kinds(engine).date == date
    engine.close()


def test_years_as_numbers_count_as_dates_too(tmp_path):
    engine = LocalEngine(tmp_path / "years", 2)
    engine.store([Document(f"d{at}", "A text.", meta={"year": 2014 + at}) for at in range(2)])
    engine.store([Document("e", "A text.", meta={"created": "2014-05-12T09:30:00Z"})])
    assert field_kinds(engine).date == "year"
    engine.close()


def test_from_and_to_include_both():
    assert within("date", "2014", "2015-12") == [Filter("date", ">=", "2014"), Filter("date", "<", "2016-01")]
    assert within("date", "", "2014-12-31") == [Filter("date", "<", "2015-01-01")]
    assert within("date", "", "") == []
    assert within("date", "2014-05", "2014") == [Filter("date", ">=", "2014-05"), Filter("date", "<", "2015")]
    for wrong in ("14", "2014-13", "soon", "2014-02-30", "2014-01-01T00:00"):
        with pytest.raises(QueryError, match="is not a date"):
            within("date", wrong, "")


@pytest.mark.parametrize(
    ("first", "last"), [("2012", "2010"), ("2015-01", "2014"), ("2014-05-13", "2014-05-12")]
)
def test_from_and_to_in_the_wrong_order_are_told(first, last):
    with pytest.raises(QueryError, match=f"From {first} to {last} runs backwards"):
        within("date", first, last)


def test_near_topics_as_seen_from_the_middle_of_all():
    """From the middle (.6, .6), a lies at (.4, -.6), d at (.2, 0), c at (0, .2): .4 / √.52 and -.6 / √.52."""

    def topic(id_, *centroid):
        return Topic(id_, id_, (), 1, np.array(centroid, np.float32))

    topics = [topic("a", 1, 0), topic("b", 0, 1), topic("c", 0.6, 0.8), topic("d", 0.8, 0.6)]
    near = near_topics(topics, "a", 2)
    assert [(t.id, round(score, 6)) for t, score in near] == [("d", 0.5547), ("c", -0.83205)]
